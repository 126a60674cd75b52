#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Tests of the operations, each in a fresh database in memory."""

import datetime
import unittest

from stockroom import Refused, Stockroom

MONDAY = datetime.date(2026, 2, 16)
FRIDAY = datetime.date(2026, 2, 20)


class Room(unittest.TestCase):
    def setUp(self):
        self.room = Stockroom(":memory:")
        self.addCleanup(self.room.close)
        self.room.receive("bolt", 10)

    def figures(self, sku="bolt"):
        level = next(level for level in self.room.levels() if level.sku == sku)
        return level.on_hand, level.reserved, level.available

    def test_receive(self):
        self.room.receive("bolt", 5)
        self.room.receive("nut", 1)
        self.assertEqual(self.figures(), (15, 0, 15))
        self.assertEqual(self.figures("nut"), (1, 0, 1))

    def test_reserve_holds_back(self):
        self.room.reserve("bolt", 8, FRIDAY)
        self.assertEqual(self.figures(), (10, 8, 2))
        with self.assertRaisesRegex(Refused, "only 2 of bolt"):
            self.room.reserve("bolt", 3, FRIDAY)
        self.assertEqual(self.figures(), (10, 8, 2))

    def test_ship_in_parts(self):
        number = self.room.reserve("bolt", 8, FRIDAY)
        self.room.ship(number, 3)
        self.assertEqual(self.figures(), (7, 5, 2))
        self.room.ship(number, 5)
        self.assertEqual(self.figures(), (2, 0, 2))
        with self.assertRaisesRegex(Refused, "is shipped"):
            self.room.ship(number, 1)

    def test_ship_too_much_changes_nothing(self):
        number = self.room.reserve("bolt", 8, FRIDAY)
        with self.assertRaisesRegex(Refused, "waits for 8"):
            self.room.ship(number, 9)
        self.assertEqual(self.figures(), (10, 8, 2))

    def test_cancel(self):
        number = self.room.reserve("bolt", 8, FRIDAY)
        self.room.cancel(number)
        self.assertEqual(self.figures(), (10, 0, 10))
        with self.assertRaisesRegex(Refused, "is cancelled"):
            self.room.cancel(number)

    def test_expire(self):
        self.room.receive("nut", 4)
        self.room.reserve("bolt", 2, MONDAY)
        self.room.reserve("bolt", 3, MONDAY)
        self.room.reserve("nut", 4, FRIDAY)
        self.assertEqual(self.room.expire(MONDAY), 0)
        self.assertEqual(self.room.expire(FRIDAY), 2)
        self.assertEqual(self.figures(), (10, 0, 10))
        self.assertEqual(self.figures("nut"), (4, 4, 0))

    def test_unknown_things(self):
        for call in [lambda: self.room.reserve("nail", 1, FRIDAY), lambda: self.room.ship(9, 1),
                     lambda: self.room.cancel(9), lambda: self.room.receive("bolt", 0)]:
            with self.assertRaises(Refused):
                call()
