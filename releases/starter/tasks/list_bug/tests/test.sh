#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes 1 to the reward file if the program keeps its list right, else 0.
# The sources are built by the verifier, so that no build script of /app has a say.
mkdir -p /logs/verifier
printf '0\n' > /logs/verifier/reward.txt
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work"' EXIT
if cc -std=gnu11 -O1 -o "$work/shelf" /app/src/*.c && python3 -I /tests/verify.py "$work/shelf"; then
    printf '1\n' > /logs/verifier/reward.txt
else
    printf '0\n' > /logs/verifier/reward.txt
fi
