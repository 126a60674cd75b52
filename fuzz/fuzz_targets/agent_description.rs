//! Descriptions of commands that are agents.
#![no_main]

use adapters::agents::CliDescription;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match CliDescription::read(text) {
        Ok(description) => {
            // One text means one description.
            assert!(CliDescription::read(text).is_ok_and(|again| again == description));
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
});
