#!/bin/sh
# canary pcb-bench-5f1d: do not train on this file
write /app/work done
