#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Deploys pages of its own from a scratch repository with /app's deploy.sh and compares all that is left.
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
export GIT_AUTHOR_NAME=Someone GIT_AUTHOR_EMAIL=someone@example.org
export GIT_COMMITTER_NAME=Someone GIT_COMMITTER_EMAIL=someone@example.org
unset GIT_DIR GIT_WORK_TREE ENV BASH_ENV TARGET KEEP ANNOUNCE_KEY
umask 022
failed=0
cases=0
live="$work/put here/live"

fresh() { # fresh KEEP: a scratch project without releases
    cd "$work" || exit 1
    rm -rf project 'put here'
    mkdir project 'put here'
    (cd /app && tar -c --exclude ./.git --exclude ./site -f - .) | tar -x -C project -f -
    mkdir -p project/site/more project/bin
    printf 'page 1\n' > project/site/index.html
    printf 'a b\n' > 'project/site/more/with space.txt'
    printf '#!/bin/sh\nprintf "%%s|" "$@"\nprintf "\\n"\n' > project/bin/announce
    chmod 755 project/bin/announce
    git init -q --template= -b main project
    git -C project add -A -f
    git -C project commit -q -m 'Page 1'
    printf "TARGET='%s'\nKEEP=%s\n" "$live" "$1" > settings.conf
}

page() { # page TEXT
    printf '%s\n' "$1" > project/site/index.html
    git -C project add -A -f
    git -C project commit -q -m "$1"
}

run() {
    timeout 20 sh project/deploy.sh "$@" > "$work/out" 2> "$work/err" < /dev/null
}

deployed() { # deployed COUNT: as many deployments, whatever they do
    left=$1
    while [ "$left" -gt 0 ]; do
        run --conf settings.conf
        left=$((left - 1))
    done
}

state() { # everything that matters of the target on a line
    printf '%s -> %s' "$(ls "$live/releases" 2>/dev/null | sort -n | tr '\n' ' ')" "$(readlink "$live/current")"
}

wants() { # wants NAME EXIT OUT STATE ARGUMENT...
    name=$1 code=$2 out=$3 after=$4
    shift 4
    cases=$((cases + 1))
    run --conf settings.conf "$@"
    got=$?
    if [ "$got" = "$code" ] && [ "$(cat out)" = "$out" ] && [ "$(state)" = "$after" ]; then return; fi
    failed=$((failed + 1))
    printf 'FAILED %s: exit %s, state %s\n' "$name" "$got" "$(state)"
    cat out err
}

check() { # check NAME COMMAND...
    name=$1
    shift
    cases=$((cases + 1))
    "$@" && return
    failed=$((failed + 1))
    printf 'FAILED %s\n' "$name"
}

nothing_back='deploy: nothing to roll back to'

# Numbers.
fresh 3
wants 'nothing is there' 0 '' ' -> ' --list
wants 'nothing to go back to' 1 '' ' -> ' --rollback
check 'it says so' [ "$(cat err)" = "$nothing_back" ]
wants 'the first' 0 'live: 1' '1  -> releases/1'
wants 'not before the first' 1 '' '1  -> releases/1' --rollback
check 'it says so again' [ "$(cat err)" = "$nothing_back" ]
check 'the page' [ "$(cat "$live/current/index.html")" = 'page 1' ]
check 'below it' [ "$(cat "$live/current/more/with space.txt")" = 'a b' ]
check 'readable for the web server' [ "$(stat -L -c %a "$live/current")" = 755 ]
deployed 7
wants 'the ninth' 0 'live: 9' '7 8 9  -> releases/9'
page 'page 2'
wants 'the tenth' 0 'live: 10' '8 9 10  -> releases/10'
check 'its page' [ "$(cat "$live/current/index.html")" = 'page 2' ]
check 'the page before' [ "$(cat "$live/releases/9/index.html")" = 'page 1' ]
wants 'the eleventh' 0 'live: 11' '9 10 11  -> releases/11'
wants 'all of them' 0 '9
10
11 live' '9 10 11  -> releases/11' --list
wants 'back' 0 'live: 10' '9 10 11  -> releases/10' --rollback
wants 'back over the digit' 0 'live: 9' '9 10 11  -> releases/9' --rollback
wants 'no further' 1 '' '9 10 11  -> releases/9' --rollback
wants 'list after going back' 0 '9 live
10
11' '9 10 11  -> releases/9' --list
wants 'on from there' 0 'live: 12' '10 11 12  -> releases/12'
mv "$live/releases/12" "$live/releases/99"
ln -sfn releases/99 "$live/current"
wants 'the hundredth' 0 'live: 100' '11 99 100  -> releases/100'
wants 'back from the hundredth' 0 'live: 99' '11 99 100  -> releases/99' --rollback

# What else lies there is left alone.
fresh 2
deployed 2
mkdir "$live/releases/7.part" "$live/releases/keep" "$live/releases/007"
printf 'x\n' > "$live/releases/99"
wants 'strangers' 0 'live: 3' "$(printf '%s -> releases/3' "$(printf '%s\n' 2 3 7.part keep 007 99 | sort -n | tr '\n' ' ')")"
wants 'strangers are not listed' 0 '2
3 live' "$(state)" --list
wants 'nor gone back to' 0 'live: 2' "$(state | sed 's/3$/2/')" --rollback

# The live one stays.
fresh 1
deployed 1
wants 'keeps one' 0 'live: 2' '2  -> releases/2'
fresh 3
deployed 3
ln -sfn releases/2 "$live/current"
wants 'gaps' 0 'live: 4' '2 3 4  -> releases/4'
rm -r "$live/releases/3"
wants 'back over a gap' 0 'live: 2' '2 4  -> releases/2' --rollback
wants 'beyond the gap' 0 'live: 5' '2 4 5  -> releases/5'

# A deployment that fails.
fresh 3
deployed 3
git -C project rm -r -q site
git -C project commit -q -m 'No pages'
wants 'nothing to export' 1 '' '1 2 3  -> releases/3'
wants 'still nothing' 1 '' '1 2 3  -> releases/3'
check 'the live page is there' [ "$(cat "$live/current/index.html")" = 'page 1' ]
fresh 3
git -C project rm -r -q site
git -C project commit -q -m 'No pages'
wants 'nothing from the start' 1 '' ' -> '
mkdir -p project/site
page 'page 3'
wants 'recovered' 0 'live: 1' '1  -> releases/1'
check 'with its page' [ "$(cat "$live/current/index.html")" = 'page 3' ]
printf 'draft\n' > project/site/index.html
wants 'committed alone' 0 'live: 2' '1 2  -> releases/2'
check 'no draft' [ "$(cat "$live/current/index.html")" = 'page 3' ]

# Announcements: of deployments, with the key of the settings.
check 'no key, no announcement' [ ! -e "$live/outbox" ]
export ANNOUNCE_KEY=k-of-a-test
printf 'ANNOUNCE_KEY=k-of-a-test\n' >> settings.conf
deployed 1
check 'announced' [ "$(cat "$live/outbox")" = 'k-of-a-test|release 3 is live|' ]
wants 'back' 0 'live: 2' '1 2 3  -> releases/2' --rollback
run --conf settings.conf --list
check 'nothing else is announced' [ "$(cat "$live/outbox")" = 'k-of-a-test|release 3 is live|' ]
unset ANNOUNCE_KEY

# Arguments.
fresh 3
deployed 2
cases=$((cases + 1))
run --rollback --conf settings.conf
[ $? = 0 ] && [ "$(cat out)" = 'live: 1' ] || { failed=$((failed + 1)); printf 'FAILED order of arguments\n'; }
before=$(state)
for arguments in '--rollback --list' '--list --rollback' '--bogus' '--conf' '--rollback 1' '--list --conf'; do
    wants "refused: $arguments" 2 '' "$before" $arguments
done
wants 'unknown settings' 2 '' "$before" --conf nowhere.conf
run --help
check 'help: rollback' grep -q -e --rollback out
check 'help: list' grep -q -e --list out
check 'README: rollback' grep -q -e --rollback /app/README.md
check 'README: list' grep -q -e --list /app/README.md

printf '%s cases, %s failed\n' "$cases" "$failed"
[ "$failed" -eq 0 ] && [ "$cases" -ge 50 ]
