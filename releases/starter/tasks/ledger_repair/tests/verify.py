#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Repairs random books with the program and compares them with a repair on plain lists."""

import hashlib
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TABLES = """
CREATE TABLE entries (id INTEGER PRIMARY KEY, ref TEXT NOT NULL, booked_on TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('sale', 'refund', 'expense', 'deposit', 'correction')),
    cents INTEGER NOT NULL, note TEXT NOT NULL);
CREATE TABLE discarded (id INTEGER PRIMARY KEY, ref TEXT NOT NULL, booked_on TEXT NOT NULL, kind TEXT NOT NULL,
    cents INTEGER NOT NULL, note TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE months (month TEXT PRIMARY KEY, opening_cents INTEGER NOT NULL, closing_cents INTEGER NOT NULL);
"""
MONTHS = ["2023-11", "2023-12", "2024-01", "2024-02"]
SIGN = {"sale": 1, "deposit": 1, "refund": -1, "expense": -1}
# The rows of the given book once it is repaired, and what the repair does to it.
GIVEN_REPAIRED = "f2d6e12fc3f7c7d358d6679070504b7179878543f45d948392ca17a9265e12dd"


def book(draw, count, faults=0.3):
    """A book as it might have been left: entries and months as lists of rows, the months partly wrong."""
    entries, refs = [], []
    number = draw.randint(1, 50)
    for _ in range(count):
        number += draw.choice([1, 1, 1, 7])
        kind = draw.choice([*SIGN, "sale", "correction"])
        ref = draw.choice(["", " ", f"K{draw.randint(1, 3)}-{len(refs):06}"]) if draw.random() < 0.3 else None
        if ref is None:
            ref = f"{draw.choice('KLM')}{draw.randint(1, 9)}-{number:06}"
        if refs and draw.random() < faults:
            ref = draw.choice(refs)
            ref = draw.choice([ref, ref.lower(), f"  {ref}", f"{ref.title()} "])
        elif ref.strip():
            refs.append(ref)
        cents = draw.choice([0, draw.randint(1, 9000)]) * (1 if draw.random() > faults else -1)
        day = f"{draw.choice(MONTHS)}-{draw.randint(1, 28):02}"
        entries.append((number, ref, day, kind, cents * SIGN.get(kind, 1), draw.choice(["", "soil, wet", "Töpfe"])))
    opening = draw.randint(0, 30000)
    months = []
    for month in MONTHS:
        closing = opening + sum(row[4] for row in entries if row[2].startswith(month))
        months.append((month, opening, closing))
        opening = closing if draw.random() < 0.7 else closing + draw.randint(-500, 500)
    discarded = [(800000 + i, "X", "2023-01-01", "sale", -5, "", "by hand") for i in range(draw.randint(0, 2))]
    return {"entries": entries, "discarded": discarded, "months": months}


def repaired(rows):
    """The book put right, the line that is printed and the list that announces it."""
    first, kept, moved, turned, listed = {}, [], [], 0, []
    for row in rows["entries"]:
        key = row[1].strip().lower()
        if key and key in first:
            reason = f"repeat of {first[key]}"
            moved.append((*row, reason))
            listed.append(f"{row[0]},{reason}")
            continue
        if key:
            first[key] = row[0]
        if row[4] * SIGN.get(row[3], 0) < 0:
            turned += 1
            listed.append(f"{row[0]},sign")
            row = (*row[:4], -row[4], row[5])
        kept.append(row)
    months, opening = [], rows["months"][0][1]
    for month, *_ in rows["months"]:
        closing = opening + sum(row[4] for row in kept if row[2].startswith(month))
        months.append((month, opening, closing))
        opening = closing
    changed = sum(new != old for new, old in zip(months, rows["months"], strict=True))
    after = {"entries": kept, "discarded": sorted(rows["discarded"] + moved), "months": months}
    return after, f"moved {len(moved)}, turned {turned}, months {changed}\n", "".join(
        line + "\n" for line in ["id,what", *listed]
    )


def write(path, rows):
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    for table, content in rows.items():
        for row in content:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    db.commit()
    db.close()


def read(path):
    db = sqlite3.connect(path)
    try:
        return {table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
                for table in ("entries", "discarded", "months")}
    finally:
        db.close()


class Repair(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.work), "LANG": "C.UTF-8"}

    def program(self, *arguments):
        done = subprocess.run(
            ["python3", "-B", "-s", "/app/repair.py", *map(str, arguments)],
            cwd=self.work, env=self.env, timeout=60, capture_output=True, encoding="utf-8",
        )
        return done.returncode, done.stdout, done.stderr

    def test_random_books(self):
        for seed in range(15):
            with self.subTest(seed=seed):
                draw, path = random.Random(seed), self.work / f"{seed}.db"
                rows = book(draw, draw.choice([1, 4, 40, 300]))
                write(path, rows)
                after, line, listed = repaired(rows)
                self.assertEqual(self.program("--list", path)[:2], (0, listed))
                self.assertEqual(read(path), rows)
                self.assertEqual(self.program(path)[:2], (0, line))
                self.assertEqual(read(path), after)
                self.assertEqual(self.program("--list", path)[:2], (0, "id,what\n"))
                self.assertEqual(self.program(path)[:2], (0, "moved 0, turned 0, months 0\n"))
                self.assertEqual(read(path), after)

    def test_books_in_order_stay(self):
        path = self.work / "order.db"
        rows, _, _ = repaired(book(random.Random(77), 80))
        write(path, rows)
        self.assertEqual(self.program(path)[:2], (0, "moved 0, turned 0, months 0\n"))
        self.assertEqual(read(path), rows)

    def test_all_or_nothing(self):
        obstacles = ["UPDATE ON months", "UPDATE ON entries", "INSERT ON discarded", "DELETE ON entries"]
        for number, obstacle in enumerate(obstacles):
            with self.subTest(obstacle):
                path = self.work / f"obstacle{number}.db"
                rows = book(random.Random(5), 120)
                write(path, rows)
                db = sqlite3.connect(path)
                db.execute(f"CREATE TRIGGER obstacle BEFORE {obstacle} BEGIN SELECT RAISE(FAIL, 'disk'); END")
                db.commit()
                db.close()
                self.assertNotEqual(self.program(path)[0], 0)
                self.assertEqual(read(path), rows)

    def test_the_given_book(self):
        path = self.work / "given.db"
        shutil.copyfile("/app/cashbook.db", path)
        code, _, errors = self.program(path)
        self.assertEqual(code, 0, errors)
        self.assertEqual(hashlib.sha256(repr(read(path)).encode()).hexdigest(), GIVEN_REPAIRED)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Repair)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 4))
