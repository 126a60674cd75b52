#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Builds ./shelf.
set -eu
cd "$(dirname "$0")"
cc -std=c11 -Wall -Wextra -O1 -o shelf src/*.c
