#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Tests of tidewatch: sh tests/run.sh
set -eu
cd "$(dirname "$0")/.."
failed=0

expect() { # expect NAME EXPECTED ARGUMENT...
    name=$1 expected=$2
    shift 2
    got=$(./tidewatch "$@" 2>&1) || true
    if [ "$got" = "$expected" ]; then
        printf 'ok      %s\n' "$name"
    else
        printf 'FAILED  %s\n--- expected\n%s\n--- got\n%s\n' "$name" "$expected" "$got"
        failed=1
    fi
}

expect 'a station' 'Old Mill     2026-03-02 06:02 2.9 m' --station 'Old Mill' sample.tides
expect 'version' "tidewatch $(cat VERSION)" --version
expect 'no such station' '' --station Nowhere sample.tides
exit "$failed"
