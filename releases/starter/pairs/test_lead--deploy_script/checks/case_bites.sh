#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Exit 0 if tests/cases/rollback.sh passes and turns red once --rollback leaves the old pages live, 1 if not, 3 if
# that can't be found out. The fault is put in front of the program, whatever the program looks like.
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
[ -f /app/tests/cases/rollback.sh ] || exit 1
[ -f /app/deploy.sh ] || exit 1
mkdir "$work/app" || exit 3
(cd /app && tar -c --exclude ./.git -f - .) | tar -x -C "$work/app" -f - || exit 3
cd "$work/app" || exit 3
unset DEPLOY_TEST_HOST SPOILED

green() { # green: whether the case ran and passed, told by its own line
    timeout 50 sh tests/run.sh rollback > "$work/output" 2>&1 && grep -q '^ok  *rollback$' "$work/output"
}

green || exit 1
cp deploy.sh "$work/real" || exit 3
{
    cat <<'FAULT'
#!/bin/sh
if [ -z "${SPOILED-}" ]; then
    back='' settings='' before=''
    for argument; do
        [ "$argument" != --rollback ] || back=yes
        [ "$before" != --conf ] || settings=$argument
        before=$argument
    done
    if [ -n "$back" ] && [ -f "$settings" ]; then
        case $settings in */*) ;; *) settings=./$settings ;; esac
        place=$(. "$settings" && printf '%s' "$TARGET")
        link=$(readlink "$place/current")
        code=0
        SPOILED=yes sh "$0" "$@" || code=$?
        [ -z "$link" ] || ln -sfn "$link" "$place/current"
        exit "$code"
    fi
fi
FAULT
    cat "$work/real"
} > deploy.sh
green && exit 1
grep -q '^FAILED  *rollback$' "$work/output" && exit 0
exit 1
