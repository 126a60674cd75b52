#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Builds the page from contents of its own in a copy of /app and looks at what a visitor would see."""

import html.parser
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

APP = pathlib.Path("/app")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ("January February March April May June July August September October November "
          "December").split()
ODD = 'Ferns & <friends> {{claim}} {{plants}} {name} "quoted" \\1 it\'s &amp; 100 %'


class Node:
    """An element with its children; text stands among them as strings."""

    def __init__(self, tag, attrs, parent=None):
        self.tag, self.attrs, self.parent, self.children = tag, attrs, parent, []

    def elements(self):
        return [child for child in self.children if isinstance(child, Node)]

    def walk(self):
        for child in self.elements():
            yield child
            yield from child.walk()

    def all(self, *tags):
        return [node for node in self.walk() if node.tag in tags]

    def by_id(self, name):
        found = [node for node in self.walk() if node.attrs.get("id") == name]
        assert len(found) == 1, f"{len(found)} elements with the id {name}"
        return found[0]

    def text(self):
        parts = (c if isinstance(c, str) else c.text() for c in self.children)
        return " ".join("".join(parts).split())


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = self.here = Node("", {})
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        node = Node(tag, {name: value or "" for name, value in attrs}, self.here)
        self.here.children.append(node)
        if tag not in VOID:
            self.here = node

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        node = self.here
        while node.parent and node.tag != tag:
            node = node.parent
        if node.parent:
            self.here = node.parent

    def handle_data(self, data):
        self.here.children.append(data)


def load(root, name):
    return json.loads((root / "content" / f"{name}.json").read_text(encoding="utf-8"))


def save(root, name, value):
    path = root / "content" / f"{name}.json"
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def rows(week):
    times = [", ".join(f"{a}\u2013{b}" for a, b in week[day.lower()]) or "closed" for day in DAYS]
    found = []
    for time, run in itertools.groupby(zip(DAYS, times), key=lambda pair: pair[1]):
        days = [day for day, _ in run]
        found.append([days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}", time])
    return found


def items(closed):
    found = []
    for one in sorted(closed, key=lambda one: one["date"]):
        year, month, day = map(int, one["date"].split("-"))
        found.append(f"{day} {MONTHS[month - 1]} {year}: {' '.join(one['why'].split())}")
    return found


WEEKS = [
    {day.lower(): [] for day in DAYS},
    {day.lower(): [["08:00", "09:05"]] for day in DAYS},
    {day.lower(): [["10:00", "12:00"], ["13:00", "15:00"]] if n in (0, 1, 3, 6) else [["10:00", "12:00"]] if n == 2 else []
     for n, day in enumerate(DAYS)},
]
CLOSED = [
    [],
    [{"date": "2026-03-01", "why": "Spring & sun <3"}],
    [{"date": "2027-10-02", "why": "c"}, {"date": "2026-11-30", "why": "b"}, {"date": "2026-02-09", "why": "a's"}],
]


class Landing(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp()) / "copy"
        self.addCleanup(shutil.rmtree, self.work.parent, ignore_errors=True)
        shutil.copytree(APP, self.work, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".git"))

    def build(self):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.work.parent), "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["python3", "-B", "-s", "build.py"],
            cwd=self.work, env=env, timeout=50, capture_output=True, text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return Page((self.work / "public" / "index.html").read_text(encoding="utf-8")).root

    def has_hours(self, page):
        given = load(self.work, "hours")
        visit, section = page.by_id("visit"), page.by_id("hours")
        self.assertEqual(section.tag, "section")
        neighbours = visit.parent.elements()
        self.assertIs(neighbours[neighbours.index(visit) + 1], section)
        headings = section.all("h1", "h2", "h3", "h4", "h5", "h6")
        self.assertEqual([h.text() for h in headings], ["Opening hours"])
        self.assertEqual(headings[0].tag, visit.all("h1", "h2", "h3", "h4", "h5", "h6")[0].tag)
        self.assertIn("clock.svg", [i.attrs.get("src", "").removeprefix("./") for i in section.all("img")])
        tables = section.all("table")
        self.assertEqual(len(tables), 1)
        found = []
        for row in tables[0].all("tr"):
            cells = row.all("th", "td")
            if any(cell.tag == "td" for cell in cells):
                self.assertEqual([cell.tag for cell in cells], ["th", "td"])
                found.append([cell.text() for cell in cells])
        self.assertEqual(found, rows(given["week"]))
        lists = section.all("ul")
        wanted = items(given["closed_on"])
        self.assertEqual([[i.text() for i in one.all("li")] for one in lists], [wanted] if wanted else [])
        if lists:
            order = list(section.walk())
            self.assertGreater(order.index(lists[0]), order.index(tables[0]))

    def has_the_rest(self, page):
        site, plants = load(self.work, "site"), load(self.work, "plants")["plants"]
        plain = lambda text: " ".join(text.split())
        header = page.all("header")[0]
        self.assertEqual([h.text() for h in page.all("h1")], [plain(site["name"])])
        self.assertEqual(page.all("title")[0].text(), plain(site["name"]))
        self.assertIn(plain(site["claim"]), [p.text() for p in header.all("p")])
        links = [(a.text(), a.attrs.get("href")) for a in page.all("nav")[0].all("a")]
        self.assertEqual(links, [("Plants", "#plants"), ("Visit", "#visit"), ("Opening hours", "#hours")])
        self.assertEqual([p.text() for p in page.by_id("visit").all("p")], [plain(site["address"]), plain(site["way"])])
        self.assertEqual([p.text() for p in page.all("footer")[0].all("p")], [plain(site["thanks"])])
        shown = page.by_id("plants").all("article")
        self.assertEqual(len(shown), len(plants))
        for article, plant in zip(shown, plants):
            self.assertEqual(article.all("h2", "h3", "h4", "h5", "h6")[0].text(), plain(plant["name"]))
            self.assertEqual([p.text() for p in article.all("p")], [plain(plant["latin"]), plain(plant["text"])])
            self.assertEqual([i.attrs.get("src") for i in article.all("img")], [plant["picture"]])
        pictures = [i.attrs.get("src", "") for i in page.all("img")]
        for name in ("glasshouse.svg", "map.svg"):
            self.assertEqual(pictures.count(name), 1)
        sheets = [link.attrs.get("href") for link in page.all("link") if link.attrs.get("rel") == "stylesheet"]
        for name in ("tokens.css", "site.css"):
            self.assertIn(name, sheets)

    def test_as_it_is(self):
        page = self.build()
        self.has_hours(page)
        self.has_the_rest(page)

    def test_other_hours(self):
        for week in WEEKS:
            for closed in CLOSED:
                with self.subTest(week=rows(week), closed=closed):
                    given = load(self.work, "hours")
                    save(self.work, "hours", given | {"week": week, "closed_on": closed})
                    self.has_hours(self.build())

    def test_odd_texts(self):
        site, plants = load(self.work, "site"), load(self.work, "plants")
        for number, name in enumerate(["name", "claim", "address", "way", "thanks"]):
            site[name] = f"{number} {ODD}"
        plants["plants"].append(dict(plants["plants"][0]))
        for number, plant in enumerate(plants["plants"]):
            for name in ("name", "latin", "text"):
                plant[name] = f"{number} {name} {ODD}"
        save(self.work, "site", site)
        save(self.work, "plants", plants)
        hours = load(self.work, "hours")
        hours["closed_on"] = [{"date": "2026-12-05", "why": ODD}]
        save(self.work, "hours", hours)
        page = self.build()
        self.has_the_rest(page)
        self.has_hours(page)

    def test_stripes(self):
        self.build()
        css = re.sub(r"/\*.*?\*/", "", (self.work / "public" / "site.css").read_text(encoding="utf-8"), flags=re.S)
        rules = re.findall(r"([^{}]+)\{([^{}]*)\}", css)
        wanted = "#hours tr:nth-child(even)"
        found = [
            body for selectors, body in rules
            if wanted in [" ".join(re.sub(r"\(\s*even\s*\)", "(even)", one).split()) for one in selectors.split(",")]
        ]
        self.assertTrue(any(re.search(r"(^|[;\s])background(-color)?\s*:\s*[^;\s]", body) for body in found))

    def test_public_is_fresh(self):
        before = {p.relative_to(APP / "public"): p.read_bytes() for p in (APP / "public").rglob("*") if p.is_file()}
        self.build()
        public = self.work / "public"
        after = {p.relative_to(public): p.read_bytes() for p in public.rglob("*") if p.is_file()}
        self.assertEqual(before, after)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Landing)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 5))
