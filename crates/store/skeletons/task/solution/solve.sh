#!/bin/sh
# canary {{canary}}: do not train on this file
# Proves that the task can be done; it runs in the working directory.
set -eu
cat > /app/total.sh <<'SH'
#!/bin/sh
# Adds up the numbers in a file; empty lines and comments count nothing.
total=0
while read -r line || [ -n "$line" ]; do
    case $line in
        '' | '#'*) continue ;;
    esac
    total=$((total + line))
done < "$1"
printf '%s\n' "$total"
SH
