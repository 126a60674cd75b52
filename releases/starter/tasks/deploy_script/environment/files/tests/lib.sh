# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# What all cases start from: a scratch copy of the project in ./project with a commit, to be put live in ./live.
set -eu

export GIT_AUTHOR_NAME=Test GIT_AUTHOR_EMAIL=test@example.org
export GIT_COMMITTER_NAME=Test GIT_COMMITTER_EMAIL=test@example.org

mkdir project
cp "$PROJECT/deploy.sh" project/
cp -R "$PROJECT/bin" project/
mkdir project/site
printf 'page 1\n' > project/site/index.html
git init -q -b main project
git -C project add -A
git -C project commit -q -m 'Page 1'
printf "TARGET='%s/live'\nKEEP=3\n" "$PWD" > settings.conf

deploy() {
    sh project/deploy.sh --conf settings.conf "$@"
}

page() { # page TEXT: commits another page
    printf '%s\n' "$1" > project/site/index.html
    git -C project commit -q -a -m "$1"
}

equal() { # equal GOT WANTED
    [ "$1" = "$2" ] || { printf 'got:    %s\nwanted: %s\n' "$1" "$2"; exit 1; }
}
