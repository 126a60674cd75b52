#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Reads the file of a well. `read_file` gives its lines as `Reading`s, corrected ones included."""

import csv
import datetime
import math
from dataclasses import dataclass
from pathlib import Path

FLAGS = {"ok", "maintenance", "suspect"}


class BadFile(ValueError):
    """A file is not what a sensor's keeper writes; the message names file and line."""


@dataclass(frozen=True)
class Reading:
    """A line of the file; `level_cm` is None if the sensor gave none."""

    date: datetime.date
    level_cm: float | None
    flag: str


def read_file(path: Path) -> list[Reading]:
    """All lines of a file in its order."""
    with open(path, encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream)
        if next(rows, None) != ["date", "level_cm", "flag"]:
            raise BadFile(f"{path.name}: the head line is not date,level_cm,flag")
        return [_reading(path, rows.line_num, row) for row in rows if row]


def _reading(path: Path, number: int, row: list[str]) -> Reading:
    try:
        date, level, flag = row
        if flag not in FLAGS:
            raise ValueError(f"unknown flag {flag!r}")
        level_cm = float(level) if level else None
        if level_cm is not None and not math.isfinite(level_cm):
            raise ValueError(f"not a level: {level!r}")
        return Reading(datetime.date.fromisoformat(date), level_cm, flag)
    except ValueError as error:
        raise BadFile(f"{path.name}, line {number}: {error}") from error
