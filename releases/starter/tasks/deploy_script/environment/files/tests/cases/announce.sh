# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# The chat hears of it if there is a key.
. "$LIB"
deploy
[ ! -e live/outbox ]
printf 'ANNOUNCE_KEY=made-up\n' >> settings.conf
deploy
equal "$(cat live/outbox)" 'room=launch key=made-up text=release 2 is live'
