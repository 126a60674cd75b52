#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""The command line of the stockroom: python3 -m stockroom DATABASE COMMAND ..."""

import argparse
import datetime
import sys

from stockroom import Refused, Stockroom


def main() -> int:
    arguments = _parser().parse_args()
    room = Stockroom(arguments.database)
    try:
        _run(room, arguments)
    except Refused as reason:
        print(f"stockroom: {reason}", file=sys.stderr)
        return 1
    finally:
        room.close()
    return 0


def _run(room: Stockroom, arguments: argparse.Namespace) -> None:
    match arguments.command:
        case "receive":
            room.receive(arguments.sku, arguments.qty)
        case "reserve":
            print(room.reserve(arguments.sku, arguments.qty, arguments.until))
        case "ship":
            room.ship(arguments.reservation, arguments.qty)
        case "cancel":
            room.cancel(arguments.reservation)
        case "expire":
            print(room.expire(arguments.today))
        case "levels":
            for level in room.levels():
                print(level.sku, level.on_hand, level.reserved, level.available)


def _parser() -> argparse.ArgumentParser:
    day = datetime.date.fromisoformat
    parser = argparse.ArgumentParser(prog="stockroom")
    parser.add_argument("database")
    commands = parser.add_subparsers(dest="command", required=True)
    receive = commands.add_parser("receive")
    receive.add_argument("sku")
    receive.add_argument("qty", type=int)
    reserve = commands.add_parser("reserve")
    reserve.add_argument("sku")
    reserve.add_argument("qty", type=int)
    reserve.add_argument("--until", type=day, required=True)
    ship = commands.add_parser("ship")
    ship.add_argument("reservation", type=int)
    ship.add_argument("qty", type=int)
    cancel = commands.add_parser("cancel")
    cancel.add_argument("reservation", type=int)
    expire = commands.add_parser("expire")
    expire.add_argument("today", type=day)
    commands.add_parser("levels")
    return parser


if __name__ == "__main__":
    sys.exit(main())
