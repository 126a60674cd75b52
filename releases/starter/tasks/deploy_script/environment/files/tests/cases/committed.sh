# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# What is not committed stays at home.
. "$LIB"
printf 'draft\n' > project/site/index.html
printf 'draft\n' > project/site/draft.html
deploy
equal "$(cat live/current/index.html)" 'page 1'
[ ! -e live/current/draft.html ]
