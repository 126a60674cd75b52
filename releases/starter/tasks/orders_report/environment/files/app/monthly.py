#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Prints orders by month and region as CSV: monthly.py DATABASE FROM TO."""

import argparse
import csv
import re
import sqlite3
import sys
from pathlib import Path

COLUMNS = ["month", "region", "orders", "goods", "shipping", "paid", "open"]
QUERY = Path(__file__).parent / "sql" / "monthly.sql"


def month(text):
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no month, write it like 2026-03")
    return text


def euros(cents):
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"


def report(db, first, last):
    """The rows of the table, amounts in cents."""
    for row in db.execute(QUERY.read_text(), {"first": f"{first}-01", "last": f"{last}-31"}):
        name, region, orders, goods, shipping, paid = row
        yield name, region, orders, goods, shipping, paid, goods + shipping - paid


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", type=Path)
    parser.add_argument("first", type=month, metavar="FROM")
    parser.add_argument("last", type=month, metavar="TO")
    arguments = parser.parse_args()
    if not arguments.database.is_file():
        parser.error(f"there is no database {arguments.database}")

    db = sqlite3.connect(arguments.database)
    try:
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(COLUMNS)
        for row in report(db, arguments.first, arguments.last):
            table.writerow([*row[:3], *map(euros, row[3:])])
    finally:
        db.close()


if __name__ == "__main__":
    main()
