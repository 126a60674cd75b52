#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Puts what is committed below site/ live in a folder.
#
#   TARGET/releases/N   the releases
#   TARGET/current      a link to the one that is live
set -eu

here=$(cd "$(dirname "$0")" && pwd)
conf=$here/config/deploy.conf

usage() {
    cat <<'TEXT'
usage: deploy.sh [--conf FILE]

Puts the committed pages live: a new release below TARGET/releases, with TARGET/current pointing to it.

  --conf FILE   the settings (default: config/deploy.conf)
  --help        this text

Settings: TARGET (folder), KEEP (how many releases stay), ANNOUNCE_KEY (announces in the chat if set).
TEXT
}

fail() { # fail CODE TEXT
    printf 'deploy: %s\n' "$2" >&2
    exit "$1"
}

while [ $# -gt 0 ]; do
    case $1 in
        --conf)
            [ $# -ge 2 ] || fail 2 '--conf needs a file'
            conf=$2
            shift 2
            ;;
        --help)
            usage
            exit 0
            ;;
        *) fail 2 "unknown argument: $1" ;;
    esac
done

[ -f "$conf" ] || fail 2 "no settings: $conf"
case $conf in */*) ;; *) conf=./$conf ;; esac
. "$conf"
[ -n "${TARGET-}" ] || fail 2 'TARGET is not set'
KEEP=${KEEP:-5}

mkdir -p "$TARGET/releases"
latest=$(ls "$TARGET/releases" | tail -n 1)
number=$((${latest:-0} + 1))

mkdir -p "$TARGET/releases/$number"
git -C "$here" archive HEAD site | tar -x -C "$TARGET/releases/$number" --strip-components 1
ln -sfn "releases/$number" "$TARGET/current"
printf 'live: %s\n' "$number"

count=$(ls "$TARGET/releases" | wc -l)
for old in $(ls "$TARGET/releases"); do
    [ "$count" -gt "$KEEP" ] || break
    rm -rf "${TARGET:?}/releases/$old"
    count=$((count - 1))
done

if [ -n "${ANNOUNCE_KEY-}" ]; then
    "$here/bin/announce" "$ANNOUNCE_KEY" "release $number is live" >> "$TARGET/outbox"
fi
