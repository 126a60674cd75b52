#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Writes five months of a cash book with their mistakes, and the till's notes: the same on every machine."""

import sqlite3
import sys
from pathlib import Path

SCHEMA = """
CREATE TABLE entries (
    id        INTEGER PRIMARY KEY,
    ref       TEXT NOT NULL,
    booked_on TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('sale', 'refund', 'expense', 'deposit', 'correction')),
    cents     INTEGER NOT NULL,
    note      TEXT NOT NULL
);
CREATE TABLE discarded (
    id        INTEGER PRIMARY KEY,
    ref       TEXT NOT NULL,
    booked_on TEXT NOT NULL,
    kind      TEXT NOT NULL,
    cents     INTEGER NOT NULL,
    note      TEXT NOT NULL,
    reason    TEXT NOT NULL
);
CREATE TABLE months (
    month         TEXT PRIMARY KEY,
    opening_cents INTEGER NOT NULL,
    closing_cents INTEGER NOT NULL
);
"""
DAYS = {"2025-11": 30, "2025-12": 31, "2026-01": 31, "2026-02": 28, "2026-03": 31}
NOTES = {
    "sale": ["plants", "pots", "soil", "seeds", "cut flowers", "vouchers"],
    "refund": ["plants", "wrong pot", "voucher"],
    "expense": ["fuel", "stamps", "string", "window cleaner"],
    "deposit": ["change for the till"],
}
BY_HAND = ["counted, till was short", "counted, till was over", "fair at the town hall"]
FLOAT_CENTS = 25000


class Draw:
    """Numbers that look random and are the same with every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound


def right_entries(draw):
    """What should have been booked: reference, day, kind, cents, note."""
    number = 4100
    for month, days in DAYS.items():
        for day in range(1, days + 1):
            for _ in range(2 + draw.below(2)):
                number += 1
                kind = ["sale"] * 7 + ["refund", "expense", "deposit"]
                kind = kind[draw.below(10)]
                sign = 1 if kind in ("sale", "deposit") else -1
                cents = sign * (150 + 5 * draw.below(1500))
                notes = NOTES[kind]
                yield f"K1-{number:06}", f"{month}-{day:02}", kind, cents, notes[draw.below(len(notes))]
            if not draw.below(12):
                yield "", f"{month}-{day:02}", "correction", 5 * (draw.below(200) - 100), BY_HAND[draw.below(3)]


def booked(draw, entries):
    """What was booked instead, and the till's notes about it."""
    waiting = []
    for ref, day, kind, cents, note in entries:
        wrong = ref and not draw.below(16)
        yield ref, day, kind, -cents if wrong else cents, note
        if ref and not draw.below(14):
            again = [ref, ref.lower(), f" {ref}", f"{ref.lower()} "][draw.below(4)]
            waiting.append((again, day, kind, cents if draw.below(3) else -cents, note))
        if waiting and not draw.below(2):
            again, _, kind, cents, note = waiting.pop(0)
            yield again, day, kind, cents, note
    yield from waiting


def write(path, entries):
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    columns = "(ref, booked_on, kind, cents, note) VALUES (?, ?, ?, ?, ?)"
    db.executemany(f"INSERT INTO entries {columns}", entries)
    # Put aside by hand long ago; its number is free again.
    db.execute(
        "INSERT INTO discarded VALUES (9001, 'K1-004099', '2025-10-31', 'sale', 1250, 'soil', 'test of the till')"
    )
    opening = FLOAT_CENTS
    for month in sorted({entry[1][:7] for entry in entries}):
        closing = opening + sum(entry[3] for entry in entries if entry[1].startswith(month))
        db.execute("INSERT INTO months VALUES (?, ?, ?)", [month, opening, closing])
        opening = closing
    db.commit()
    db.close()


def main(app):
    draw = Draw(20251101)
    entries = list(booked(draw, right_entries(draw)))
    write(app / "cashbook.db", entries)
    write(app / "old" / "cashbook-2025-12.db", [entry for entry in entries if entry[1] < "2026-01"])
    for month in DAYS:
        lines = [f"{day} sent {ref}" for ref, day, *_ in entries if ref and day.startswith(month)]
        (app / "till" / f"sent-{month}.log").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
