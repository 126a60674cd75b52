#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Compares the program given as argument with a plain list, over the note's stories and random days."""

import random
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
PLACES, QTY_MAX = 32, 9999


class Model:
    """The shelf as it should be: a list of [name, quantity]."""

    def __init__(self):
        self.parts = []

    def find(self, name):
        return next((part for part in self.parts if part[0] == name), None)

    def add(self, name, qty):
        part = self.find(name)
        if part is None and len(self.parts) == PLACES:
            return ["error: the shelf is full"]
        if part is None:
            self.parts.append([name, qty])
        elif part[1] + qty > QTY_MAX:
            return [f"error: too many of {name}"]
        else:
            part[1] += qty
        return []

    def take(self, name, qty):
        part = self.find(name)
        if part is None:
            return [f"error: no {name} on the shelf"]
        if part[1] < qty:
            return [f"error: only {part[1]} of {name}"]
        part[1] -= qty
        if part[1] == 0:
            self.parts.remove(part)
        return []

    def drop(self, name):
        part = self.find(name)
        if part is None:
            return [f"error: no {name} on the shelf"]
        self.parts.remove(part)
        return []

    def front(self, name):
        part = self.find(name)
        if part is None:
            return [f"error: no {name} on the shelf"]
        self.parts.remove(part)
        self.parts.insert(0, part)
        return []

    def reverse(self):
        self.parts.reverse()
        return []

    def list(self):
        return [f"{name} {qty}" for name, qty in self.parts]

    def count(self):
        return [f"count {len(self.parts)}"]

    def total(self):
        return [f"total {sum(qty for _, qty in self.parts)}"]


def random_day(draw, length, names):
    """Commands and what is to be printed; parts at both ends are taken out more often than others."""
    model, lines, expected = Model(), [], []
    for _ in range(length):
        ends = [model.parts[0], model.parts[-1]] if model.parts else []
        name, qty = draw.choice(names), draw.randint(1, 9)
        command = draw.choice([("add", name, qty)] * 5 + [
            ("take", name, qty), ("drop", name), ("front", name), ("reverse",),
            ("list",), ("count",), ("total",),
        ] + [("take", *end) for end in ends] + [("front", end[0]) for end in ends]
          + [("drop", end[0]) for end in ends])
        lines.append(" ".join(str(word) for word in command))
        expected += getattr(model, command[0])(*command[1:])
    lines += ["list", "count", "total"]
    return lines, expected + model.list() + model.count() + model.total()


class Shelf(unittest.TestCase):
    def prints(self, lines):
        done = subprocess.run([PROGRAM], input="\n".join(lines) + "\n", capture_output=True,
                              text=True, timeout=10)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_the_note(self):
        stories = {
            "end": (["add a 1", "add b 2", "take b 2", "add c 3", "add d 4", "list", "count"],
                    ["a 1", "c 3", "d 4", "count 3"]),
            "reverse": (["add a 1", "add b 2", "add c 3", "reverse", "add d 4", "list"],
                        ["c 3", "b 2", "a 1", "d 4"]),
            "front": (["add a 1", "add b 2", "front b", "add c 3", "list"], ["b 2", "a 1", "c 3"]),
            "alone": (["add a 1", "front a", "add b 2", "list"], ["a 1", "b 2"]),
        }
        for name, (lines, expected) in stories.items():
            with self.subTest(name):
                self.assertEqual(self.prints(lines), expected)

    def test_random_days(self):
        for seed in range(150):
            draw = random.Random(seed)
            names = [f"part{i}" for i in range(draw.choice([2, 3, 6, 50]))]
            lines, expected = random_day(draw, draw.choice([12, 60, 400]), names)
            with self.subTest(seed=seed):
                self.assertEqual(self.prints(lines), expected)

    def test_no_place_is_lost(self):
        lines = []
        for i in range(100):
            lines += [f"add first{i} 1", f"add second{i} 1", f"drop second{i}", "reverse",
                      f"add third{i} 1", f"take third{i} 1", f"drop first{i}"]
        self.assertEqual(self.prints(lines + ["count"]), ["count 0"])
        lines += [f"add p{i} {i + 1}" for i in range(PLACES)] + ["add more 1", "count", "total"]
        self.assertEqual(self.prints(lines), ["error: the shelf is full", "count 32", "total 528"])

    def test_what_is_refused(self):
        lines = ["", "# add x 1", "add", "add a", "add a 0", "add a 10000", "add a 1x", "take a 1",
                 "add a 9999", "add a 1", "jump", "add " + 24 * "n" + " 1", "drop", "list"]
        self.assertEqual(self.prints(lines), [
            "error: add needs a name of up to 23 characters",
            *["error: add needs a quantity from 1 to 9999"] * 4,
            "error: no a on the shelf",
            "error: too many of a",
            "error: what is jump",
            "error: add needs a name of up to 23 characters",
            "error: drop needs a name of up to 23 characters",
            "a 9999",
        ])


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Shelf)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(not (result.wasSuccessful() and result.testsRun == 4))
