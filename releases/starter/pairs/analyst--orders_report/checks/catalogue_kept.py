#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the order database holds its four tables and nothing else of that kind, else 1."""

import sqlite3
import sys

GIVEN = [("table", "customers"), ("table", "order_lines"), ("table", "orders"), ("table", "payments")]


def main():
    db = sqlite3.connect("file:/app/data/orders.db?mode=ro", uri=True)
    found = db.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall()
    db.close()
    print(found)
    return 0 if found == GIVEN else 1


if __name__ == "__main__":
    sys.exit(main())
