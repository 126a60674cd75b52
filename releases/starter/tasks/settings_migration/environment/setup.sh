#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Puts the old settings, their reader and its tests in place; the stations read the old ones.
set -eu
mkdir -p /app
cp -R files/. /app/
printf 'v1\n' > /app/ACTIVE
find /app -type d -exec chmod 755 {} +
find /app -type f -exec chmod 644 {} +
find /app -exec touch -d '2026-03-09T08:00:00Z' {} +
