#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if sql/monthly.sql alone gives the table and monthly.py prints what it returns, else 1."""

import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

QUERY = Path("/app/sql/monthly.sql")
ROWS = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name, region);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id, placed_at, status, shipping_cents);
CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id, article, qty, unit_cents);
CREATE TABLE payments (id INTEGER PRIMARY KEY, order_id, paid_on, cents);
INSERT INTO customers VALUES (1, 'Ada', 'North'), (2, 'Ben', 'Coast'), (3, 'Cy', NULL);
INSERT INTO orders VALUES
    (1, 1, '2026-04-01 00:00:00', 'sent', 490), (2, 2, '2026-04-30 23:59:59', 'new', 0),
    (3, 1, '2026-05-01 00:00:00', 'sent', 690), (4, 1, '2026-04-09 10:00:00', 'cancelled', 490),
    (5, 3, '2026-03-31 23:59:59', 'sent', 490), (6, 3, '2026-04-15 08:00:00', 'packed', 1290),
    (7, 1, '2026-06-01 00:00:00', 'sent', 490);
INSERT INTO order_lines (order_id, article, qty, unit_cents) VALUES
    (1, 'fern', 2, 500), (1, 'fern', 2, 500), (2, 'iris', 1, 350), (3, 'iris', 3, 100), (4, 'iris', 9, 100),
    (5, 'iris', 9, 100), (7, 'iris', 9, 100);
INSERT INTO payments (order_id, paid_on, cents) VALUES
    (1, '2026-04-09', 800), (1, '2026-05-09', 800), (1, '2026-05-09', -10), (4, '2026-04-11', 70), (6, '2026-04-11', 90);
"""
PERIODS = {
    ("2026-04-01", "2026-05-01"): [
        ("2026-04", "(none)", 1, 0, 1290, 90, 1200),
        ("2026-04", "Coast", 1, 350, 0, 0, 350),
        ("2026-04", "North", 1, 2000, 490, 1590, 900),
    ],
    ("2026-05-01", "2026-06-01"): [("2026-05", "North", 1, 300, 690, 0, 990)],
    ("2020-01-01", "2021-01-01"): [],
}
OTHER = "SELECT '2026-04' AS month, 'Moon' AS region, 7 AS orders, 123 AS goods, 45 AS shipping, 6 AS paid, 162 AS open WHERE :first < :past"


def is_one_select(text):
    bare = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    quoted = re.sub(r"'(?:[^']|'')*'", "''", bare).strip().rstrip(";").strip()
    named = set(re.findall(r"[:@$](\w+)", quoted))
    return ";" not in quoted and "?" not in quoted and named == {"first", "past"} and re.match(
        r"(?i)(select|with)\b", quoted
    )


def gives_the_table(text):
    db = sqlite3.connect(":memory:")
    db.executescript(ROWS)
    db.execute("PRAGMA query_only = ON")
    for (first, past), rows in PERIODS.items():
        try:
            found = [tuple(row) for row in db.execute(text, {"first": first, "past": past})]
        except sqlite3.Error as problem:
            print("the query by itself:", problem)
            return False
        if found != rows:
            print("from", first, "to", past, "the query returns", found)
            return False
    return True


def is_printed():
    """Another query in the same place must show in the report."""
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "app"
        shutil.copytree("/app", app, ignore=shutil.ignore_patterns("data", "__pycache__", ".git"))
        database = Path(folder) / "orders.db"
        db = sqlite3.connect(database)
        db.executescript(ROWS)
        db.close()
        for text in (OTHER, QUERY.read_text()):
            (app / "sql/monthly.sql").write_text(text)
            done = subprocess.run(
                ["python3", "-B", "-s", str(app / "monthly.py"), str(database), "2026-04", "2026-04"],
                cwd=app, capture_output=True, text=True, timeout=20,
            )
            shows = "2026-04,Moon,7,1.23,0.45,0.06,1.62" in done.stdout
            if shows != (text == OTHER):
                print("monthly.py does not print what the query returns:", (done.stdout + done.stderr)[-300:])
                return False
    return True


def main():
    try:
        text = QUERY.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        print(problem)
        return 1
    if not is_one_select(text):
        print("not a single SELECT with :first and :past")
        return 1
    return 0 if gives_the_table(text) and is_printed() else 1


if __name__ == "__main__":
    sys.exit(main())
