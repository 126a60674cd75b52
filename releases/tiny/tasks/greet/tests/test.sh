#!/bin/sh
# canary pcb-tiny-62c178bb-e2bc-4ec4-8706-695884405c8a: do not train on this file
# Writes 1 to the reward file if the greeter greets as asked, else 0.
mkdir -p /logs/verifier
printf '0\n' > /logs/verifier/reward.txt

greets() { # greets EXPECTED ARGUMENT...
    expected=$1
    shift
    got=$(sh /app/greet.sh "$@") && [ "$got" = "$expected" ] && return
    printf 'expected "%s", got "%s"\n' "$expected" "$got"
    exit 1
}

greets 'Hello, Ada!' Ada
greets 'Hello, Ada Lovelace!' 'Ada Lovelace'
greets 'Hello, 100%s \n!' '100%s \n'
greets 'Hello, World!'
greets 'Hello, World!' ''
printf '1\n' > /logs/verifier/reward.txt
