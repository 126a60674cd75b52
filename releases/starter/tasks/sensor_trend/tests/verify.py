#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Compares the delivered trends, and those of wells that nobody has seen, with reference values.

Slopes are worked out here. The intervals were worked out beforehand with 40,000 draws; those of 4000
draws lie nearer than the tolerance, a 90 % interval or one from a formula does not.
"""

import datetime
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

APP = Path("/app")
# Share of half the interval's width by which a bound may differ.
TOLERANCE = 0.13
HEAD = "date,level_cm,flag"
# The data as the keepers wrote them: start of the SHA-256 of each.
DATA = {
    "README.txt": "ba0cf1080e1d248f4df177f6",
    "alder.csv": "b567fb8fbe4093ebaaab5e46",
    "birch.csv": "1b170ed33b39ffa8fd9947e7",
    "cedar.csv": "8fcd7c0a377c5e7894cb732a",
    "dogwood.csv": "40b7a2200dd2b38e2dd95c01",
    "elm.csv": "71eb6a1c24ad9416991497e1",
}
# Bounds by well: delivered ones by name, others by seed and number.
BOUNDS = {
    "alder": (-8.3085, -4.9423),
    "birch": (-3.8524, 0.1996),
    "cedar": (-10.7393, -6.3807),
    "dogwood": (1.1131, 4.9772),
    "w5-0": (-9.5227, 14.2346),
    "w5-1": (-19.0037, -2.7033),
    "w6-0": (-1.2572, 10.8078),
    "w6-1": (-9.9862, 16.4122),
}


def lines_of(draw, count, shape):
    """Random lines of a well: most of them count, some dates are corrected, not always for the better."""
    day, lines = datetime.date(2019, 12, 30), []
    for index in range(count):
        day += datetime.timedelta(days=7 * (1 + int(draw.random() * 1.3)))
        years = index / 40
        # The spread grows over the years, so that formulas with one spread for all are wrong.
        noise = (draw.random() + draw.random() - 1) * shape["noise"] * (0.2 + years * years)
        level = f"{shape['base'] + shape['slope'] * years + noise:.1f}"
        lot = draw.random()
        flag = "suspect" if lot < 0.05 else "maintenance" if lot < 0.08 else "ok"
        lines.append([day.isoformat(), "" if 0.9 < lot < 0.94 else level, flag])
    for _ in range(count // 12):
        date, level, _ = lines[int(draw.random() * count)]
        lot = draw.random()
        wild = f"{shape['base'] + 300 * (draw.random() - 0.5):.1f}"
        if lot < 0.4:
            lines.append([date, wild, "ok"])
        elif lot < 0.7:
            lines.append([date, wild, "suspect"])
        else:
            lines.append([date, "", "ok"])
    return lines


def counting(lines):
    """Days and levels of the readings that count."""
    newest = {}
    for date, level, flag in lines:
        newest[date] = (level, flag)
    return [(datetime.date.fromisoformat(date).toordinal(), float(level))
            for date, (level, flag) in newest.items() if flag == "ok" and level]


def slope(points):
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return 365.25 * (sum((x - mean_x) * (y - mean_y) for x, y in points)
                     / sum((x - mean_x) ** 2 for x, _ in points))


def other_wells(seed):
    """Lines of wells by name."""
    draw = random.Random(seed)
    found = {}
    for number in range(2):
        shape = {"base": 200 + 300 * draw.random(), "slope": 20 * (draw.random() - 0.6),
                 "noise": 5 + 20 * draw.random()}
        lines = lines_of(draw, 60 + int(60 * draw.random()), shape)
        if number == 1:
            lines.reverse()
        found[f"w{seed}-{number}"] = lines
    return found


def file_text(lines):
    return "\n".join([HEAD, *(",".join(line) for line in lines)]) + "\n"


class Trend(unittest.TestCase):
    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def run_program(self, folder, out):
        return subprocess.run(
            ["python3", "-B", "-s", "trend.py", str(folder), str(out)],
            cwd=APP, timeout=100, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.work), "LANG": "C.UTF-8"},
        )

    def folder(self, name, texts):
        path = self.work / name
        path.mkdir()
        for well, text in texts.items():
            (path / f"{well}.csv").write_text(text, encoding="utf-8")
        (path / "notes.txt").write_text("no readings\n")
        return path

    def assert_wells(self, found, lines_by_well):
        points = {well: counting(lines) for well, lines in lines_by_well.items()}
        enough = {well for well, some in points.items() if len(some) >= 20}
        self.assertEqual(found["skipped"], {w: len(p) for w, p in points.items() if w not in enough})
        self.assertEqual(set(found["wells"]), enough)
        for well in enough:
            one, wanted = found["wells"][well], slope(points[well])
            with self.subTest(well):
                self.assertEqual(one["readings"], len(points[well]))
                self.assertAlmostEqual(one["slope"], wanted, delta=0.00015)
                for key in ("slope", "low", "high"):
                    self.assertEqual(one[key], round(one[key], 4))
                low, high = BOUNDS[well]
                near = TOLERANCE * (high - low) / 2
                self.assertAlmostEqual(one["low"], low, delta=near)
                self.assertAlmostEqual(one["high"], high, delta=near)

    def test_delivered(self):
        found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:24]
                 for path in (APP / "data").iterdir()}
        self.assertEqual(found, DATA)
        lines = {path.stem: [line.split(",") for line in path.read_text().splitlines()[1:]]
                 for path in (APP / "data").glob("*.csv")}
        self.assert_wells(json.loads((APP / "trend.json").read_text(encoding="utf-8")), lines)

    def test_other_wells(self):
        lines = {**other_wells(5), **other_wells(6)}
        folder = self.folder("other", {well: file_text(some) for well, some in lines.items()})
        done = self.run_program(folder, self.work / "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_wells(json.loads((self.work / "out.json").read_text(encoding="utf-8")), lines)

    def test_few_readings(self):
        days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=7 * n) for n in range(22)]
        level = [[day.isoformat(), f"{100 - 2 * n}.0", "ok"] for n, day in enumerate(days)]
        texts = {
            "twenty": level[:20],
            "corrected": [*level[:20], [level[3][0], "", "ok"]],
            "flagged": [*level[:19], [level[19][0], "50.0", "suspect"], [level[20][0], "", "ok"]],
            "none": [],
            "back": [*level[:20], [level[3][0], "", "ok"], [level[3][0], level[3][1], "ok"]],
        }
        folder = self.folder("few", {well: file_text(lines) for well, lines in texts.items()})
        done = self.run_program(folder, self.work / "few.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads((self.work / "few.json").read_text(encoding="utf-8"))
        self.assertEqual(found["skipped"], {"corrected": 19, "flagged": 19, "none": 0})
        # These lie on a line, so that chance has no part in them.
        exact = round(-2 * 365.25 / 7, 4)
        one = {"readings": 20, "slope": exact, "low": exact, "high": exact}
        self.assertEqual(found["wells"], {"twenty": one, "back": one})

    def test_bad_files(self):
        good = file_text([["2024-01-01", "5.0", "ok"]])
        for bad, message in [(HEAD + "\n2024-01-01,x,ok\n", "oak.csv, line 2"), ("date\n", "oak.csv")]:
            folder = self.folder(f"bad{len(bad)}", {"ash": good, "oak": bad, "yew": good})
            done = self.run_program(folder, self.work / "bad.json")
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
            self.assertFalse((self.work / "bad.json").exists())


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Trend)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 4))
