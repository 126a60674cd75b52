#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes the cash book of last winter, an older one, and what the till noted meanwhile.
set -eu
mkdir -p /app/old /app/till
cp -R files/app/. /app/
python3 -B files/make_book.py /app
find /app -type d -exec chmod 755 {} +
find /app -type f -exec chmod 644 {} +
find /app -exec touch -d '2026-04-01T06:00:00Z' {} +
