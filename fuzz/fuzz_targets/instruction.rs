//! A task's statement, canary lines included: read or refused with reasons, linted, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = fuzz::open_with(fuzz::INSTRUCTION, bytes);
});
