#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Writes 1 to the reward file if the program does what was asked, else 0.
# The sources are built in a crate of the verifier's own, so that no setting of /app has a say.
mkdir -p /logs/verifier
printf '0\n' > /logs/verifier/reward.txt
work=$(mktemp -d) || exit 0
trap 'rm -rf "$work"' EXIT

verify() {
    mkdir "$work/tests" && cp -R /app/src "$work/src" && cp /tests/verify.rs "$work/tests/" || return
    printf '[package]\nname = "accesslog"\nversion = "0.4.0"\nedition = "2021"\nautobenches = false\n' \
        > "$work/Cargo.toml" || return
    unset RUSTFLAGS RUSTC_WRAPPER CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
    cd "$work" && CARGO_TARGET_DIR="$work/target" cargo test --offline --test verify
}

if verify; then
    printf '1\n' > /logs/verifier/reward.txt
else
    printf '0\n' > /logs/verifier/reward.txt
fi
