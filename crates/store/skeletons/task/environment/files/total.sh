#!/bin/sh
# canary {{canary}}: do not train on this file
# Prints the sum of the numbers in a file.
sum=0
while read -r number; do
    sum=$((sum + number))
done < "$1"
printf '%s\n' "$sum"
