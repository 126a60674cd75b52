#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes the analysis and runs it for the wells.
set -eu
cd /app
if [ -e trend.py ]; then exit 0; fi
cat > trend.py <<'PY'
"""Trends of the ground water with bootstrap intervals: python3 trend.py DATA_FOLDER OUT_FILE"""

import json
import random
import sys
from pathlib import Path

import wells

RESAMPLES = 4000
READINGS_MIN = 20


def counting(path):
    """Year and level of the readings that count."""
    by_date = {line.date: line for line in wells.read_file(path)}
    lines = [line for line in by_date.values() if line.flag == "ok" and line.level_cm is not None]
    start = min((line.date for line in lines), default=None)
    return [((line.date - start).days / 365.25, line.level_cm) for line in lines]


def slope(points):
    """Centimetres a year, by least squares."""
    count = len(points)
    sum_x = sum(x for x, _ in points)
    sum_y = sum(y for _, y in points)
    sum_xx = sum(x * x for x, _ in points)
    sum_xy = sum(x * y for x, y in points)
    return (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x)


def percentile(ordered, share):
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def interval(points, draw):
    """The 95 % interval of the slope."""
    slopes = sorted(slope(draw.choices(points, k=len(points))) for _ in range(RESAMPLES))
    return percentile(slopes, 0.025), percentile(slopes, 0.975)


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    draw = random.Random(1)
    result = {"wells": {}, "skipped": {}}
    try:
        for path in sorted(source.glob("*.csv")):
            points = counting(path)
            if len(points) < READINGS_MIN:
                result["skipped"][path.stem] = len(points)
                continue
            low, high = interval(points, draw)
            result["wells"][path.stem] = {
                "readings": len(points),
                "slope": round(slope(points), 4),
                "low": round(low, 4),
                "high": round(high, 4),
            }
    except wells.BadFile as error:
        sys.exit(str(error))
    target.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
PY
python3 -B trend.py data trend.json
