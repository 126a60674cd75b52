#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Compares the report with one that is added up order by order, over random databases."""

import csv
import io
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
    placed_at TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('new', 'packed', 'sent', 'cancelled')),
    shipping_cents INTEGER NOT NULL);
CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
    article TEXT NOT NULL, qty INTEGER NOT NULL, unit_cents INTEGER NOT NULL);
CREATE TABLE payments (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id),
    paid_on TEXT NOT NULL, cents INTEGER NOT NULL);
"""
COLUMNS = ["month", "region", "orders", "goods", "shipping", "paid", "open"]
MONTHS = ["2023-12", "2024-01", "2024-02", "2024-03", "2024-04"]
LAST_DAY = {"2023-12": 31, "2024-01": 31, "2024-02": 29, "2024-03": 31, "2024-04": 30}
LIMIT_SEC = 40


def moment(draw):
    """A second of one of the months, often one of the first or the very last."""
    month = draw.choice(MONTHS)
    day, clock = draw.choice([
        (1, "00:00:00"),
        (LAST_DAY[month], "23:59:59"),
        (LAST_DAY[month], f"{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:30"),
        (draw.randint(1, LAST_DAY[month]), f"{draw.randint(0, 23):02}:00:07"),
    ])
    return f"{month}-{day:02} {clock}"


def orders(draw, count):
    """Orders as dictionaries, their customers, lines and payments inside."""
    regions = ["Coast", "North", "Plain", "Zürich, Stadt", None]
    for number in range(1, count + 1):
        parts = draw.choice([0, 0, 1, 1, 2, 3, 5])
        payments = [draw.randint(-3000, 9000) for _ in range(parts)]
        if parts > 1 and draw.random() < 0.3:
            # Equal instalments are two payments all the same.
            payments[1] = payments[0]
        lines = [(draw.randint(1, 9), draw.randint(5, 4000)) for _ in range(draw.choice([0, 1, 2, 3, 6]))]
        if len(lines) > 1 and draw.random() < 0.3:
            lines[1] = lines[0]
        yield {
            "id": number, "region": draw.choice(regions), "placed_at": moment(draw), "lines": lines,
            "status": draw.choice(["new", "packed", "sent", "sent", "cancelled"]),
            "shipping": draw.choice([0, 490, 1290]), "payments": payments,
        }


def write(path, rows, draw):
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    customers = {}
    shuffled = list(rows)
    draw.shuffle(shuffled)
    for row in shuffled:
        key = (row["region"], row["id"] % 7)
        if key not in customers:
            customers[key] = len(customers) + 1
            db.execute("INSERT INTO customers VALUES (?, ?, ?)", [customers[key], "Somebody", row["region"]])
        db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?)",
                   [row["id"], customers[key], row["placed_at"], row["status"], row["shipping"]])
        for qty, price in row["lines"]:
            db.execute("INSERT INTO order_lines (order_id, article, qty, unit_cents) VALUES (?, 'fern', ?, ?)",
                       [row["id"], qty, price])
        for cents in row["payments"]:
            day = f"2024-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
            db.execute("INSERT INTO payments (order_id, paid_on, cents) VALUES (?, ?, ?)", [row["id"], day, cents])
    db.commit()
    db.close()


def euros(cents):
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def expected(rows, first, last):
    table = {}
    for row in rows:
        month = row["placed_at"][:7]
        if row["status"] == "cancelled" or not first <= month <= last:
            continue
        sums = table.setdefault((month, row["region"] or "(none)"), [0, 0, 0, 0])
        sums[0] += 1
        sums[1] += sum(qty * price for qty, price in row["lines"])
        sums[2] += row["shipping"]
        sums[3] += sum(row["payments"])
    yield COLUMNS
    for (month, region), (count, goods, shipping, paid) in sorted(table.items()):
        amounts = [goods, shipping, paid, goods + shipping - paid]
        yield [month, region, str(count), *map(euros, amounts)]


class Report(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.work), "LANG": "C.UTF-8"}

    def table(self, database, *months):
        done = subprocess.run(
            ["python3", "-B", "-s", "/app/monthly.py", str(database), *months],
            cwd=self.work, env=self.env, timeout=LIMIT_SEC, capture_output=True, encoding="utf-8",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\r", done.stdout)
        return list(csv.reader(io.StringIO(done.stdout)))

    def test_random_orders(self):
        for seed in range(8):
            draw, database = random.Random(seed), self.work / f"{seed}.db"
            rows = list(orders(draw, draw.choice([1, 5, 60, 300])))
            write(database, rows, draw)
            for months in [("2023-12", "2024-04"), ("2024-02", "2024-02"), ("2024-01", "2024-03"),
                           ("2024-03", "2024-01"), ("2019-01", "2019-12")]:
                with self.subTest(seed=seed, months=months):
                    self.assertEqual(self.table(database, *months), list(expected(rows, *months)))

    def test_many_orders_in_time(self):
        draw, database = random.Random(99), self.work / "many.db"
        rows = list(orders(draw, 30000))
        write(database, rows, draw)
        start = time.monotonic()
        found = self.table(database, "2023-12", "2024-04")
        self.assertEqual(found, list(expected(rows, "2023-12", "2024-04")))
        self.assertLess(time.monotonic() - start, LIMIT_SEC)

    def test_the_given_database(self):
        db = sqlite3.connect("/app/data/orders.db")
        month, count = db.execute(
            "SELECT max(substr(placed_at, 1, 7)), count(*) FROM orders WHERE status <> 'cancelled'"
        ).fetchone()
        goods = db.execute(
            "SELECT sum(qty * unit_cents) FROM order_lines WHERE order_id IN "
            "(SELECT id FROM orders WHERE status <> 'cancelled')"
        ).fetchone()[0]
        db.close()
        self.assertGreater(count, 1000)
        table = self.table("/app/data/orders.db", "2025-07", month)[1:]
        self.assertEqual(sum(int(row[2]) for row in table), count)
        self.assertEqual(sum(round(float(row[3]) * 100) for row in table), goods)

    def test_bad_calls(self):
        for arguments in [["missing.db", "2024-01", "2024-02"], ["/app/data/orders.db", "2024-13", "2024-02"]]:
            done = subprocess.run(["python3", "-B", "-s", "/app/monthly.py", *arguments], cwd=self.work,
                                  env=self.env, timeout=LIMIT_SEC, capture_output=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stdout, b"")


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Report)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 4))
