#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Fills an order database with nine months of a mail-order nursery: the same rows on every machine."""

import calendar
import sqlite3
import sys

SCHEMA = """
CREATE TABLE customers (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL,
    region TEXT
);
CREATE TABLE orders (
    id             INTEGER PRIMARY KEY,
    customer_id    INTEGER NOT NULL REFERENCES customers (id),
    placed_at      TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('new', 'packed', 'sent', 'cancelled')),
    shipping_cents INTEGER NOT NULL
);
CREATE TABLE order_lines (
    id         INTEGER PRIMARY KEY,
    order_id   INTEGER NOT NULL REFERENCES orders (id),
    article    TEXT NOT NULL,
    qty        INTEGER NOT NULL,
    unit_cents INTEGER NOT NULL
);
CREATE TABLE payments (
    id       INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (id),
    paid_on  TEXT NOT NULL,
    cents    INTEGER NOT NULL
);
"""
MONTHS = ["2025-07", "2025-08", "2025-09", "2025-10", "2025-11", "2025-12", "2026-01", "2026-02", "2026-03"]
REGIONS = ["Coast", "Hills", "North", "Plain", "Valley"]
ARTICLES = ["apple tree", "box hedge", "clematis", "dahlia", "elder", "fern", "grass", "heather", "iris"]
ORDERS_A_MONTH = 900


class Draw:
    """Numbers that look random and are the same with every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound


def customers(draw):
    for number in range(1, 1201):
        region = REGIONS[draw.below(5)] if draw.below(40) else None
        yield number, f"Customer {number}", region


def fill(db, draw):
    db.executemany("INSERT INTO customers VALUES (?, ?, ?)", customers(draw))
    order = 0
    for month in MONTHS:
        year, number = map(int, month.split("-"))
        days = calendar.monthrange(year, number)[1]
        for _ in range(ORDERS_A_MONTH):
            order += 1
            day = days if not draw.below(20) else 1 + draw.below(days)
            clock = f"{draw.below(24):02}:{draw.below(60):02}:{draw.below(60):02}"
            status = "cancelled" if not draw.below(15) else ["new", "packed", "sent", "sent"][draw.below(4)]
            shipping = [0, 490, 690, 1290][draw.below(4)]
            db.execute(
                "INSERT INTO orders VALUES (?, ?, ?, ?, ?)",
                [order, 1 + draw.below(1200), f"{month}-{day:02} {clock}", status, shipping],
            )
            total = shipping
            for _ in range(0 if not draw.below(60) else 1 + draw.below(4)):
                qty, price = 1 + draw.below(6), 250 + 5 * draw.below(900)
                total += qty * price
                db.execute(
                    "INSERT INTO order_lines (order_id, article, qty, unit_cents) VALUES (?, ?, ?, ?)",
                    [order, ARTICLES[draw.below(9)], qty, price],
                )
            pay(db, draw, order, month, total)


def pay(db, draw, order, month, total):
    """Nothing, all at once, in instalments, or too much with the rest sent back."""
    way = draw.below(10)
    parts = [] if way == 0 else [total] if way < 6 else [total // 3] * 2 + [total - 2 * (total // 3)]
    if way == 9:
        parts += [2500, -2500]
    elif way == 8:
        parts.pop()
    for cents in parts:
        db.execute(
            "INSERT INTO payments (order_id, paid_on, cents) VALUES (?, ?, ?)",
            [order, f"{month}-{1 + draw.below(28):02}", cents],
        )


def main(path):
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    fill(db, Draw(20260401))
    db.commit()
    db.close()


if __name__ == "__main__":
    main(sys.argv[1])
