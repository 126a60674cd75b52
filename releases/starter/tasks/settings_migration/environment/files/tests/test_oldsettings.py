#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Tests of the reader. Run from /app: python3 -m unittest discover -s tests"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import oldsettings


class Parse(unittest.TestCase):
    def test_sections_in_pieces(self):
        text = "; a note\n[a]\nx = 1\n\n[b]\ny=2 = 3\n[ a ]\nz =\n"
        self.assertEqual(oldsettings.parse(text), {"a": {"x": "1", "z": ""}, "b": {"y": "2 = 3"}})

    def test_bad_lines(self):
        for text in ["x = 1", "[a]\nx", "[a]\n= 1", "[a]\nx = 1\nx = 2"]:
            with self.subTest(text), self.assertRaises(oldsettings.BadSettings):
                oldsettings.parse(text)


if __name__ == "__main__":
    unittest.main()
