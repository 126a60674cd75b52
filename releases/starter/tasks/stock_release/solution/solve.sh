#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Releases what is left of a reservation, and puts old databases right.
set -eu
cd /app
if grep -q RECOUNT stockroom/database.py; then exit 0; fi
python3 - <<'PY'
from pathlib import Path


def replace(path, old, new):
    text = Path(path).read_text()
    assert text.count(old) == 1, (path, old)
    Path(path).write_text(text.replace(old, new))


replace(
    "stockroom/room.py",
    '''"UPDATE stock SET reserved = reserved - ? WHERE sku = ?", [row["qty"], row["sku"]]
''',
    '''"UPDATE stock SET reserved = reserved - ? WHERE sku = ?",
                [row["qty"] - row["shipped"], row["sku"]],
''',
)
replace("stockroom/room.py", "SUM(qty) AS qty", "SUM(qty - shipped) AS qty")
replace("stockroom/database.py", "VERSION = 1\n", "VERSION = 2\n")
replace(
    "stockroom/database.py",
    "        elif found > VERSION:",
    '''        elif found == 1:
            # Version 1 released the whole quantity of a reservation that was shipped in part.
            connection.execute(RECOUNT)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        elif found > VERSION:''',
)
replace(
    "stockroom/database.py",
    "def open_database",
    '''RECOUNT = """
UPDATE stock SET reserved = (
    SELECT COALESCE(SUM(qty - shipped), 0) FROM reservations
    WHERE reservations.sku = stock.sku AND state = 'open'
)
"""


def open_database''',
)
PY
