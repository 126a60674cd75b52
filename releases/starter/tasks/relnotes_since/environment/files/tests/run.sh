#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Tests of relnotes: sh tests/run.sh. Each case is a scratch repository and what is printed for it.
set -eu

program=$(cd "$(dirname "$0")/.." && pwd)/relnotes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Test GIT_AUTHOR_EMAIL=test@example.org
export GIT_COMMITTER_NAME=Test GIT_COMMITTER_EMAIL=test@example.org
failed=0

repository() { # repository SUBJECT...: a fresh one with these commits, oldest first
    rm -rf "$work/repo"
    git init -q -b main "$work/repo"
    cd "$work/repo"
    for subject; do
        git commit -q --allow-empty -m "$subject"
    done
}

expect() { # expect NAME EXPECTED ARGUMENT...: hashes are compared as HASH
    name=$1 expected=$2
    shift 2
    got=$("$program" "$@" 2>&1 | sed 's/ ([0-9a-f]\{7,\})$/ (HASH)/')
    if [ "$got" = "$expected" ]; then
        printf 'ok      %s\n' "$name"
    else
        printf 'FAILED  %s\n--- expected\n%s\n--- got\n%s\n' "$name" "$expected" "$got"
        failed=1
    fi
}

repository 'feat: first thing' 'fix(parser): a crash' 'Tidy up'
expect 'sections in their order' '# Release notes

## Features

- first thing (HASH)

## Fixes

- **parser** a crash (HASH)

## Other

- Tidy up (HASH)'

repository 'fix: one' 'fix: two'
expect 'newest first, own title' '# 2.0

## Fixes

- two (HASH)
- one (HASH)' --title '2.0'

repository 'feat: 100% \n "quoted" $HOME'
expect 'subjects as they are' '# Release notes

## Features

- 100% \n "quoted" $HOME (HASH)'

expect 'unknown argument' 'relnotes: unknown argument: --bogus' --bogus
expect 'missing value' 'relnotes: --title needs a value' --title

exit "$failed"
