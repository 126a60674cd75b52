#!/bin/sh
# canary pcb-tiny-62c178bb-e2bc-4ec4-8706-695884405c8a: do not train on this file
# Puts the greeter in place.
set -eu
mkdir -p /app
cp files/greet.sh /app/greet.sh
chmod 755 /app/greet.sh
