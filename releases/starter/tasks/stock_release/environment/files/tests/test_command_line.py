#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Tests of the command line, through a real process and a real file."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.database = str(Path(folder.name) / "stock.db")

    def call(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", "stockroom", self.database, *arguments],
            cwd=ROOT, capture_output=True, text=True,
        )
        return done.returncode, done.stdout, done.stderr

    def test_a_day(self):
        self.assertEqual(self.call("receive", "bolt", "10"), (0, "", ""))
        self.assertEqual(self.call("reserve", "bolt", "4", "--until", "2026-02-20"), (0, "1\n", ""))
        self.assertEqual(self.call("ship", "1", "4"), (0, "", ""))
        self.assertEqual(self.call("expire", "2026-03-01"), (0, "0\n", ""))
        self.assertEqual(self.call("levels"), (0, "bolt 6 0 6\n", ""))

    def test_refusal(self):
        self.assertEqual(self.call("ship", "1", "4"), (1, "", "stockroom: no reservation 1\n"))
