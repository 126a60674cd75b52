//! Reward files that a verifier leaves: a reward that counts is a finite number.
#![no_main]

use domain::session::CompletionOutcome;
use engine::completion::read_reward;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (Option<&[u8]>, Option<&[u8]>)| {
    if let CompletionOutcome::Rewards(rewards) = read_reward(parts.0, parts.1) {
        assert!(rewards.iter().all(|(_, value)| value.is_finite()), "{rewards:?}");
    }
});
