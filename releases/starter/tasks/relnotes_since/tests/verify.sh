#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Runs relnotes in scratch repositories and compares all that it prints.
set -u

program=/app/relnotes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
export GIT_AUTHOR_NAME=Someone GIT_AUTHOR_EMAIL=someone@example.org
export GIT_COMMITTER_NAME=Someone GIT_COMMITTER_EMAIL=someone@example.org
unset GIT_DIR GIT_WORK_TREE ENV BASH_ENV
failed=0
cases=0

fresh() {
    cd "$work" || exit 1
    rm -rf scratch
    git init -q --template= -b main scratch
    cd scratch || exit 1
}

say() { # say SUBJECT [BODY]: a commit
    git commit -q --allow-empty -m "$1" ${2:+-m "$2"}
}

wants() { # wants NAME EXIT OUT ERR ARGUMENT...
    name=$1 code=$2 out=$3 err=$4
    shift 4
    cases=$((cases + 1))
    timeout 20 "$program" "$@" > "$work/out" 2> "$work/err" < /dev/null
    got=$?
    sed 's/ ([0-9a-f]\{7,\})$/ (#)/' "$work/out" > "$work/plain"
    if [ "$got" = "$code" ] && [ "$(cat "$work/plain")" = "$out" ] && [ "$(cat "$work/err")" = "$err" ]; then
        return
    fi
    failed=$((failed + 1))
    printf 'FAILED %s: exit %s\n' "$name" "$got"
    printf '%s\n' "$out" | diff - "$work/plain"
    cat "$work/err"
}

# What was there before.
fresh
say 'feat: one'
say 'fix(core): two'
say 'Three'
wants 'plain' 0 '# Release notes

## Features

- one (#)

## Fixes

- **core** two (#)

## Other

- Three (#)' ''
wants 'bad argument' 2 '' 'relnotes: unknown argument: -x' -x
wants 'title without value' 2 '' 'relnotes: --title needs a value' --title
wants 'since without value' 2 '' 'relnotes: --since needs a value' --since

# Hashes are those of the commits.
first=$(git log -1 --format=%h)
case $("$program" | tail -n 1) in
    "- Three ($first)") ;;
    *) failed=$((failed + 1)); printf 'FAILED hashes\n' ;;
esac

# After a tag.
git tag v1.0
git branch side
wants 'nothing after' 0 '# Release notes' '' --since v1.0
say 'fix: four'
git tag -a -m 'Release' v1.1
say 'feat(ui): five'
say 'Merge-like subject'
wants 'after a plain tag' 0 '# 1.2

## Features

- **ui** five (#)

## Fixes

- four (#)

## Other

- Merge-like subject (#)' '' --since v1.0 --title 1.2
wants 'after a tag with a message' 0 '# 1.2

## Features

- **ui** five (#)

## Other

- Merge-like subject (#)' '' -t 1.2 -s v1.1
for tag in v9 side main HEAD 'v1.0^' 'v1.1^{}' '' 'v1.0..v1.1' '-x' 'refs/tags/v1.0'; do
    wants "no tag '$tag'" 2 '' "relnotes: no such tag: $tag" --since "$tag"
done
git branch v1.0
git checkout -q side
say 'feat: on the side'
git tag both
git checkout -q main
git branch -q -f both main~2
git merge -q --no-ff -m 'Merge side' side
wants 'a branch of the same name does not count' 0 '# Release notes

## Features

- **ui** five (#)

## Fixes

- four (#)

## Other

- Merge-like subject (#)' '' --since both

# Breaking changes.
fresh
say 'feat!: drop the old format'
say 'fix(api)!: refuse empty names'
say 'feat: quiet' 'Some text.

BREAKING CHANGE: nothing is printed any more
BREAKING CHANGE: a later line'
say 'chore(deps)!: need a newer git'
say 'Rework the parser' 'BREAKING CHANGE: spaces count'
say 'fix(io): flush' 'BREAKING CHANGE: files are written at once'
say 'Wow! This: is not breaking' 'See BREAKING CHANGE: in the guide
 BREAKING CHANGE: indented'
say 'feat: plain' 'BREAKING CHANGES: not the word
BREAKING CHANGE:no space'
wants 'breaking' 0 '# Release notes

## Breaking changes

- **io** files are written at once (#)
- spaces count (#)
- **deps** need a newer git (#)
- nothing is printed any more (#)
- **api** refuse empty names (#)
- drop the old format (#)

## Features

- plain (#)
- quiet (#)
- drop the old format (#)

## Fixes

- **io** flush (#)
- **api** refuse empty names (#)

## Other

- Wow! This: is not breaking (#)
- Rework the parser (#)
- chore(deps)!: need a newer git (#)' ''

git tag old
say 'feat(a)!: newer'
wants 'breaking after a tag' 0 '# Release notes

## Breaking changes

- **a** newer (#)

## Features

- **a** newer (#)' '' --since old

# Characters that shells and formats like to eat.
fresh
say 'feat!: 100%s \n \\t "q" $HOME `id` * & end\'
say 'fix: a | b' 'BREAKING CHANGE: use %d \1 & "c" ; $(id) é'
wants 'odd characters' 0 '# t%s \n

## Breaking changes

- use %d \1 & "c" ; $(id) é (#)
- 100%s \n \\t "q" $HOME `id` * & end\ (#)

## Features

- 100%s \n \\t "q" $HOME `id` * & end\ (#)

## Fixes

- a | b (#)' '' -t 't%s \n'

# Papers.
case $("$program" --help) in
    *--since*--title*--help* | *--title*--since*--help*) ;;
    *) failed=$((failed + 1)); printf 'FAILED help text\n' ;;
esac
grep -q -e '--since' /app/README.md || { failed=$((failed + 1)); printf 'FAILED README\n'; }
case $(head -n 1 "$program") in
    '#!/bin/sh' | '#!/usr/bin/env sh') ;;
    *) failed=$((failed + 1)); printf 'FAILED first line\n' ;;
esac

cd /
printf '%s cases, %s failures\n' "$cases" "$failed"
[ "$failed" -eq 0 ] && [ "$cases" -eq 21 ]
