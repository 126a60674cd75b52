#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Runs the cases below tests/cases: sh tests/run.sh [NAME...]. A case exits with 0, or with 77 if it was skipped.
set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LIB="$here/lib.sh" PROJECT="${here%/*}"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset ANNOUNCE_KEY TARGET KEEP
passed=0 failed=0 skipped=0

for case in "$here"/cases/*.sh; do
    name=$(basename "$case" .sh)
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    rm -rf "$work/case"
    mkdir "$work/case"
    (cd "$work/case" && sh "$case") > "$work/output" 2>&1
    case $? in
        0) passed=$((passed + 1)); printf 'ok       %s\n' "$name" ;;
        77) skipped=$((skipped + 1)); printf 'skipped  %s\n' "$name" ;;
        *) failed=$((failed + 1)); printf 'FAILED   %s\n' "$name"; sed 's/^/         /' "$work/output" ;;
    esac
done

printf '%s cases: %s passed, %s failed, %s skipped\n' "$((passed + failed + skipped))" "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
