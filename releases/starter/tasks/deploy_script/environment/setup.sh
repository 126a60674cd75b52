#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Makes the repository: commits with fixed dates and people, tagged versions, main checked out and clean.
set -eu
mkdir -p /app
cd /app
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE || true
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
umask 022
git init -q --template= -b main .
git config core.fileMode true
git config gc.auto 0

files=/environment/files
put() { # put MODE FILE...
    mode=$1
    shift
    for file; do
        mkdir -p "$(dirname "$file")"
        cp "$files/$file" "$file"
        chmod "$mode" "$file"
    done
}

commit() { # commit DATE SUBJECT
    git add -A
    GIT_AUTHOR_NAME='Jonas Weck' GIT_AUTHOR_EMAIL=jonas@example.org GIT_AUTHOR_DATE="$1" \
        GIT_COMMITTER_NAME='Jonas Weck' GIT_COMMITTER_EMAIL=jonas@example.org GIT_COMMITTER_DATE="$1" \
        git commit -q -m "$2"
}

put 644 site/index.html
commit '2025-11-03T09:00:00Z' 'Open the waitlist'
put 755 deploy.sh bin/announce
put 644 README.md config/deploy.conf
sed -i '/tests\/run.sh/,$d' README.md
sed -i '/^ANNOUNCE_KEY=/d' config/deploy.conf
commit '2025-11-05T16:20:00Z' 'Deploy from the repository'
git tag v0.1
put 644 tests/run.sh tests/lib.sh tests/cases/first.sh tests/cases/next.sh tests/cases/keep.sh README.md
commit '2025-11-11T10:45:00Z' 'Test the deployment'
git tag v0.2
put 644 config/deploy.conf
commit '2025-11-19T18:05:00Z' 'Announce releases in the chat'
put 644 tests/cases/announce.sh tests/cases/committed.sh
commit '2025-11-20T08:30:00Z' 'Test announcements'
git tag v0.3
put 644 docs/runbook.md
commit '2025-12-08T07:15:00Z' 'Write down what to do at night'
git tag v0.4
put 644 site/pricing.html tests/cases/arguments.sh tests/cases/remote.sh
commit '2026-01-14T11:00:00Z' 'Say what it will cost'

# Who works in this clone.
git config user.name 'Priya Sand'
git config user.email priya@example.org
