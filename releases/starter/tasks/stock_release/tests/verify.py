#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Compares the stockroom with a naive model, over random days and over databases of the old program."""

import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

COLUMNS = {
    "stock": ["sku", "on_hand", "reserved"],
    "reservations": ["id", "sku", "qty", "shipped", "until", "state"],
    "movements": ["id", "sku", "qty", "reservation"],
}
OLD_SCHEMA = """
CREATE TABLE stock (sku TEXT PRIMARY KEY, on_hand INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0);
CREATE TABLE reservations (id INTEGER PRIMARY KEY, sku TEXT NOT NULL REFERENCES stock (sku),
    qty INTEGER NOT NULL CHECK (qty > 0),
    shipped INTEGER NOT NULL DEFAULT 0 CHECK (shipped <= qty), until TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'open'
        CHECK (state IN ('open', 'shipped', 'cancelled', 'expired')));
CREATE INDEX open_reservations ON reservations (until) WHERE state = 'open';
CREATE TABLE movements (id INTEGER PRIMARY KEY, sku TEXT NOT NULL REFERENCES stock (sku),
    qty INTEGER NOT NULL, reservation INTEGER REFERENCES reservations (id));
PRAGMA user_version = 1;
"""


class Model:
    """The warehouse as it should be: no running figures, everything is added up when asked for."""

    def __init__(self):
        self.received, self.reservations = {}, []

    def level(self, sku):
        mine = [r for r in self.reservations if r["sku"] == sku]
        on_hand = self.received[sku] - sum(r["shipped"] for r in mine)
        reserved = sum(r["qty"] - r["shipped"] for r in mine if r["state"] == "open")
        return [sku, on_hand, reserved, on_hand - reserved]

    def levels(self):
        return [self.level(sku) for sku in sorted(self.received)]

    def receive(self, sku, qty):
        self.received[sku] = self.received.get(sku, 0) + qty

    def reserve(self, sku, qty, until):
        available = self.level(sku)[3]
        if available < qty:
            return f"refused: only {available} of {sku} available"
        self.reservations.append(
            {"sku": sku, "qty": qty, "shipped": 0, "until": until, "state": "open"}
        )
        return len(self.reservations)

    def ship(self, number, qty):
        row = self.reservations[number - 1]
        if row["state"] != "open":
            return f"refused: reservation {number} is {row['state']}"
        left = row["qty"] - row["shipped"]
        if qty > left:
            return f"refused: reservation {number} waits for {left} only"
        row["shipped"] += qty
        if qty == left:
            row["state"] = "shipped"

    def cancel(self, number):
        row = self.reservations[number - 1]
        if row["state"] != "open":
            return f"refused: reservation {number} is {row['state']}"
        row["state"] = "cancelled"

    def expire(self, today):
        late = [r for r in self.reservations if r["state"] == "open" and r["until"] < today]
        for row in late:
            row["state"] = "expired"
        return len(late)

    def reopen(self):
        return None


def random_day(draw, model, length):
    """Operations in an order that a warehouse could have, with what the model says to each."""
    operations, answers = [], []
    for _ in range(length):
        sku = draw.choice(["anchor", "bolt", "clamp"])
        date = f"2026-03-{draw.randint(1, 28):02}"
        choices = [("receive", sku, draw.randint(1, 20))]
        if sku in model.received:
            choices += [("reserve", sku, draw.randint(1, 12), date)] * 3
        if model.reservations:
            number = draw.randint(1, len(model.reservations))
            choices += [("ship", number, draw.randint(1, 6))] * 4
            choices += [("cancel", number), ("expire", date), ("reopen",)]
        name, *arguments = operation = draw.choice(choices)
        answer = getattr(model, name)(*arguments)
        operations.append(operation)
        answers.append([answer, model.levels()])
    return operations, answers


def old_database(path, model, wrong_by):
    """What the old program would have left of the model's warehouse, its figures wrong."""
    db = sqlite3.connect(path)
    db.executescript(OLD_SCHEMA)
    for sku, on_hand, reserved, _ in model.levels():
        db.execute("INSERT INTO stock VALUES (?, ?, ?)", [sku, on_hand, reserved - wrong_by(sku)])
        db.execute("INSERT INTO movements (sku, qty) VALUES (?, ?)", [sku, model.received[sku]])
    for number, row in enumerate(model.reservations, 1):
        db.execute(
            "INSERT INTO reservations VALUES (?, ?, ?, ?, ?, ?)",
            [number, *(row[key] for key in ("sku", "qty", "shipped", "until", "state"))],
        )
        if row["shipped"]:
            db.execute("INSERT INTO movements (sku, qty, reservation) VALUES (?, ?, ?)",
                       [row["sku"], -row["shipped"], number])
    db.commit()
    db.close()


def rows(path, *tables):
    db = sqlite3.connect(path)
    try:
        return {table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
                for table in tables}
    finally:
        db.close()


class Stock(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.work), "LANG": "C.UTF-8"}

    def drive(self, database, operations):
        done = subprocess.run(
            ["python3", "-B", "-s", "/tests/driver.py"],
            input=json.dumps({"database": str(database), "operations": operations}),
            cwd=self.work, env=self.env, timeout=60, capture_output=True, text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def command(self, database, *arguments):
        done = subprocess.run(
            ["python3", "-B", "-s", "-m", "stockroom", str(database), *arguments],
            cwd="/app", env=self.env, timeout=60, capture_output=True, text=True,
        )
        return done.returncode, done.stdout

    def test_the_report(self):
        for close in (["cancel", "1"], ["expire", "2026-03-02"]):
            with self.subTest(close=close[0]):
                database = self.work / f"{close[0]}.db"
                self.command(database, "receive", "bolt", "10")
                self.assertEqual(
                    self.command(database, "reserve", "bolt", "8", "--until", "2026-03-01"),
                    (0, "1\n"),
                )
                self.command(database, "ship", "1", "3")
                self.assertEqual(self.command(database, *close)[0], 0)
                self.assertEqual(self.command(database, "levels"), (0, "bolt 7 0 7\n"))

    def test_random_days(self):
        for seed in range(12):
            with self.subTest(seed=seed):
                operations, answers = random_day(random.Random(seed), Model(), 80)
                self.assertEqual(self.drive(self.work / f"day{seed}.db", operations), answers)

    def test_old_databases_are_put_right(self):
        for seed in range(6):
            with self.subTest(seed=seed):
                draw, model, database = random.Random(seed), Model(), self.work / f"old{seed}.db"
                random_day(draw, model, 60)
                old_database(database, model, lambda sku: draw.randint(0, 9))
                before = rows(database, "reservations", "movements")
                first = self.drive(database, [["reopen"], ["reopen"]])
                self.assertEqual(first, [[None, model.levels()]] * 2)
                self.assertEqual(rows(database, "reservations", "movements"), before)
                operations, answers = random_day(draw, model, 40)
                self.assertEqual(self.drive(database, operations), answers)

    def test_good_old_databases_stay(self):
        draw, model, database = random.Random(99), Model(), self.work / "good.db"
        random_day(draw, model, 60)
        old_database(database, model, lambda sku: 0)
        before = rows(database, *COLUMNS)
        self.assertEqual(self.command(database, "levels")[0], 0)
        self.assertEqual(rows(database, *COLUMNS), before)

    def test_columns_stay(self):
        database = self.work / "new.db"
        self.command(database, "receive", "bolt", "1")
        db = sqlite3.connect(database)
        for table, columns in COLUMNS.items():
            found = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            self.assertEqual(found, columns)
        db.close()


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Stock)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 5))
