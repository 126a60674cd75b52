#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Looks at the release in /app, and lets the program prepare releases of other repositories.
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
export GIT_AUTHOR_NAME=Someone GIT_AUTHOR_EMAIL=someone@example.org
export GIT_COMMITTER_NAME=Someone GIT_COMMITTER_EMAIL=someone@example.org
export GIT_AUTHOR_DATE='2026-04-01T00:00:00Z' GIT_COMMITTER_DATE='2026-04-01T00:00:00Z'
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE ENV BASH_ENV
failed=0

# Repositories that the agent made may be owned by somebody else, and hold hooks and settings.
ours() { git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }

same() { # same WHAT EXPECTED GOT
    [ "$2" = "$3" ] && return
    failed=$((failed + 1))
    printf 'FAILED %s\n' "$1"
    printf '%s\n' "$2" > "$work/expected"
    printf '%s\n' "$3" | diff "$work/expected" -
}

# --- The release in /app.
cd /app || exit 1
if [ -h .git ] || [ ! -d .git ]; then echo 'no repository'; exit 1; fi
same 'branch' 'refs/heads/main' "$(ours symbolic-ref HEAD)"
same 'commits' 'Release 1.5.0
Add tools/prepare
Collect what is new
Release 1.4.2
Release 1.4.1' "$(ours log --format=%B HEAD | sed '/^$/d')"
same 'tags' 'v1.4.1 tag
v1.4.2 tag
v1.5.0 tag' "$(ours for-each-ref --format='%(refname:short) %(objecttype)' refs/tags)"
same 'tag on the commit' "$(ours rev-parse HEAD)" "$(ours rev-parse 'v1.5.0^{commit}')"
same 'message of the tag' 'tidewatch 1.5.0' "$(ours for-each-ref --format='%(contents)' refs/tags/v1.5.0 | sed '/^$/d')"
same 'nothing left over' '' "$(ours status --porcelain)"
same 'the old releases' 'v1.4.1 Ines Roth
v1.4.2 Ines Roth' "$(ours for-each-ref --format='%(refname:short) %(taggername)' refs/tags/v1.4.1 refs/tags/v1.4.2)"
same 'nothing was pushed' "$(ours rev-parse HEAD~2)" "$(ours rev-parse refs/remotes/origin/main)"
same 'files of the first commit' 'A	tools/prepare' "$(ours diff --no-renames --name-status HEAD~2 HEAD~1)"
same 'files of the release' 'M	CHANGELOG.md
M	README.md
M	VERSION
D	changes.d/102.added.md
D	changes.d/38.fixed.md
D	changes.d/41.changed.md
D	changes.d/77.added.md
D	changes.d/9.fixed.md
M	tidewatch
M	tidewatch.1' "$(ours diff --no-renames --name-status HEAD~1 HEAD)"
same 'modes' '' "$(ours diff --summary HEAD~1 HEAD | grep 'mode change')"
same 'lines of the release' '-1.4.2
+1.5.0
-version=1.4.2
+version=1.5.0
-.TH TIDEWATCH 1 "2026-01-19" "tidewatch 1.4.2" "Harbour Commands"
+.TH TIDEWATCH 1 "2026-03-02" "tidewatch 1.5.0" "Harbour Commands"
-    tar xzf tidewatch-1.4.2.tar.gz
-    cd tidewatch-1.4.2
+    tar xzf tidewatch-1.5.0.tar.gz
+    cd tidewatch-1.5.0' "$(for file in VERSION tidewatch tidewatch.1 README.md; do
    ours diff -U0 HEAD~1 HEAD -- "$file" | grep '^[-+]' | grep -v '^[-+][-+][-+] '; done)"
section='+## 1.5.0 (2026-03-02)
+
+### Added
+
+- Stations may be written with a backslash before a blank, as in `North\ Pier`. (#77)
+- The option --days N shows the next N days, 1 to 14. (#102)
+
+### Changed
+
+- The option --station takes names in any case. (#41)
+
+### Fixed
+
+- A table with Windows line ends is read like any other. (#9)
+- Heights below zero keep their sign: -0.2 m & not 0.2 m. (#38)
+'
same 'the section' "$section
." "$(ours diff -U0 HEAD~1 HEAD -- CHANGELOG.md | grep '^[-+]' | grep -v '^[-+][-+][-+] '; echo .)"
same 'place of the section' '## 1.5.0 (2026-03-02)
## 1.4.2 (2026-01-19)
## 1.4.1 (2025-11-03)' "$(ours show HEAD:CHANGELOG.md | grep '^## ')"
same 'line before the section' '# Changes of tidewatch

## 1.5.0 (2026-03-02)' "$(ours show HEAD:CHANGELOG.md | sed -n '/^# /,/^## /p')"

# --- Other repositories.
ours show HEAD~1:tools/prepare > "$work/prepare" || exit 1
if [ ! -x tools/prepare ]; then echo 'tools/prepare cannot be started'; exit 1; fi

fresh() { # fresh OLD: a repository of that version, without fragments
    rm -rf "$work/repo"
    git init -q --template= -b main "$work/repo"
    cd "$work/repo" || exit 1
    mkdir tools changes.d docs
    cp "$work/prepare" tools/prepare
    chmod 755 tools/prepare
    printf '%s\n' "$1" > VERSION
    printf '%s\n' '#!/bin/sh' "version=$1" "echo \"version=$1 of tidewatch-$1\"" "# version=$1 was good" > tidewatch
    chmod 755 tidewatch
    printf '%s\n' '.\" A manual page.' ".TH TIDEWATCH 1 \"2025-12-24\" \"tidewatch $1\" \"Harbour Commands\"" \
        "Since \"2025-12-24\" and \"tidewatch $1\" nothing changed." > tidewatch.1
    printf '%s\n' "See tidewatch-$1.tar.gz and tidewatch-$1/README" "but tidewatch $1, $1 and tidewatch-0.0.1 stay," \
        "as does tidewatch-$(printf '%s' "$1" | tr . x)." > README.md
    printf '%s\n' '# Changes' '' 'Newest on top.' '' "## $1 (2025-12-24)" '' '### Changed' '' '- Old & `good`. (#3)' > CHANGELOG.md
    printf '%s\n' 'How to write fragments: 12.added.md' > changes.d/README.md
    commit 'Before'
}

commit() { # commit MESSAGE
    git add --all
    git commit -q -m "$1"
}

prepare() { # prepare FOLDER ARGUMENT...: as somebody would, in that folder
    folder=$1
    shift
    (cd "$folder" && timeout 30 "$work/repo/tools/prepare" "$@") > "$work/out" 2> "$work/err" < /dev/null
    code=$?
}

state() { # everything that a refusal must leave alone
    git for-each-ref --format='%(refname) %(objectname)'
    git symbolic-ref HEAD
    git status --porcelain --ignored
    git ls-files -s
    find . -path ./.git -prune -o -type f -exec cksum {} + | sort
}

refuses() { # refuses NAME ARGUMENT...
    name=$1
    shift
    before=$(state)
    prepare . "$@"
    same "$name: exit" 2 "$code"
    same "$name: says why" yes "$([ -s "$work/err" ] && echo yes)"
    same "$name: nothing changed" "$before" "$(state)"
}

fresh 2.9.11
printf '%s\n' 'Second line by line' '	and 100% %s \n "quoted" $HOME  ' '' '& `more` \\1.' > changes.d/12.fixed.md
printf 'No line end' > changes.d/101.fixed.md
printf '%s\n' '  Early * one' > changes.d/7.fixed.md
printf '%s\n' 'Something new' > changes.d/8.added.md
printf '%s\n' 'Number nine' > changes.d/9.added.md
commit 'Fragments'
prepare docs 2.10.0 2026-12-01
same 'other: exit' 0 "$code"
same 'other: VERSION' '2.10.0' "$(git show HEAD:VERSION)"
same 'other: program' '#!/bin/sh
version=2.10.0
echo "version=2.9.11 of tidewatch-2.9.11"
# version=2.9.11 was good' "$(git show HEAD:tidewatch)"
same 'other: manual page' '.\" A manual page.
.TH TIDEWATCH 1 "2026-12-01" "tidewatch 2.10.0" "Harbour Commands"
Since "2025-12-24" and "tidewatch 2.9.11" nothing changed.' "$(git show HEAD:tidewatch.1)"
same 'other: README' 'See tidewatch-2.10.0.tar.gz and tidewatch-2.10.0/README
but tidewatch 2.9.11, 2.9.11 and tidewatch-0.0.1 stay,
as does tidewatch-2x9x11.' "$(git show HEAD:README.md)"
same 'other: CHANGELOG' '# Changes

Newest on top.

## 2.10.0 (2026-12-01)

### Added

- Something new (#8)
- Number nine (#9)

### Fixed

- Early * one (#7)
- Second line by line and 100% %s \n "quoted" $HOME & `more` \\1. (#12)
- No line end (#101)

## 2.9.11 (2025-12-24)

### Changed

- Old & `good`. (#3)' "$(git show HEAD:CHANGELOG.md)"
same 'other: commits' 'Release 2.10.0
Fragments
Before' "$(git log --format=%s)"
same 'other: tag' "tag $(git rev-parse HEAD) tidewatch 2.10.0" \
    "$(git cat-file -t v2.10.0) $(git rev-parse 'v2.10.0^{commit}') $(git for-each-ref --format='%(contents:subject)' refs/tags/v2.10.0)"
same 'other: clean' '' "$(git status --porcelain)"
same 'other: fragments' 'changes.d/README.md' "$(git ls-files changes.d)"
same 'other: still a program' 755 "$(stat -c %a tidewatch)"
refuses 'no fragments' 2.10.1 2026-12-02

printf '%s\n' 'Repaired' > changes.d/200.fixed.md
commit 'A fragment'
git tag v2.12.0 HEAD~1
for version in 2.10.0 2.9.12 1.99.99 2.10 2.10.1.0 v2.10.1 2.10.01 02.11.0 2.10.x 2.11.0-rc1 '' ' 2.11.0' -1.0.0 2.12.0; do
    refuses "version '$version'" "$version" 2026-12-02
done
for date in 2026-12-2 26-12-02 2026/12/02 today '' '2026-12-02 ' 2026-12-021; do
    refuses "date '$date'" 2.11.0 "$date"
done
refuses 'no argument'
refuses 'an argument' 2.11.0
refuses 'too many arguments' 2.11.0 2026-12-02 now
: > loose
refuses 'an untracked file' 2.11.0 2026-12-02
rm loose
printf '\n' >> README.md
refuses 'a changed file' 2.11.0 2026-12-02
git add README.md
refuses 'a staged file' 2.11.0 2026-12-02
git reset -q --hard
git rm -q changes.d/200.fixed.md
printf '%s\n' 'no number' > changes.d/new.added.md
printf '%s\n' 'no such kind' > changes.d/5.removed.md
commit 'Not fragments'
refuses 'other files are no fragments' 2.11.0 2026-12-02
git rm -q changes.d/new.added.md changes.d/5.removed.md
printf '%s\n' 'Back' > changes.d/5.changed.md
commit 'A fragment again'
prepare . 3.0.0 2027-01-01
same 'next: exit' 0 "$code"
same 'next: section' '## 3.0.0 (2027-01-01)

### Changed

- Back (#5)

## 2.10.0 (2026-12-01)' "$(git show HEAD:CHANGELOG.md | sed -n '/^## 3/,/^## 2/p')"

[ "$failed" = 0 ] || printf '%s failures\n' "$failed"
[ "$failed" = 0 ]
