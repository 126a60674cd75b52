#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Tests of the reader. Run from /app: python3 -m unittest discover -s tests"""

import datetime
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import wells


class ReadFile(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "oak.csv"
            path.write_text(text, encoding="utf-8")
            return wells.read_file(path)

    def test_lines(self):
        lines = self.read("date,level_cm,flag\n2025-01-06,412.5,ok\n2025-01-13,,suspect\n")
        self.assertEqual(lines, [
            wells.Reading(datetime.date(2025, 1, 6), 412.5, "ok"),
            wells.Reading(datetime.date(2025, 1, 13), None, "suspect"),
        ])

    def test_bad_files(self):
        for text in ["", "day,level_cm,flag\n", "date,level_cm,flag\n2025-01-06,4,good\n",
                     "date,level_cm,flag\n2025-13-06,4,ok\n", "date,level_cm,flag\n2025-01-06,nan,ok\n"]:
            with self.subTest(text), self.assertRaises(wells.BadFile):
                self.read(text)


if __name__ == "__main__":
    unittest.main()
