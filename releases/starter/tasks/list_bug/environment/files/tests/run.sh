#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Builds the program and compares what it prints with what is expected. Exit 0 if all agree.
set -eu
cd "$(dirname "$0")/.."
sh build.sh
failed=0

check() { # check NAME COMMANDS EXPECTED; a comma ends a line
    got=$(printf '%s\n' "$2" | tr ',' '\n' | ./shelf)
    want=$(printf '%s\n' "$3" | tr ',' '\n')
    if [ "$got" = "$want" ]; then
        echo "ok: $1"
    else
        echo "FAILED: $1"
        echo "$got"
        failed=1
    fi
}

check 'add and list' 'add bolt 4,add nut 3,list' 'bolt 4,nut 3'
check 'add twice' 'add bolt 4,add nut 3,add bolt 1,list' 'bolt 5,nut 3'
check 'take some' 'add bolt 4,take bolt 3,list,total' 'bolt 1,total 1'
check 'take all of the first' 'add bolt 4,add nut 3,take bolt 4,add clip 1,list' 'nut 3,clip 1'
check 'drop in the middle' 'add a 1,add b 2,add c 3,drop b,add d 4,list' 'a 1,c 3,d 4'
check 'front' 'add a 1,add b 2,add c 3,front b,list' 'b 2,a 1,c 3'
check 'reverse' 'add a 1,add b 2,add c 3,reverse,list' 'c 3,b 2,a 1'
check 'empty again' 'add a 1,drop a,list,count,add b 2,list' 'count 0,b 2'
check 'too many' 'add a 1,take a 2' 'error: only 1 of a'
check 'unknown' 'drop a,front a,jump' 'error: no a on the shelf,error: no a on the shelf,error: what is jump'

exit "$failed"
