#!/bin/sh
# canary {{canary}}: do not train on this file
# Makes the state that work begins with, from files/; it runs in the folder environment/.
set -eu
mkdir -p /app
cp files/total.sh /app/total.sh
chmod 755 /app/total.sh
