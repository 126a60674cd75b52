#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Makes the repository: three commits with fixed dates, two releases, five fragments, a remote of its own.
set -eu
mkdir -p /app /srv
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE || true
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
umask 022
files=$(pwd)/files
cd /app
git init -q --template= -b main .
git config core.fileMode true
git config gc.auto 0

by_ines() { # by_ines DATE COMMAND...: a git command of hers at that time
    when=$1
    shift
    GIT_AUTHOR_NAME='Ines Roth' GIT_AUTHOR_EMAIL=ines@example.org GIT_AUTHOR_DATE="$when" \
        GIT_COMMITTER_NAME='Ines Roth' GIT_COMMITTER_EMAIL=ines@example.org GIT_COMMITTER_DATE="$when" \
        git "$@"
}

at_version() { # at_version VERSION DATE: the files as they were in that release
    for file in tidewatch tidewatch.1 README.md; do
        sed -e "s/tidewatch-1\.4\.2/tidewatch-$1/g" -e "s/^version=1\.4\.2\$/version=$1/" \
            -e "s/\"2026-01-19\" \"tidewatch 1\.4\.2\"/\"$2\" \"tidewatch $1\"/" "$files/$file" > "$file"
    done
    printf '%s\n' "$1" > VERSION
    chmod 755 tidewatch
}

mkdir tests changes.d
cp "$files/.gitignore" .
cp "$files/changes.d/README.md" changes.d/
cp "$files/tests/run.sh" tests/run.sh
chmod 644 tests/run.sh changes.d/README.md
cp "$files/sample.tides" .

at_version 1.4.1 2025-11-03
sed '/^## 1\.4\.2/,/^## 1\.4\.1/{/^## 1\.4\.1/!d;}' "$files/CHANGELOG.md" > CHANGELOG.md
git add --all
by_ines '2025-11-03T09:00:00Z' commit -q -m 'Release 1.4.1'
by_ines '2025-11-03T09:01:00Z' tag -a -m 'tidewatch 1.4.1' v1.4.1

at_version 1.4.2 2026-01-19
cp "$files/CHANGELOG.md" CHANGELOG.md
git add --all
by_ines '2026-01-19T16:20:00Z' commit -q -m 'Release 1.4.2'
by_ines '2026-01-19T16:21:00Z' tag -a -m 'tidewatch 1.4.2' v1.4.2

printf '%s\n' 'The option --station takes names in any case.' > changes.d/41.changed.md
printf '%s\n' 'A table with Windows line ends is read' 'like any other.' > changes.d/9.fixed.md
printf '%s\n' 'The option --days N shows the next N days, 1 to 14.' > changes.d/102.added.md
printf '%s\n' 'Heights below zero keep their sign: -0.2 m & not 0.2 m.' > changes.d/38.fixed.md
printf '%s\n' 'Stations may be written with a backslash before a blank,' '  as in `North\ Pier`.' > changes.d/77.added.md
git add --all
by_ines '2026-02-20T11:45:00Z' commit -q -m 'Collect what is new'

# Where the project is published from; nobody may push to it today.
git clone -q --bare --template= . /srv/tidewatch.git
git -C /srv/tidewatch.git remote remove origin
git remote add origin /srv/tidewatch.git
by_ines "2026-02-20T11:50:00Z" fetch -q origin
rm -f .git/FETCH_HEAD
git config user.name 'Jona Example'
git config user.email jona@example.org
