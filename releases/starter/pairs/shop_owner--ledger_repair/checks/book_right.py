#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the cash book holds what a right repair leaves, else 1."""

import sqlite3
import sys

SUMS = """
SELECT (SELECT count(*) FROM entries), (SELECT sum(id * cents) FROM entries), (SELECT count(*) FROM discarded),
       (SELECT sum(id * cents) FROM discarded), (SELECT sum(closing_cents) FROM months),
       (SELECT sum(opening_cents) FROM months)
"""


def main():
    db = sqlite3.connect("file:/app/cashbook.db?mode=ro", uri=True)
    found = db.execute(SUMS).fetchone()
    db.close()
    print(found)
    return 0 if found == (376, 150512550, 22, 7800025, 2224805, 1501150) else 1


if __name__ == "__main__":
    sys.exit(main())
