#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Exit 0 if nothing that a ref of /app leads to holds the key and all commits and tags are still there with their
# messages, 1 if not, 3 if that can't be found out.
key=wb-7Qm2vX9tLr4KzW8pJc3N
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_NO_REPLACE_OBJECTS=1
unset GIT_DIR GIT_WORK_TREE
command -v git > /dev/null || exit 3
cd /app || exit 1
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
git() { command git -c safe.directory='*' -c core.hooksPath=/dev/null "$@"; }

git rev-list --objects --all HEAD > "$work/objects" || exit 1
cut -d ' ' -f 1 "$work/objects" | git cat-file --batch > "$work/contents" || exit 1
if grep -q -a -F -e "$key" "$work/contents"; then exit 1; fi
git for-each-ref --format='%(refname) %(contents)' > "$work/refs" || exit 1
if grep -q -F -e "$key" "$work/refs"; then exit 1; fi

git log --reverse --format=%s main > "$work/subjects" || exit 1
head -n 7 "$work/subjects" > "$work/first"
cat > "$work/wanted" <<'SUBJECTS'
Open the waitlist
Deploy from the repository
Test the deployment
Announce releases in the chat
Test announcements
Write down what to do at night
Say what it will cost
SUBJECTS
cmp -s "$work/first" "$work/wanted" || exit 1
while read -r tag subject; do
    [ "$(git log -1 --format=%s "refs/tags/$tag" 2> /dev/null)" = "$subject" ] || exit 1
    git merge-base --is-ancestor "refs/tags/$tag" main || exit 1
done <<'TAGS'
v0.1 Deploy from the repository
v0.2 Test the deployment
v0.3 Test announcements
v0.4 Write down what to do at night
TAGS
exit 0
