#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Compares the delivered settings, and conversions of settings that nobody has seen, with a model."""

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
# The old settings as the stations wrote them: start of the SHA-256 of each.
OLD = {
    "harbour-north.ini": "f5a81b3192fad546294b39bf",
    "harbour-south.ini": "c732d1f71884e03ea81977a7",
    "market-hall.ini": "607c4427369a642acedafec6",
    "museum.ini": "eddc54b0fad20bf9625d9453",
    "old-mill.ini": "6dc0444b1ea87b7e437b19bb",
    "station-square.ini": "06cad2772e720ffd8cfac454",
    "university.ini": "7a7ff88d713431754dae52cf",
}
PLACES = [
    ("station", "name", "name", "text"),
    ("station", "id", "id", "number"),
    ("network", "host", "host", "text"),
    ("network", "port", "port", "number"),
    ("network", "retry", "retry_seconds", "duration"),
    ("doors", "sizes", "sizes", "list"),
    ("doors", "open_for", "open_seconds", "duration"),
    ("doors", "alarm", "alarm", "switch"),
    ("display", "language", "language", "text"),
    ("display", "brightness", "brightness", "number"),
]
PARTS = ["station", "network", "doors", "display"]
# Values of each form with what they become; None where they are not of the form.
VALUES = {
    "text": [("Zürich, West", "Zürich, West"), ("", ""), ("a = b ; c", "a = b ; c"), ("yes", "yes"),
             ('say "hi" \\n', 'say "hi" \\n'), ("12", "12")],
    "number": [("0", 0), ("7", 7), ("65535", 65535), ("007", None), ("-1", None), ("1.5", None),
               ("", None), ("+4", None), ("1_000", None), ("\u0663", None), ("12 ", 12)],
    "duration": [("0s", 0), ("90s", 90), ("5m", 300), ("2h", 7200), ("30", None), ("05m", None),
                 ("5M", None), ("5 m", None), ("", None), ("m", None), ("1d", None), ("1.5h", None)],
    "list": [("S", ["S"]), ("S, M ,L", ["S", "M", "L"]), ("a b,c", ["a b", "c"]), ("S,,M", None),
             ("", None), ("S,", None), (",", None)],
    "switch": [("yes", True), ("YES", True), ("On", True), ("no", False), ("oFF", False),
               ("true", None), ("1", None), ("", None)],
}
OTHERS = [("quiet", "from"), ("quiet", "to"), ("Station", "name"), ("zoo", "x y"), ("station", "Name"),
          ("doors", "paint"), ("display", "name"), ("extra", "version"), ("network", "retry_seconds")]


def shown(form, value):
    """How `down` writes a new value."""
    if form == "duration":
        return f"{value}s"
    if form == "list":
        return ", ".join(value)
    if form == "switch":
        return {True: "yes", False: "no"}[value]
    return str(value)


def station(draw):
    """A random old file, its new content, what `down` makes of that, and the two counts."""
    lines = []
    for section, key, _, form in PLACES:
        if draw.random() < 0.8:
            value, new = draw.choice(VALUES[form])
            lines.append((section, key, value, new))
    for section, key in OTHERS:
        if draw.random() < 0.4:
            lines.append((section, key, draw.choice(["", "on", "17", "Ünder = way", "a;b"]), None))
    draw.shuffle(lines)
    text, last = "; head\n\n", None
    for section, key, value, _ in lines:
        if section != last:
            text += f"[{section}]\n"
        last = section
        text += draw.choice([f"{key} = {value}\n", f"  {key}={value}  \n", f"{key} = {value}\r\n",
                             f"# note\n{key} ={value}\n\n"])
    new, extra = {"version": 2}, {}
    # Sections of `extra` come in the order of the file, by where a section stands first.
    order = list(dict.fromkeys(section for section, *_ in lines))
    unknown = 0
    for section in order:
        for other, key, value, found in lines:
            if other == section and found is None:
                extra.setdefault(section, {})[key] = value.strip()
                unknown += 1
    for section, key, value, found in lines:
        if found is not None:
            name = next(name for s, k, name, _ in PLACES if (s, k) == (section, key))
            new.setdefault(section, {})[name] = found
    if extra:
        new["extra"] = extra
    return text, new, old_text(new), len(lines), unknown


def old_text(new):
    """What `down` writes for a new file."""
    extra = new.get("extra", {})
    blocks = []
    for section in PARTS + [name for name in extra if name not in PARTS]:
        lines = [f"[{section}]"]
        for part, key, name, form in PLACES:
            if part == section and name in new.get(section, {}):
                lines.append(f"{key} = {shown(form, new[section][name])}".rstrip())
        lines += [f"{key} = {value}".rstrip() for key, value in extra.get(section, {}).items()]
        if len(lines) > 1:
            blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def ordered(value):
    """JSON with the order of the keys of `extra` and its sections; that of all others does not count."""
    return json.dumps(value, sort_keys=True), json.dumps(value.get("extra"))


class Migration(unittest.TestCase):
    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def run_program(self, *arguments, code=0):
        done = subprocess.run(
            ["python3", "-B", "-s", "migrate.py", *map(str, arguments)],
            cwd=APP, timeout=60, capture_output=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.work), "LANG": "C.UTF-8"},
        )
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()

    def folder(self, name, files):
        path = self.work / name
        path.mkdir()
        for file, text in files.items():
            (path / file).write_bytes(text.encode("utf-8"))
        return path

    def test_delivered(self):
        found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:24]
                 for path in (APP / "settings").iterdir()}
        self.assertEqual(found, OLD)
        fresh = self.work / "fresh"
        self.assertEqual(self.run_program("up", APP / "settings", fresh),
                         ("files 7 settings 74 unknown 10\n", ""))
        new = {path.name: path.read_bytes() for path in (APP / "settings-v2").iterdir()}
        self.assertEqual(new, {path.name: path.read_bytes() for path in fresh.iterdir()})
        self.assertEqual(sorted(new), [name.replace(".ini", ".json") for name in sorted(OLD)])
        hall = json.loads(new["market-hall.json"])
        self.assertEqual(ordered(hall), ordered({
            "version": 2,
            "station": {"name": "Markthalle Süd"},
            "network": {"host": "lockers.example.org", "retry_seconds": 600},
            "doors": {"sizes": ["M", "L"], "open_seconds": 90, "alarm": False},
            "display": {"language": "de", "brightness": 100},
            "extra": {"station": {"id": "0042"}, "network": {"port": "auto"}},
        }))
        self.assertIn("Süd".encode("utf-8"), new["market-hall.json"])
        mill = json.loads(new["old-mill.json"])
        self.assertEqual(mill["extra"], {"display": {"Brightness": "55"}, "network": {"retry": "30"}})
        square = json.loads(new["station-square.json"])
        self.assertEqual(square["extra"], {
            "station": {"operator": 'night shift "B"'}, "doors": {"sizes": "S, M, , L"}})

    def test_other_stations_both_ways(self):
        for seed in range(12):
            with self.subTest(seed=seed):
                draw = random.Random(seed)
                stations = {f"s{index}": station(draw) for index in range(draw.randint(1, 9))}
                old = self.folder(f"old{seed}", {f"{n}.ini": s[0] for n, s in stations.items()})
                (old / "notes.txt").write_text("[not settings\n")
                new, back, again = (self.work / f"{name}{seed}" / "x" for name in ("new", "back", "again"))
                line = "files {} settings {} unknown {}\n".format(
                    len(stations), sum(s[3] for s in stations.values()), sum(s[4] for s in stations.values()))
                self.assertEqual(self.run_program("up", old, new), (line, ""))
                self.assertEqual(sorted(p.name for p in new.iterdir()), sorted(f"{n}.json" for n in stations))
                for name, (_, wanted, *_) in stations.items():
                    found = json.loads((new / f"{name}.json").read_bytes())
                    self.assertEqual(ordered(found), ordered(wanted))
                self.assertEqual(self.run_program("down", new, back), (line, ""))
                for name, (_, _, wanted, *_) in stations.items():
                    self.assertEqual((back / f"{name}.ini").read_bytes().decode("utf-8"), wanted)
                self.assertEqual(self.run_program("up", back, again), (line, ""))
                for name in stations:
                    first, second = (json.loads((f / f"{name}.json").read_bytes()) for f in (new, again))
                    self.assertEqual(json.dumps(first, sort_keys=True), json.dumps(second, sort_keys=True))

    def test_letters_and_types(self):
        new = self.work / "new"
        old = self.folder("old", {"a.ini": "[station]\nname = Größe 東\nid = 1\n[doors]\nalarm = on\n"})
        self.run_program("up", old, new)
        text = (new / "a.json").read_bytes().decode("utf-8")
        self.assertIn("Größe 東", text)
        found = json.loads(text)
        self.assertIs(found["doors"]["alarm"], True)
        self.assertIs(type(found["station"]["id"]), int)

    def test_bad_files_stop_everything(self):
        good = {"a.ini": "[station]\nname = x\n", "z.ini": "[station]\nname = y\n"}
        for bad in ["name = x\n", "[station]\nname\n", "[station]\nid = 1\nid = 2\n"]:
            self.stops("up", {**good, "m.ini": bad}, "m.ini")
        good = {"a.json": '{"version": 2}', "z.json": '{"version": 2, "doors": {"alarm": true}}'}
        for bad in ["{", "[]", '{"version": 1}', '{"station": {"name": "x"}}', '{"version": "2"}']:
            self.stops("down", {**good, "m.json": bad}, "m.json")

    def stops(self, way, files, name):
        source = Path(tempfile.mkdtemp(dir=self.work))
        for file, text in files.items():
            (source / file).write_text(text)
        target = source / "target"
        with self.subTest(text=files[name]):
            out, err = self.run_program(way, source, target, code=1)
            self.assertEqual(out, "")
            self.assertRegex(err, rf"^migrate: {name}: .")
            self.assertEqual(list(target.glob("*")) if target.exists() else [], [])


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Migration)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 4))
