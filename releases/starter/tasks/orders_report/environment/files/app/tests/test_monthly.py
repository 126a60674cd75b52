# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""The report of a handful of orders."""

import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

APP = pathlib.Path(__file__).resolve().parent.parent
ROWS = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, placed_at TEXT NOT NULL,
    status TEXT NOT NULL, shipping_cents INTEGER NOT NULL);
CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, article TEXT NOT NULL,
    qty INTEGER NOT NULL, unit_cents INTEGER NOT NULL);
CREATE TABLE payments (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, paid_on TEXT NOT NULL,
    cents INTEGER NOT NULL);
INSERT INTO customers VALUES (1, 'Ada', 'North'), (2, 'Ben', 'Coast');
INSERT INTO orders VALUES (1, 1, '2026-01-05 09:00:00', 'sent', 490), (2, 2, '2026-01-07 10:00:00', 'sent', 0),
    (3, 1, '2026-02-02 11:00:00', 'cancelled', 490);
INSERT INTO order_lines (order_id, article, qty, unit_cents) VALUES (1, 'fern', 2, 500), (2, 'iris', 1, 350),
    (3, 'iris', 1, 350);
INSERT INTO payments (order_id, paid_on, cents) VALUES (1, '2026-01-09', 1490), (2, '2026-01-09', 300),
    (3, '2026-02-09', 840);
"""


class Monthly(unittest.TestCase):
    def table(self, *months):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "orders.db"
            db = sqlite3.connect(path)
            db.executescript(ROWS)
            db.close()
            done = subprocess.run(
                [sys.executable, APP / "monthly.py", path, *months], capture_output=True, text=True
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_simple_orders(self):
        self.assertEqual(
            self.table("2026-01", "2026-02"),
            [
                "month,region,orders,goods,shipping,paid,open",
                "2026-01,Coast,1,3.50,0.00,3.00,0.50",
                "2026-01,North,1,10.00,4.90,14.90,0.00",
            ],
        )

    def test_no_orders(self):
        self.assertEqual(self.table("2025-01", "2025-02"), ["month,region,orders,goods,shipping,paid,open"])
