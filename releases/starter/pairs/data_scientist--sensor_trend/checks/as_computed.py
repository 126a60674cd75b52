#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if REPORT.md holds the numbers of trend.json and a command that brings trend.json back, else 1."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

APP = Path("/app")
KEYS = ["readings", "slope", "low", "high"]
NAMES = ["well", *KEYS]


def no(reason):
    print(reason)
    sys.exit(1)


def plain(cell):
    """A cell without the marks of Markdown, a minus sign as computers write it."""
    return cell.strip().strip("*`_ ").replace("\u2212", "-")


def rows_of(report):
    """Cells of each row of each table."""
    lines = [line.strip() for line in report.splitlines()]
    rows = [[plain(cell) for cell in line.strip("|").split("|")] for line in lines if line.count("|") >= len(NAMES) - 1]
    return [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]


def main():
    try:
        report = (APP / "REPORT.md").read_text(encoding="utf-8")
        raw = (APP / "trend.json").read_bytes()
        wells = json.loads(raw)["wells"]
        wanted = sorted([name, *(json.dumps(one[key]) for key in KEYS)] for name, one in wells.items())
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        no(f"report or trend.json cannot be read: {error!r}")
    rows = rows_of(report)
    head = [[cell.lower() for cell in row] for row in rows if row and row[0].lower() == "well"]
    if head != [NAMES]:
        no(f"the table's head is {head}")
    found = sorted(row for row in rows if row[0].lower() != "well")
    if not wanted or found != wanted:
        no(f"the table says {found}, trend.json {wanted}")
    lines = (line.strip().strip("`").removeprefix("$ ").strip() for line in report.splitlines())
    commands = [line for line in lines if re.match(r"python3 trend\.py\s", line)]
    if len(commands) != 1:
        no(f"{len(commands)} commands")
    (APP / "trend.json").unlink()
    # No shell: the line is the command and nothing besides.
    done = subprocess.run(shlex.split(commands[0]), cwd=APP, timeout=200, capture_output=True, text=True)
    if done.returncode != 0:
        no(f"the command ends with {done.returncode}: {done.stderr[-300:]}")
    if not (APP / "trend.json").is_file() or (APP / "trend.json").read_bytes() != raw:
        no("the command does not bring trend.json back")
    return 0


if __name__ == "__main__":
    sys.exit(main())
