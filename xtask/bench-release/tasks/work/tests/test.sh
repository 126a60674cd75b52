#!/bin/sh
# canary pcb-bench-5f1d: do not train on this file
has /app/work done && write /logs/verifier/reward.txt 1
