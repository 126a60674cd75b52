#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Checks the delivered page and runs the program on exports that nobody has seen before."""

import csv
import hashlib
import html.parser
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

APP = Path("/app")
# The exports as the till wrote them: start of the SHA-256 of each.
EXPORTS = {
    "till-2025-10.csv": "068e42d0c69a415bf8c09f3bebf44832",
    "till-2025-11.csv": "889e035cb0c8d29f7d5813f4953ada42",
    "till-2025-12.csv": "75b447a27f91a5ad5428daf9da88eef6",
    "till-2026-01.csv": "080d881b0e8e0b89c5b69e60dddfd041",
    "till-2026-02.csv": "8182c3139bb72b0e4ac5015f4d1f67f1",
    "till-2026-03.csv": "f2125f8ec7fb558dff39f98cb1ffa788",
}
HEAD = ["Receipt", "Pos", "Date", "Time", "Article", "Group", "Qty", "Price", "Status"]


class Page(html.parser.HTMLParser):
    """Rows of cell texts of each table with an id, and every id of the page."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tables, self.ids = {}, set()
        self._table = self._cell = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        name = dict(attrs).get("id")
        if name:
            self.ids.add(name)
        if tag == "table":
            self._table = self.tables.setdefault(name, [])
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in ("td", "th") and self._table:
            self._table[-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th", "tr"):
            self._cell = None
        elif tag == "table":
            self._table = self._cell = None

    def handle_data(self, data):
        if self._cell and self._table and self._table[-1]:
            self._table[-1][-1] += data

    def rows(self, name):
        """The rows below the header row, with outer and doubled white space removed."""
        rows = [[" ".join(cell.split()) for cell in row] for row in self.tables[name]]
        return [row for row in rows if row][1:]


def expected(folder: Path):
    """The rows of both tables, worked out from the raw fields of the exports."""
    lines = {}
    for path in folder.glob("*.csv"):
        text = path.read_bytes().decode("cp1252")
        for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=";"):
            lines[row["Receipt"], row["Pos"]] = row
    receipts, months, groups = defaultdict(set), defaultdict(Decimal), defaultdict(Decimal)
    for row in lines.values():
        if row["Status"] == "VOID":
            continue
        day, month, year = row["Date"].split(".")
        price = Decimal(row["Price"].replace(".", "").replace(",", "."))
        amount = int(row["Qty"]) * price * (-1 if row["Status"] == "REFUND" else 1)
        receipts[f"{year}-{month}"].add(row["Receipt"])
        months[f"{year}-{month}"] += amount
        groups[" ".join(row["Group"].split()) or "Other"] += amount
    return (
        [[m, str(len(receipts[m])), f"{months[m]:.2f}"] for m in sorted(months)],
        [[g, f"{t:.2f}"] for g, t in sorted(groups.items(), key=lambda i: (-i[1], i[0]))],
    )


def write_exports(folder: Path, seed: int, months: int):
    """Random exports in the till's manner: overlaps, void receipts, refunds, odd names."""
    draw = random.Random(seed)
    groups = ["Tools", "Töpfe & Schalen", "", "<b>Sale</b>", 'Say "hello"', "A;B", "Zinnias"]
    files, receipt = [], draw.randint(1, 9000)
    for month in range(months):
        year, number = 2024 + (10 + month) // 12, (10 + month) % 12 + 1
        rows = []
        for _ in range(draw.randint(4, 12)):
            receipt += draw.randint(1, 3)
            date = f"{draw.randint(1, 28):02}.{number:02}.{year}"
            whole = draw.choice([None, None, None, "VOID", "REFUND"])
            for pos in range(1, draw.randint(2, 5)):
                cents = draw.choice([5, 99, 1250, 99999, 125000, 123456789])
                whole_part = f"{cents // 100:,}".replace(",", ".")
                status = whole or draw.choice(["SALE", "SALE", "SALE", "VOID", "REFUND"])
                price = f"{whole_part},{cents % 100:02}"
                rows.append([receipt, pos, date, "10:05", "Thing; 1", draw.choice(groups),
                             draw.randint(1, 9), price, status])
        files.append((f"till-{year}-{number:02}.csv", rows))
    # Two groups with the same total, so that the order of equals is seen.
    for name in ("Quince", "Pear"):
        receipt += 1
        files[0][1].append([receipt, 1, "03.11.2024", "10:05", "x", name, 1, "77,70", "SALE"])
    folder.mkdir()
    for index, (name, rows) in enumerate(files):
        later = files[index + 1][1] if index + 1 < len(files) else []
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
        writer.writerows([HEAD, *rows, *later[: draw.randint(0, 6)]])
        (folder / name).write_bytes(text.getvalue().encode("cp1252"))
    (folder / "notes.txt").write_text("not an export\n")


class Report(unittest.TestCase):
    def assert_page(self, path: Path, folder: Path):
        page = Page(path.read_text(encoding="utf-8"))
        months, groups = expected(folder)
        self.assertEqual(page.rows("months"), months)
        self.assertEqual(page.rows("groups"), groups)
        self.assertIn("chart", page.ids)

    def setUp(self):
        self.work = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def run_program(self, export: Path, out: Path):
        done = subprocess.run(
            ["python3", "-B", "make_report.py", str(export), str(out)],
            cwd=APP, timeout=60, capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.work), "LANG": "C.UTF-8"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_delivered_page(self):
        found = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:32]
            for path in (APP / "export").glob("*.csv")
        }
        self.assertEqual(found, EXPORTS)
        self.assert_page(APP / "out" / "report.html", APP / "export")

    def test_other_exports(self):
        for seed, months in [(7, 1), (11, 5), (2026, 14)]:
            with self.subTest(seed=seed):
                export, out = self.work / f"in{seed}", self.work / f"new{seed}" / "out"
                write_exports(export, seed, months)
                self.run_program(export, out)
                self.assert_page(out / "report.html", export)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Report)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 2))
