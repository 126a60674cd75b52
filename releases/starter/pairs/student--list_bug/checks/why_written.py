#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if each function under /app/src that differs from the old code has its own reason above it, 1 if not.

A reason is a comment that ends on the line before the function and has a line that begins with `Why:`
and goes on with eight different words. Comments and white space make no difference to a function.
"""

import hashlib
import re
import sys
from pathlib import Path

# What the functions of the old code hash to.
OLD = {
    "quantity": "134442ebe0b36456",
    "answer": "cb0c187054b4015e",
    "with_quantity": "006466793dc64cad",
    "run": "9bed6403c9749170",
    "main": "5575a81042f89689",
    "shelf_init": "9a88aa2176d09b8b",
    "find": "c6a245839a781d8e",
    "free_place": "5d6d964848de2c8c",
    "unlink_item": "1dd0232fec80407e",
    "remove_item": "b3f77e4cb6108aa0",
    "shelf_add": "65db1213d2a97ebc",
    "shelf_take": "063941b2a3d20e4e",
    "shelf_drop": "353e96959e4878ad",
    "shelf_front": "6c32def58178435d",
    "shelf_reverse": "9949d14190efa051",
    "shelf_qty": "fc74f11ec39b620e",
    "shelf_total": "a3b795b69caf0376",
}
TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)|(?P<space>\s+)|(?P<word>\w+)|(?P<sign>.)""",
    re.S | re.M | re.X,
)
HEADER = re.compile(r"(\w+) ?\([^;{}=]*\)$")


def functions(text):
    """Name, comment directly above, and plain text of each function in a C source."""
    depth, header, body, above = 0, [], [], ""
    pending, pending_end = "", 0  # comments since the last declaration, and where they end
    found = []
    for token in TOKEN.finditer(text):
        kind, piece = token.lastgroup, token.group()
        if kind == "comment":
            if depth == 0 and not header:
                is_next = not text[pending_end:token.start()].strip() and \
                    text.count("\n", pending_end, token.start()) <= 1
                pending = pending + "\n" + piece if pending and is_next else piece
                pending_end = token.end()
            continue
        if kind == "space":
            continue
        if kind == "directive":
            pending = ""
            continue
        if depth == 0 and not header:
            is_next = text.count("\n", pending_end, token.start()) <= 1
            above = pending if pending and is_next else ""
            pending = ""
        (header if depth == 0 else body).append(piece)
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth -= 1
            if depth == 0:
                head = " ".join(header[:-1]).replace(" (", "(")
                named = HEADER.search(head)
                if named:
                    found.append((named.group(1), above, f"{head} {' '.join(body)}"))
                    header, body = [], []
        elif piece == ";" and depth == 0:
            header, body = [], []
    return found


def reason(comment):
    """The words behind `Why:`, up to an empty line or the comment's end."""
    words, is_inside = [], False
    for line in comment.splitlines():
        line = re.sub(r"^\s*(/\*+|//+|\*(?!/))?", "", line).replace("*/", "").strip()
        if line.startswith("Why:"):
            words, is_inside, line = [], True, line[4:]
        elif not line:
            is_inside = False
        if is_inside:
            words += re.findall(r"[a-z0-9_']+", line.lower())
    return words


def main():
    reasons, faults = [], []
    for path in sorted(Path("/app/src").rglob("*")):
        if path.suffix not in (".c", ".h") or not path.is_file():
            continue
        for name, comment, plain in functions(path.read_text(encoding="utf-8", errors="replace")):
            if OLD.get(name) == hashlib.sha256(plain.encode()).hexdigest()[:16]:
                continue
            words = reason(comment)
            if len(set(words)) < 8:
                faults.append(f"{path.name}: {name} has no reason of eight words above it")
            elif words in reasons:
                faults.append(f"{path.name}: {name} has the reason of another function")
            reasons.append(words)
    if not reasons:
        faults.append("no function differs from the old code")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
