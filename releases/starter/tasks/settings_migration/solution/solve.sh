#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes the converter and converts the settings of all stations.
set -eu
cd /app
if [ ! -e migrate.py ]; then
    cat > migrate.py <<'PY'
"""Converts settings of stations: python3 migrate.py up|down FROM_FOLDER TO_FOLDER"""

import json
import re
import sys
from pathlib import Path

import oldsettings

NUMBER = re.compile(r"0|[1-9][0-9]*")
UNITS = {"s": 1, "m": 60, "h": 3600}
SWITCHES = {"yes": True, "on": True, "no": False, "off": False}


class Bad(ValueError):
    """A file cannot be converted."""


def number(text):
    return int(text) if NUMBER.fullmatch(text) else None


def duration(text):
    count = number(text[:-1]) if text[-1:] in UNITS else None
    return None if count is None else count * UNITS[text[-1]]


def texts(text):
    parts = [part.strip() for part in text.split(",")]
    return parts if all(parts) else None


FORMS = {
    "text": (lambda text: text, str),
    "number": (number, str),
    "duration": (duration, lambda seconds: f"{seconds}s"),
    "list": (texts, ", ".join),
    "switch": (lambda text: SWITCHES.get(text.lower()), lambda on: "yes" if on else "no"),
}
TABLE = {
    "station": {"name": ("name", "text"), "id": ("id", "number")},
    "network": {"host": ("host", "text"), "port": ("port", "number"), "retry": ("retry_seconds", "duration")},
    "doors": {"sizes": ("sizes", "list"), "open_for": ("open_seconds", "duration"), "alarm": ("alarm", "switch")},
    "display": {"language": ("language", "text"), "brightness": ("brightness", "number")},
}


def up(text):
    """The new text of old settings, how many settings, how many of them unknown."""
    new, extra, settings, unknown = {}, {}, 0, 0
    for section, values in oldsettings.parse(text).items():
        for key, value in values.items():
            settings += 1
            name, form = TABLE.get(section, {}).get(key, (None, None))
            found = FORMS[form][0](value) if form else None
            if found is None:
                unknown += 1
                extra.setdefault(section, {})[key] = value
            else:
                new.setdefault(section, {})[name] = found
    ordered = {"version": 2, **{part: new[part] for part in TABLE if part in new}}
    if extra:
        ordered["extra"] = extra
    return json.dumps(ordered, indent=2, ensure_ascii=False) + "\n", settings, unknown


def down(text):
    """The old text of new settings, how many settings, how many of them unknown."""
    new = json.loads(text)
    if not isinstance(new, dict) or new.get("version") != 2:
        raise Bad("not settings of version 2")
    extra = new.get("extra", {})
    blocks, settings = [], 0
    for section in [*TABLE, *(name for name in extra if name not in TABLE)]:
        lines = [
            (key, FORMS[form][1](new[section][name]))
            for key, (name, form) in TABLE.get(section, {}).items()
            if name in new.get(section, {})
        ]
        lines += extra.get(section, {}).items()
        settings += len(lines)
        if lines:
            blocks.append("\n".join([f"[{section}]", *(f"{k} = {v}".rstrip() for k, v in lines)]) + "\n")
    return "\n".join(blocks), settings, sum(map(len, extra.values()))


def main(arguments):
    way, source, target = arguments
    convert, old, new = {"up": (up, ".ini", ".json"), "down": (down, ".json", ".ini")}[way]
    made, totals = {}, [0, 0]
    for path in sorted(Path(source).glob(f"*{old}")):
        try:
            text, *counts = convert(path.read_bytes().decode("utf-8"))
        except (ValueError, OSError) as error:
            print(f"migrate: {path.name}: {error}", file=sys.stderr)
            return 1
        made[path.stem + new] = text
        totals = [a + b for a, b in zip(totals, counts)]
    Path(target).mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (Path(target) / name).write_bytes(text.encode("utf-8"))
    print(f"files {len(made)} settings {totals[0]} unknown {totals[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
PY
fi
python3 -B migrate.py up settings settings-v2
