#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if --seed of trend.py repeats, tells seeds apart and keeps the wells apart from each other, else 1."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

APP = Path("/app")
WELLS = ["alder", "birch"]


def no(reason):
    print(reason)
    sys.exit(1)


def run(data, out, seed, hash_seed, in_front=False):
    """What trend.py writes for the wells in `data`."""
    option = ["--seed", str(seed)]
    arguments = [*option, data, out] if in_front else [data, out, *option]
    done = subprocess.run(
        ["python3", "-B", "trend.py", *map(str, arguments)], cwd=APP, timeout=100, capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(out.parent), "PYTHONHASHSEED": hash_seed},
    )
    if done.returncode != 0 or not out.is_file():
        no(f"--seed {seed} ends with {done.returncode}: {done.stderr[-300:]}")
    return out.read_bytes()


def content(raw, seed):
    try:
        found = json.loads(raw)
        wells = found["wells"]
        bounds = {name: (one["low"], one["high"]) for name, one in wells.items()}
        slopes = {name: one["slope"] for name, one in wells.items()}
        written = found.get("seed")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        no(f"the output cannot be read: {error!r}")
    if written != seed or isinstance(written, bool):
        no(f"the output does not name the seed {seed}")
    return bounds, slopes


def main():
    work = Path(tempfile.mkdtemp())
    # Two wells are enough, and other folders, names and orders of hashes may not matter.
    data, elsewhere = work / "wells", work / "elsewhere"
    for folder in (data, elsewhere):
        folder.mkdir()
        for well in WELLS:
            shutil.copy(APP / "data" / f"{well}.csv", folder)
    first = run(data, work / "first.json", 7301, "1")
    if first != run(elsewhere, work / "again.json", 7301, "2", in_front=True):
        no("the same seed gives another output")
    bounds, slopes = content(first, 7301)
    other_bounds, other_slopes = content(run(data, work / "other.json", 7302, "1"), 7302)
    if sorted(bounds) != WELLS or slopes != other_slopes:
        no("the slopes depend on the seed, or there are none")
    if any(bounds[name] == other_bounds.get(name) for name in bounds):
        no("another seed draws the same samples")
    # A stranger in front of a well must not change its interval, nor that another is gone.
    (data / f"{WELLS[0]}.csv").rename(data / "aaa.csv")
    changed, _ = content(run(data, work / "changed.json", 7301, "1"), 7301)
    (elsewhere / f"{WELLS[0]}.csv").unlink()
    alone, _ = content(run(elsewhere, work / "alone.json", 7301, "1"), 7301)
    if not bounds[WELLS[1]] == changed.get(WELLS[1]) == alone.get(WELLS[1]):
        no("an interval depends on the other wells")
    return 0


if __name__ == "__main__":
    sys.exit(main())
