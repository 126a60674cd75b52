//! A script of an agent: read or refused with reasons.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::release_files::read_script;

fuzz_target!(|text: &str| {
    if let Err(problems) = read_script("script.toml", text) {
        assert!(!problems.is_empty(), "a script that is refused says why");
    }
});
