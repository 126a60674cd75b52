#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes the repair program; the book itself stays as it is.
set -eu
cat > /app/repair.py <<'PY'
#!/usr/bin/env python3
"""Puts a cash book right: repair.py [--list] DATABASE."""

import argparse
import csv
import sqlite3
import sys
from pathlib import Path

NEVER_NEGATIVE = {"sale", "deposit"}
NEVER_POSITIVE = {"refund", "expense"}


def repeats(db):
    """The id of each repeat with the id of its original."""
    originals, found = {}, {}
    for number, ref in db.execute("SELECT id, ref FROM entries ORDER BY id"):
        key = ref.strip().upper()
        if not key:
            continue
        if key in originals:
            found[number] = originals[key]
        else:
            originals[key] = number
    return found


def wrong_signs(db, moved):
    """The ids of entries whose amount has to be turned round."""
    return [
        number
        for number, kind, cents in db.execute("SELECT id, kind, cents FROM entries ORDER BY id")
        if number not in moved and (kind in NEVER_NEGATIVE and cents < 0 or kind in NEVER_POSITIVE and cents > 0)
    ]


def wrong_months(db):
    """Month, opening and closing of each row of `months` that is not as its entries say."""
    sums = dict(db.execute("SELECT substr(booked_on, 1, 7), sum(cents) FROM entries GROUP BY 1"))
    opening = None
    for month, written, closed in db.execute("SELECT * FROM months ORDER BY month").fetchall():
        opening = written if opening is None else opening
        closing = opening + sums.get(month, 0)
        if (opening, closing) != (written, closed):
            yield month, opening, closing
        opening = closing


def repair(db):
    """Does all of it within the transaction of the caller; the line to print."""
    moved = repeats(db)
    turned = wrong_signs(db, moved)
    for number, original in moved.items():
        db.execute(
            "INSERT INTO discarded (id, ref, booked_on, kind, cents, note, reason) "
            "SELECT id, ref, booked_on, kind, cents, note, ? FROM entries WHERE id = ?",
            [f"repeat of {original}", number],
        )
        db.execute("DELETE FROM entries WHERE id = ?", [number])
    db.executemany("UPDATE entries SET cents = -cents WHERE id = ?", [[number] for number in turned])
    months = list(wrong_months(db))
    for month, opening, closing in months:
        db.execute(
            "UPDATE months SET opening_cents = ?, closing_cents = ? WHERE month = ?", [opening, closing, month]
        )
    return f"moved {len(moved)}, turned {len(turned)}, months {len(months)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="change nothing, print what would be done")
    parser.add_argument("database", type=Path)
    arguments = parser.parse_args()
    if not arguments.database.is_file():
        parser.error(f"there is no database {arguments.database}")

    db = sqlite3.connect(arguments.database)
    try:
        if arguments.list:
            moved = repeats(db)
            what = {number: "sign" for number in wrong_signs(db, moved)}
            what.update({number: f"repeat of {original}" for number, original in moved.items()})
            table = csv.writer(sys.stdout, lineterminator="\n")
            table.writerow(["id", "what"])
            table.writerows(sorted(what.items()))
        else:
            with db:
                line = repair(db)
            print(line)
    finally:
        db.close()


if __name__ == "__main__":
    main()
PY
