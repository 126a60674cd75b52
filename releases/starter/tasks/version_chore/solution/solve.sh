#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes the program, commits it, and prepares the release with it.
set -eu
cd /app
if [ -e tools/prepare ]; then exit 0; fi
mkdir tools
cat > tools/prepare <<'SH'
#!/bin/sh
# Prepares a release: tools/prepare VERSION DATE. Nothing is pushed.
set -eu

fail() {
    printf 'prepare: %s\n' "$1" >&2
    exit 2
}

newline='
'
[ $# -eq 2 ] || fail 'usage: tools/prepare VERSION DATE'
new=$1 date=$2
case $new$date in *"$newline"*) fail 'VERSION and DATE are single words' ;; esac
printf '%s\n' "$new" | grep -Eqx '(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}' ||
    fail "not a version: $new"
printf '%s\n' "$date" | grep -Eqx '[0-9]{4}-[0-9]{2}-[0-9]{2}' || fail "not a date: $date"

top=$(git rev-parse --show-toplevel 2>/dev/null) || fail 'not in a git repository'
cd "$top"
old=$(cat VERSION)
awk -v old="$old" -v new="$new" 'BEGIN {
    split(old, a, "."); split(new, b, ".")
    for (i = 1; i <= 3; i++) if (a[i] + 0 != b[i] + 0) exit !(b[i] + 0 > a[i] + 0)
    exit 1
}' || fail "$new is not greater than $old"
if git show-ref --verify --quiet "refs/tags/v$new"; then fail "the tag v$new exists already"; fi
[ -z "$(git status --porcelain)" ] || fail 'something is uncommitted or untracked'

fragments() { # fragments KIND: their paths, by number
    for path in changes.d/*."$1".md; do
        name=${path##*/}
        number=${name%".$1.md"}
        case $number in '' | *[!0-9]*) continue ;; esac
        if [ -f "$path" ]; then printf '%s %s\n' "$number" "$path"; fi
    done | sort -n | cut -d ' ' -f 2-
}

all=$(for kind in added changed fixed; do fragments "$kind"; done)
[ -n "$all" ] || fail 'there is no fragment in changes.d'

put() { # put FILE: replaces its content by standard input, keeps its mode
    cat > "$1.tmp"
    cat "$1.tmp" > "$1"
    rm "$1.tmp"
}

part() { # part HEADING KIND
    [ -n "$(fragments "$2")" ] || return 0
    printf '### %s\n\n' "$1"
    fragments "$2" | while IFS= read -r path; do
        number=${path##*/}
        awk -v number="${number%%.*}" '
            { gsub(/^[ \t\r]+|[ \t\r]+$/, "") }
            $0 != "" { text = text (text == "" ? "" : " ") $0 }
            END { printf "- %s (#%s)\n", text, number }
        ' "$path"
    done
    printf '\n'
}

pattern=$(printf '%s' "$old" | sed 's/\./\\./g')
printf '%s\n' "$new" | put VERSION
sed "s/^version=$pattern\$/version=$new/" tidewatch | put tidewatch
sed "/^\.TH /{s/\"[0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\"/\"$date\"/;s/\"tidewatch $pattern\"/\"tidewatch $new\"/;}" \
    tidewatch.1 | put tidewatch.1
sed -e "s/tidewatch-$pattern\([^0-9]\)/tidewatch-$new\1/g" -e "s/tidewatch-$pattern\$/tidewatch-$new/" README.md | put README.md
{
    sed '/^## /,$d' CHANGELOG.md
    printf '## %s (%s)\n\n' "$new" "$date"
    part Added added
    part Changed changed
    part Fixed fixed
    sed -n '/^## /,$p' CHANGELOG.md
} | put CHANGELOG.md
printf '%s\n' "$all" | while IFS= read -r path; do git rm -q -- "$path"; done
git add --all
git commit -q -m "Release $new"
git tag -a -m "tidewatch $new" "v$new"
SH
chmod 755 tools/prepare
git add tools/prepare
git commit -q -m 'Add tools/prepare'
tools/prepare 1.5.0 2026-03-02
