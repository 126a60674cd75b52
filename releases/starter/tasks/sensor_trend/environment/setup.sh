#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Puts the readings, their reader and its tests in place.
set -eu
mkdir -p /app
cp -R files/. /app/
find /app -type d -exec chmod 755 {} +
find /app -type f -exec chmod 644 {} +
find /app -exec touch -d '2026-01-12T08:00:00Z' {} +
