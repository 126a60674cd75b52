#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Tests of the reader. Run from /app: python3 -m unittest discover -s tests"""

import datetime
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import tillread

HEAD = "Receipt;Pos;Date;Time;Article;Group;Qty;Price;Status\r\n"


class ReadFile(unittest.TestCase):
    def read(self, body: str) -> list[tillread.Line]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "till-2026-01.csv"
            path.write_bytes((HEAD + body).encode("cp1252"))
            return tillread.read_file(path)

    def test_a_line(self):
        lines = self.read("17;2;05.01.2026;09:41;Rake;Tools;3;12,50;SALE\r\n")
        self.assertEqual(
            lines,
            [
                tillread.Line(
                    receipt=17,
                    pos=2,
                    when=datetime.datetime(2026, 1, 5, 9, 41),
                    article="Rake",
                    group="Tools",
                    qty=3,
                    price=Decimal("12.50"),
                    status="SALE",
                )
            ],
        )

    def test_quoted_fields_and_windows_text(self):
        line = self.read('1;1;05.01.2026;09:41;"Pot ""Siena""; 20 cm";Töpfe;1;9,90;SALE\r\n')[0]
        self.assertEqual((line.article, line.group), ('Pot "Siena"; 20 cm', "Töpfe"))

    def test_thousands(self):
        self.assertEqual(tillread.money("1.250,00"), Decimal("1250.00"))

    def test_bad_lines_are_named(self):
        for body in ["1;1;05.01.2026;09:41;Rake;Tools;x;9,90;SALE\r\n", "1;1\r\n",
                     "1;1;05.01.2026;09:41;Rake;Tools;1;9,90;LOST\r\n"]:
            with self.subTest(body), self.assertRaisesRegex(tillread.BadExport, "line 2"):
                self.read(body)

    def test_another_head_line_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.csv"
            path.write_text("a;b\r\n")
            with self.assertRaises(tillread.BadExport):
                tillread.read_file(path)


if __name__ == "__main__":
    unittest.main()
