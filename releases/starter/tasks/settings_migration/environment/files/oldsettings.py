#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Reads the old settings of a station: `read` gives sections, keys and values of a file, in its order."""

from pathlib import Path


class BadSettings(ValueError):
    """A file is not what a station writes; the message names the line."""


def read(path: Path) -> dict[str, dict[str, str]]:
    """Sections by name, in each the values by key, as they stand in the file."""
    return parse(Path(path).read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, dict[str, str]]:
    """Like `read`. A section may come in pieces, a key twice in a section is an error."""
    sections: dict[str, dict[str, str]] = {}
    current = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            current = sections.setdefault(line[1:-1].strip(), {})
            continue
        key, sign, value = line.partition("=")
        key = key.strip()
        if current is None or not sign or not key:
            raise BadSettings(f"line {number}: {line!r} is no setting of a section")
        if key in current:
            raise BadSettings(f"line {number}: {key} stands there twice")
        current[key] = value.strip()
    return sections
