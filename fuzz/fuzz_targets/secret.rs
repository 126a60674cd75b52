//! A value in every disguise, between any bytes: found wherever it stands, and never where nothing stands.
#![no_main]

use domain::acceptance::checks::Disguises;
use libfuzzer_sys::fuzz_target;

const VALUE: &str = "sk_test_7Qm2Zx9LrVbT4wKd";

fuzz_target!(|parts: (&[u8], &[u8], u8)| {
    let (before, after, which) = parts;
    let disguises = Disguises::of(VALUE).expect("a value");
    let _ = disguises.find(before);
    let hidden: Vec<u8> = match which % 4 {
        0 => VALUE.bytes().collect(),
        1 => VALUE.bytes().rev().collect(),
        2 => VALUE.bytes().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect(),
        _ => VALUE.chars().flat_map(|c| [c as u8, 0]).collect(),
    };
    let text = [before, &hidden, after].concat();
    assert!(disguises.find(&text).is_some(), "way {} is not found", which % 4);
});
