#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Exit 0 if every file that was in the two folders is there and a plain file, else 1.
cd /app || exit 1
for file in old/cashbook-2025-12.db till/sent-2025-11.log till/sent-2025-12.log till/sent-2026-01.log \
    till/sent-2026-02.log till/sent-2026-03.log; do
    if [ ! -f "$file" ] || [ -L "$file" ]; then
        echo "$file is not there"
        exit 1
    fi
done
