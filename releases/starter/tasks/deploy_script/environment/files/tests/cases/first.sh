# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# The first release.
. "$LIB"
equal "$(deploy)" 'live: 1'
equal "$(cat live/current/index.html)" 'page 1'
