# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Old releases go.
. "$LIB"
for n in 1 2 3 4 5; do
    deploy
done
equal "$(ls live/releases | tr '\n' ' ')" '3 4 5 '
