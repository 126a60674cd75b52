#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the report leaves the catalogue of its database alone, 1 if not.

SQLite counts every change of the catalogue in the file's header, so what comes and goes within one run is
seen as well.
"""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

GIVEN = "/app/data/orders.db"


def catalogue(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        changes = db.execute("PRAGMA schema_version").fetchone()[0]
        return changes, db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
    finally:
        db.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "orders.db"
        shutil.copyfile(GIVEN, database)
        for path in (database, GIVEN):
            before = catalogue(path)
            subprocess.run(
                ["python3", "-B", "-s", "/app/monthly.py", str(path), "2026-01", "2026-02"],
                cwd="/app", stdout=subprocess.DEVNULL, timeout=50,
            )
            if catalogue(path) != before:
                print("a run of the report changes the catalogue of", path)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
