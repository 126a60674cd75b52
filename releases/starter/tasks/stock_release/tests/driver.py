#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Runs a list of operations from stdin on a Stockroom and prints what each left behind, as JSON."""

import datetime
import json
import sys

sys.path.insert(0, "/app")

from stockroom import Refused, Stockroom

job = json.load(sys.stdin)
room = Stockroom(job["database"])
for name, *arguments in job["operations"]:
    if name == "reopen":
        room.close()
        room = Stockroom(job["database"])
        answer = None
    else:
        if name in ("reserve", "expire"):
            arguments[-1] = datetime.date.fromisoformat(arguments[-1])
        try:
            answer = getattr(room, name)(*arguments)
        except Refused as reason:
            answer = f"refused: {reason}"
    levels = [[x.sku, x.on_hand, x.reserved, x.available] for x in room.levels()]
    print(json.dumps([answer, levels]))
room.close()
