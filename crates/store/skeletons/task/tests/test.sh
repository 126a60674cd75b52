#!/bin/sh
# canary {{canary}}: do not train on this file
# Decides whether the task is done: writes 1 to the reward file if every sum is right, else 0.
mkdir -p /logs/verifier
printf '0\n' > /logs/verifier/reward.txt

adds_up() { # adds_up EXPECTED CONTENT
    printf '%b' "$2" > /tmp/numbers
    got=$(sh /app/total.sh /tmp/numbers 2>&1)
    [ "$got" = "$1" ] && return
    printf 'of "%s" expected %s, got "%s"\n' "$2" "$1" "$got"
    exit 1
}

adds_up 6 '1\n2\n3\n'
adds_up 40 '12\n\n# a note\n28\n'
adds_up 9 '4\n5'
adds_up -3 '-10\n7\n'
adds_up 0 ''
adds_up 0 '# nothing\n\n'
printf '1\n' > /logs/verifier/reward.txt
