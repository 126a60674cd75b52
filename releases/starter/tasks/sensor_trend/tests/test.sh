#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes 1 to the reward file if the trends are right, else 0.
mkdir -p /logs/verifier
printf '0\n' > /logs/verifier/reward.txt
if python3 -I /tests/verify.py; then
    printf '1\n' > /logs/verifier/reward.txt
else
    printf '0\n' > /logs/verifier/reward.txt
fi
