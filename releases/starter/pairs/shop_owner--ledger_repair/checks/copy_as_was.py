#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the copy of the cash book holds what the book held before, else 1."""

import sqlite3
import sys

SUMS = """
SELECT (SELECT count(*) FROM entries), (SELECT sum(id * cents) FROM entries), (SELECT count(*) FROM discarded),
       (SELECT sum(id * cents) FROM discarded), (SELECT sum(closing_cents) FROM months),
       (SELECT sum(opening_cents) FROM months)
"""


def main():
    try:
        db = sqlite3.connect("file:/app/cashbook-before.db?mode=ro", uri=True)
        found = db.execute(SUMS).fetchone()
        db.close()
    except sqlite3.Error as problem:
        print(problem)
        return 1
    print(found)
    return 0 if found == (397, 116277535, 1, 11251250, 1898850, 1313910) else 1


if __name__ == "__main__":
    sys.exit(main())
