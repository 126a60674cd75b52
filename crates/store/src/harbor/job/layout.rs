//! Names of the files of a Harbor job and of its trials, and of ours beside them.

use domain::ids::{Attempt, PairId, Repeat};

use crate::blobs::hash_of;

/// What is written of a job and of a trial alike.
pub(super) const CONFIG: &str = "config.json";
/// See [`CONFIG`].
pub(super) const RESULT: &str = "result.json";
/// What went wrong, in a trial.
pub(super) const EXCEPTION: &str = "exception.txt";
/// The conversation, in a trial.
pub(super) const TRAJECTORY: &str = "agent/trajectory.json";
/// What the verifier gave, in a trial.
pub(super) const REWARD: &str = "verifier/reward.json";
/// What the verifier printed, in a trial.
pub(super) const TEST_STDOUT: &str = "verifier/test-stdout.txt";
/// What was kept beside a result, in a trial or a step.
pub(super) const ARTIFACTS: &str = "artifacts";
/// The list of it, within that folder.
pub(super) const ARTIFACTS_LIST: &str = "manifest.json";
/// The folders of a trial's steps.
pub(super) const STEPS: &str = "steps";
/// For people who open the job's folder.
pub(super) const README: &str = "README.md";
/// Says whose folder it is and which files of it are ours.
pub(super) const MARKER: &str = "pcb.json";

/// Bytes of a pair's id that a trial's name keeps: a folder's name has 255 at the most.
const PAIR_MAX: usize = 180;

/// The name of a trial: an attempt, or a repeat that has none.
pub fn trial_name(pair: &PairId, repeat: Repeat, attempt: Option<Attempt>) -> String {
    let pair = pair.as_str();
    let pair = match pair.char_indices().take_while(|(at, _)| *at < PAIR_MAX).last() {
        Some((end, last)) if end + last.len_utf8() < pair.len() => {
            let hash = hash_of(pair.as_bytes());
            format!("{}.{}", &pair[..end], &hash.as_str()[..12])
        }
        _ => pair.to_owned(),
    };
    match attempt {
        Some(attempt) => format!("{pair}__repeat-{repeat}.attempt-{attempt}"),
        None => format!("{pair}__repeat-{repeat}.not-run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_named_after_their_sessions() {
        let name = |pair: &str, attempt| trial_name(&PairId::new(pair), Repeat(2), attempt);
        assert_eq!(name("owner--csv", Some(Attempt(3))), "owner--csv__repeat-2.attempt-3");
        assert_eq!(name("owner--csv", None), "owner--csv__repeat-2.not-run");
        let long = ["ä".repeat(120), "ä".repeat(121)].map(|pair| name(&pair, Some(Attempt(1))));
        assert_ne!(long[0], long[1]);
        assert!(long.iter().all(|name| name.len() < 255), "{long:?}");
        let fits = "a".repeat(PAIR_MAX);
        assert!(name(&fits, None).starts_with(&format!("{fits}__")));
    }
}
