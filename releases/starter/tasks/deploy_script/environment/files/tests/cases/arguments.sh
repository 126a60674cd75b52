# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# What is not understood is refused.
. "$LIB"
code=0
said=$(deploy --bogus 2>&1) || code=$?
equal "$code $said" '2 deploy: unknown argument: --bogus'
code=0
said=$(sh project/deploy.sh --conf nowhere.conf 2>&1) || code=$?
equal "$code $said" '2 deploy: no settings: nowhere.conf'
