#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Reads the export files of the till. `read_file` gives the lines of one file as `Line`s."""

import csv
import datetime
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

COLUMNS = ["Receipt", "Pos", "Date", "Time", "Article", "Group", "Qty", "Price", "Status"]
STATUSES = {"SALE", "VOID", "REFUND"}


class BadExport(ValueError):
    """A file is not what the till writes; the message names file and line."""


@dataclass(frozen=True)
class Line:
    """One line of a receipt, as the till wrote it."""

    receipt: int
    pos: int
    when: datetime.datetime
    article: str
    group: str
    qty: int
    price: Decimal
    status: str


def read_file(path: Path) -> list[Line]:
    """All lines of one export file, in its order, void lines and repeated ones included."""
    with open(path, encoding="cp1252", newline="") as stream:
        rows = csv.reader(stream, delimiter=";")
        head = next(rows, None)
        if head != COLUMNS:
            raise BadExport(f"{path.name}: unexpected head line {head}")
        return [_line(path, rows.line_num, row) for row in rows if row]


def money(text: str) -> Decimal:
    """The number in `text` as the till writes it: `1.250,00` is 1250.00."""
    try:
        value = Decimal(text.strip().replace(".", "").replace(",", "."))
    except InvalidOperation as error:
        raise ValueError(f"not an amount: {text!r}") from error
    if not value.is_finite():
        raise ValueError(f"not an amount: {text!r}")
    return value


def _line(path: Path, number: int, row: list[str]) -> Line:
    try:
        receipt, pos, date, time, article, group, qty, price, status = row
        if status not in STATUSES:
            raise ValueError(f"unknown status {status!r}")
        return Line(
            receipt=int(receipt),
            pos=int(pos),
            when=datetime.datetime.strptime(f"{date} {time}", "%d.%m.%Y %H:%M"),
            article=article,
            group=group.strip(),
            qty=int(qty),
            price=money(price),
            status=status,
        )
    except ValueError as error:
        raise BadExport(f"{path.name}, line {number}: {error}") from error
