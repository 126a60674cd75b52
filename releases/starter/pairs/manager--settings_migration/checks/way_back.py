#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if sh way-back.sh makes the stations use the old settings with what operators changed since, else 1.

Before they return, operators change values, take one out, add one and add a station. Checks run in a state
that is thrown away, so this happens in place.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

APP = Path("/app")
DURATIONS = {("network", "retry"): "retry_seconds", ("doors", "open_for"): "open_seconds"}
UNITS = {"s": 1, "m": 60, "h": 3600}
ADDED = {
    "version": 2,
    "station": {"name": "Ferry Pier", "id": 60},
    "network": {"host": "lockers.example.org", "port": 8443, "retry_seconds": 150},
    "doors": {"sizes": ["M", "XL"], "open_seconds": 75, "alarm": True},
    "extra": {"quiet": {"from": "21:00"}},
}
OLD_ADDED = {
    ("station", "name"): "Ferry Pier", ("station", "id"): "60",
    ("network", "host"): "lockers.example.org", ("network", "port"): "8443", ("network", "retry"): 150,
    ("doors", "sizes"): ["M", "XL"], ("doors", "open_for"): 75, ("doors", "alarm"): True,
    ("quiet", "from"): "21:00",
}


def meaning(text):
    """Settings of an old file by section and key, in one spelling."""
    found, section = {}, None
    for line in map(str.strip, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            section = line.strip("[] ")
            continue
        key, _, value = (part.strip() for part in line.partition("="))
        place = (section, key)
        if place in DURATIONS and re.fullmatch(r"(0|[1-9]\d*)[smh]", value):
            value = int(value[:-1]) * UNITS[value[-1]]
        elif place == ("doors", "alarm") and value.lower() in ("yes", "on", "no", "off"):
            value = value.lower() in ("yes", "on")
        elif place == ("doors", "sizes") and all(map(str.strip, value.split(","))):
            value = [part.strip() for part in value.split(",")]
        found[place] = value
    return found


def no(reason):
    print(reason)
    sys.exit(1)


def operators_at_work(app):
    """Changes the new settings, and gives what the old ones should mean afterwards."""
    wanted = {path.name: meaning(path.read_text(encoding="utf-8")) for path in (app / "settings").glob("*.ini")}
    north, south = app / "settings-v2/harbour-north.json", app / "settings-v2/harbour-south.json"
    try:
        first, second = json.loads(north.read_text("utf-8")), json.loads(south.read_text("utf-8"))
        first["display"]["brightness"] = 35
        first["doors"]["alarm"] = False
        first.setdefault("extra", {})["note"] = {"by": "Ana, Größe 2"}
        del second["display"]["language"]
        second["extra"]["network"]["proxy"] = "10.0.0.1"
    except (OSError, ValueError, LookupError, TypeError) as error:
        no(f"the new settings cannot be worked with: {error!r}")
    north.write_text(json.dumps(first, ensure_ascii=False), "utf-8")
    south.write_text(json.dumps(second, ensure_ascii=False), "utf-8")
    (app / "settings-v2/ferry-pier.json").write_text(json.dumps(ADDED), "utf-8")
    wanted["harbour-north.ini"].update({
        ("display", "brightness"): "35", ("doors", "alarm"): False, ("note", "by"): "Ana, Größe 2"})
    del wanted["harbour-south.ini"]["display", "language"]
    wanted["harbour-south.ini"]["network", "proxy"] = "10.0.0.1"
    wanted["ferry-pier.ini"] = OLD_ADDED
    return wanted


def main():
    if not (APP / "way-back.sh").is_file():
        no("there is no way-back.sh")
    (APP / "ACTIVE").write_text("v2\n")
    wanted = operators_at_work(APP)
    done = subprocess.run(["sh", "way-back.sh"], cwd=APP, capture_output=True, timeout=30, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        no(f"it ends with {done.returncode}: {done.stderr[-300:]!r}")
    if (APP / "ACTIVE").read_text().strip() != "v1":
        no("ACTIVE does not say v1")
    found = {path.name: meaning(path.read_text(encoding="utf-8")) for path in (APP / "settings").glob("*.ini")}
    for name in sorted(wanted):
        if found.get(name) != wanted[name]:
            no(f"{name} is {found.get(name)}, not {wanted[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
