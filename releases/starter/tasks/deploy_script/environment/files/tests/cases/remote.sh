# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# The pages arrive on another host.
. "$LIB"
[ -n "${DEPLOY_TEST_HOST-}" ] || exit 77
deploy
tar -c -C live . | ssh "$DEPLOY_TEST_HOST" 'rm -rf pages-test && mkdir pages-test && tar -x -C pages-test'
equal "$(ssh "$DEPLOY_TEST_HOST" 'cat pages-test/current/index.html')" 'page 1'
