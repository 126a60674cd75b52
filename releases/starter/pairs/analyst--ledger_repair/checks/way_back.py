#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if undo.sql alone takes the repaired book back to every row that it had, else 1."""

import hashlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

APP = Path("/app")
BEFORE = "84de80cbe8a2fe89ea3f35388d939186b07522864ddd064ef21cbb04e13a8a4f"
REPAIRED = "f2d6e12fc3f7c7d358d6679070504b7179878543f45d948392ca17a9265e12dd"
TABLES = ("entries", "discarded", "months")


def digest(db):
    rows = {table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in TABLES}
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def alone(action, first, *_):
    """Statements read and write the three tables; they open no other file and make nothing."""
    if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
        return sqlite3.SQLITE_OK if first in TABLES else sqlite3.SQLITE_DENY
    harmless = (sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT,
                sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_PRAGMA)
    return sqlite3.SQLITE_OK if action in harmless else sqlite3.SQLITE_DENY


def main():
    try:
        statements = (APP / "undo.sql").read_text()
    except (OSError, UnicodeDecodeError) as problem:
        print(problem)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder) / "book.db"
        shutil.copyfile(APP / "cashbook.db", book)
        db = sqlite3.connect(book)
        if digest(db) == BEFORE:
            db.close()
            subprocess.run(["python3", "-B", "-s", "/app/repair.py", str(book)], timeout=30)
            db = sqlite3.connect(book)
        if digest(db) != REPAIRED:
            print("there is no repaired book to take back")
            return 1
        db.set_authorizer(alone)
        try:
            db.executescript(statements)
        except sqlite3.Error as problem:
            print("undo.sql:", problem)
            return 1
        if db.in_transaction:
            db.commit()
        found = digest(db)
        db.close()
    print("rows as before" if found == BEFORE else "rows differ from before")
    return 0 if found == BEFORE else 1


if __name__ == "__main__":
    sys.exit(main())
