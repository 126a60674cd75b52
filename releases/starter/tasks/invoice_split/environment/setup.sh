#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Makes the repository: the program as it grew, with fixed dates and people, and a tag on what is in use.
set -eu
mkdir -p /app
cp -R files/. /app/
cd /app
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE || true
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
find . -type d -exec chmod 755 {} +
find . -type f -exec chmod 644 {} +
umask 022
git init -q --template= -b main .
git config core.fileMode true
git config gc.auto 0

commit() { # commit DATE SUBJECT
    GIT_AUTHOR_NAME='Ines Ahorn' GIT_AUTHOR_EMAIL=ines@example.org GIT_AUTHOR_DATE="$1" \
        GIT_COMMITTER_NAME='Ines Ahorn' GIT_COMMITTER_EMAIL=ines@example.org GIT_COMMITTER_DATE="$1" \
        git commit -q -m "$2"
}

printf '__pycache__/\n' > .gitignore
git add invoice.py .gitignore
commit '2025-11-03T09:00:00Z' 'Invoices as the shops know them'
git add orders tests
commit '2026-01-15T16:20:00Z' 'Compare some orders with their invoices'
git tag v2.3

# Who works in this clone.
git config user.name 'Kim Example'
git config user.email kim@example.org
find . -exec touch -d '2026-01-15T16:20:00Z' {} +
