#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""What the stockroom refuses to do."""


class Refused(Exception):
    """The operation can't be done; nothing was changed. The message is for the user."""
