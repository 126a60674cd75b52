#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Makes the clone: a few commits with fixed dates and people, two releases, main checked out.
set -eu
mkdir -p /app
cd /app
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE || true
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
umask 022
git init -q --template= -b main .
git config core.fileMode true
git config gc.auto 0

commit() { # commit DATE SUBJECT
    git add -A
    GIT_AUTHOR_NAME='Mara Lind' GIT_AUTHOR_EMAIL=mara@example.org GIT_AUTHOR_DATE="$1" \
        GIT_COMMITTER_NAME='Mara Lind' GIT_COMMITTER_EMAIL=mara@example.org GIT_COMMITTER_DATE="$1" \
        git commit -q --allow-empty -m "$2"
}

files=/environment/files
cp "$files/.gitignore" .
sed '/runs the tests/d' "$files/README.md" > README.md
commit '2025-09-01T10:00:00Z' 'Say what this is going to be'
cp "$files/relnotes" relnotes
chmod 755 relnotes
commit '2025-09-03T18:30:00Z' 'feat: print features and fixes'
git tag v0.1
mkdir tests
cp "$files/tests/run.sh" tests/run.sh
chmod 644 tests/run.sh
cp "$files/README.md" README.md
commit '2025-09-14T09:12:00Z' 'Add tests'
git tag v0.2
commit '2025-10-02T20:05:00Z' 'Announce the second release'

# Who works in this clone.
git config user.name 'Robin Example'
git config user.email robin@example.org
