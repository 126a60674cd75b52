# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Releases are counted.
. "$LIB"
deploy
page 'page 2'
equal "$(deploy)" 'live: 2'
equal "$(cat live/current/index.html)" 'page 2'
equal "$(cat live/releases/1/index.html)" 'page 1'
