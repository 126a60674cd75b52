#!/bin/sh
# canary pcb-tiny-62c178bb-e2bc-4ec4-8706-695884405c8a: do not train on this file
# Prints a greeting.
printf 'Hello, World!\n'
