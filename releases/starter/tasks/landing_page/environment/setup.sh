#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Puts the sources of the page in place and builds it as it is.
set -eu
mkdir -p /app
cp -R /environment/files/. /app/
find /app -type d -exec chmod 755 {} +
find /app -type f -exec chmod 644 {} +
cd /app
python3 -B build.py
