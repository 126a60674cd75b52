#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if nobody has changed the catalogue of the cash book since it was made, else 1."""

import sqlite3
import sys


def main():
    db = sqlite3.connect("file:/app/cashbook.db?mode=ro", uri=True)
    changes = db.execute("PRAGMA schema_version").fetchone()[0]
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master ORDER BY name")]
    db.close()
    print(changes, names)
    # The three tables are three changes.
    kept = changes == 3 and names == ["discarded", "entries", "months", "sqlite_autoindex_months_1"]
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
