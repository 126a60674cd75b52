#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Keeps the end of the list right wherever the chain changes.
set -eu
cd /app
if grep -q 'shelf->tail = before' src/shelf.c; then exit 0; fi
python3 - <<'PY'
from pathlib import Path

path = Path("src/shelf.c")
text = path.read_text()


def replace(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


replace(
    "    item->next = NULL;\n}\n",
    "    if (shelf->tail == item)\n        shelf->tail = before;\n    item->next = NULL;\n}\n",
)
replace(
    "    item->next = shelf->head;\n    shelf->head = item;\n",
    "    item->next = shelf->head;\n    shelf->head = item;\n"
    "    if (shelf->tail == NULL)\n        shelf->tail = item;\n",
)
replace(
    "    struct item *turned = NULL;\n    struct item *item = shelf->head;\n",
    "    struct item *turned = NULL;\n    struct item *item = shelf->head;\n    shelf->tail = item;\n",
)
path.write_text(text)
PY
