#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Stock and reservations of a warehouse. The way in is `Stockroom`."""

from stockroom.errors import Refused
from stockroom.room import Level, Stockroom

__all__ = ["Level", "Refused", "Stockroom"]
