#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Exit 0 if the package unpacks into what customers should get of release 1.5.0, 1 if not.
set -u

name=tidewatch-1.5.0
package=/app/dist/$name.tar.gz
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
export HOME="$work" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

no() {
    echo "$1"
    exit 1
}

[ -f "$package" ] && [ ! -h "$package" ] || no 'there is no package'
gzip -t "$package" 2>/dev/null || no 'it is not compressed with gzip'
mkdir "$work/out"
tar -xzf "$package" -C "$work/out" 2>/dev/null || no 'it does not unpack'
# Folders may be listed or not; what lies in them is compared.
found=$(cd "$work/out" && find . ! -type d | LC_ALL=C sort)
wanted="./$name/CHANGELOG.md
./$name/README.md
./$name/sample.tides
./$name/tidewatch
./$name/tidewatch.1"
[ "$found" = "$wanted" ] || no "it holds
$found"
for file in CHANGELOG.md README.md sample.tides tidewatch tidewatch.1; do
    [ -f "$work/out/$name/$file" ] && [ ! -h "$work/out/$name/$file" ] || no "$file is not a file"
    if ! git -c safe.directory='*' -C /app show "v1.5.0:$file" > "$work/released" 2>/dev/null; then
        # Without the tag the release is what lies in the folder.
        cp "/app/$file" "$work/released" || no "there is no $file"
    fi
    cmp -s "$work/released" "$work/out/$name/$file" || no "$file is not that of the release"
done
[ -x "$work/out/$name/tidewatch" ] || no 'the program cannot be started'
