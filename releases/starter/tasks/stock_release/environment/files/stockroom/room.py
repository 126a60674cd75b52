#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""The operations of the stockroom. Each is a transaction; `Stockroom` holds them."""

import datetime
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from stockroom.database import open_database, transaction
from stockroom.errors import Refused


@dataclass(frozen=True)
class Level:
    """The figures of one article."""

    sku: str
    on_hand: int
    reserved: int

    @property
    def available(self) -> int:
        return self.on_hand - self.reserved


class Stockroom:
    """One warehouse, kept in the SQLite file at `path`."""

    def __init__(self, path: Path | str):
        self._db = open_database(path)

    def close(self) -> None:
        self._db.close()

    def receive(self, sku: str, qty: int) -> None:
        """Goods came in. An article that is not known yet becomes known."""
        _positive(qty)
        with transaction(self._db) as db:
            db.execute("INSERT INTO stock (sku) VALUES (?) ON CONFLICT DO NOTHING", [sku])
            db.execute("UPDATE stock SET on_hand = on_hand + ? WHERE sku = ?", [qty, sku])
            db.execute("INSERT INTO movements (sku, qty) VALUES (?, ?)", [sku, qty])

    def reserve(self, sku: str, qty: int, until: datetime.date) -> int:
        """Promises `qty` pieces to somebody until the end of the day `until`."""
        _positive(qty)
        with transaction(self._db) as db:
            level = self._level(db, sku)
            if level.available < qty:
                raise Refused(f"only {level.available} of {sku} available")
            db.execute("UPDATE stock SET reserved = reserved + ? WHERE sku = ?", [qty, sku])
            return db.execute(
                "INSERT INTO reservations (sku, qty, until) VALUES (?, ?, ?)",
                [sku, qty, until.isoformat()],
            ).lastrowid

    def ship(self, reservation: int, qty: int) -> None:
        """Sends out `qty` pieces of a reservation; when all are out, it is closed."""
        _positive(qty)
        with transaction(self._db) as db:
            row = self._open_reservation(db, reservation)
            left = row["qty"] - row["shipped"]
            if qty > left:
                raise Refused(f"reservation {reservation} waits for {left} only")
            db.execute(
                "UPDATE stock SET on_hand = on_hand - ?, reserved = reserved - ? WHERE sku = ?",
                [qty, qty, row["sku"]],
            )
            db.execute(
                "UPDATE reservations SET shipped = shipped + ?, state = ? WHERE id = ?",
                [qty, "shipped" if qty == left else "open", reservation],
            )
            db.execute(
                "INSERT INTO movements (sku, qty, reservation) VALUES (?, ?, ?)",
                [row["sku"], -qty, reservation],
            )

    def cancel(self, reservation: int) -> None:
        """Closes a reservation by hand; what it still holds becomes available."""
        with transaction(self._db) as db:
            row = self._open_reservation(db, reservation)
            db.execute(
                "UPDATE stock SET reserved = reserved - ? WHERE sku = ?", [row["qty"], row["sku"]]
            )
            db.execute("UPDATE reservations SET state = 'cancelled' WHERE id = ?", [reservation])

    def expire(self, today: datetime.date) -> int:
        """Closes the open reservations whose day lies before `today`; returns how many."""
        with transaction(self._db) as db:
            late = [today.isoformat()]
            db.execute(
                """
                UPDATE stock
                SET reserved = reserved - due.qty
                FROM (
                    SELECT sku, SUM(qty) AS qty FROM reservations
                    WHERE state = 'open' AND until < ? GROUP BY sku
                ) AS due
                WHERE stock.sku = due.sku
                """,
                late,
            )
            return db.execute(
                "UPDATE reservations SET state = 'expired' WHERE state = 'open' AND until < ?", late
            ).rowcount

    def levels(self) -> list[Level]:
        """The figures of all articles, by SKU."""
        rows = self._db.execute("SELECT sku, on_hand, reserved FROM stock ORDER BY sku")
        return [Level(*row) for row in rows]

    def _level(self, db: sqlite3.Connection, sku: str) -> Level:
        row = db.execute(
            "SELECT sku, on_hand, reserved FROM stock WHERE sku = ?", [sku]
        ).fetchone()
        if row is None:
            raise Refused(f"no article {sku}")
        return Level(*row)

    def _open_reservation(self, db: sqlite3.Connection, reservation: int) -> sqlite3.Row:
        row = db.execute("SELECT * FROM reservations WHERE id = ?", [reservation]).fetchone()
        if row is None:
            raise Refused(f"no reservation {reservation}")
        if row["state"] != "open":
            raise Refused(f"reservation {reservation} is {row['state']}")
        return row


def _positive(qty: int) -> None:
    if qty <= 0:
        raise Refused("a quantity must be positive")
