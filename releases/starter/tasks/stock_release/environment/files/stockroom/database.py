#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Opens the SQLite file and keeps its tables in the form that this program expects."""

import sqlite3
from contextlib import contextmanager
from pathlib import Path

VERSION = 1

SCHEMA = """
CREATE TABLE stock (
    sku      TEXT PRIMARY KEY,
    on_hand  INTEGER NOT NULL DEFAULT 0,
    reserved INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE reservations (
    id      INTEGER PRIMARY KEY,
    sku     TEXT NOT NULL REFERENCES stock (sku),
    qty     INTEGER NOT NULL CHECK (qty > 0),
    shipped INTEGER NOT NULL DEFAULT 0 CHECK (shipped <= qty),
    until   TEXT NOT NULL,
    state   TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'shipped', 'cancelled', 'expired'))
);
CREATE INDEX open_reservations ON reservations (until) WHERE state = 'open';
CREATE TABLE movements (
    id          INTEGER PRIMARY KEY,
    sku         TEXT NOT NULL REFERENCES stock (sku),
    qty         INTEGER NOT NULL,
    reservation INTEGER REFERENCES reservations (id)
);
"""


def open_database(path: Path | str) -> sqlite3.Connection:
    """A connection to the stockroom at `path`, which is made if it is not there."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    with transaction(connection):
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        elif found > VERSION:
            raise RuntimeError(f"{path} was written by a newer stockroom (version {found})")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection):
    """All or nothing: what happens inside is undone if it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
