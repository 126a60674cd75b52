# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Compares the invoices of the sample orders. Run from the top: python3 -m unittest discover -s tests"""

import json
import sys
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP))
sys.dont_write_bytecode = True

import invoice


class Samples(unittest.TestCase):
    def test_samples(self):
        for path in sorted((TOP / "orders").glob("*.json")):
            with self.subTest(path.name):
                order = json.loads(path.read_text(encoding="utf-8"))
                expected = path.with_suffix(".txt").read_text(encoding="utf-8")
                self.assertEqual(invoice.render(order), expected.split("\n", 1)[1])

    def test_refused(self):
        with self.assertRaisesRegex(invoice.OrderError, "order without date"):
            invoice.render({"number": "1"})


if __name__ == "__main__":
    unittest.main()
