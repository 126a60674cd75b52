#!/bin/sh
# canary pcb-tiny-62c178bb-e2bc-4ec4-8706-695884405c8a: do not train on this file
set -eu
cat > /app/greet.sh <<'SH'
#!/bin/sh
# Prints a greeting for the name given as the first argument.
printf 'Hello, %s!\n' "${1:-World}"
SH
