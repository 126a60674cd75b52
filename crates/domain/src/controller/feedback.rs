//! Which words of correction the nth raise of a requirement takes ([`words`]).

use alloc::{string::String, vec::Vec};

use super::LedgerEntry;
use crate::release::{FeedbackLevel, Requirement, Sight};

/// Level and wordings of the next correction; none once it was raised often enough or nothing can
/// be said.
///
/// A requirement has the levels that its author wrote words for; symptom and point need sight of
/// what they speak of. Raises beyond the highest level stay on it.
pub(super) fn words<'a>(
    requirement: &'a Requirement,
    entry: &LedgerEntry,
    sees: &[Sight],
) -> Option<(FeedbackLevel, &'a [String])> {
    let feedback = &requirement.feedback;
    if entry.raised.len() as u64 >= u64::from(feedback.repeats) {
        return None;
    }
    let has_sight = feedback.sight.iter().all(|needed| sees.contains(needed));
    let levels: Vec<(FeedbackLevel, &[String])> = [
        (FeedbackLevel::Symptom, &feedback.symptom, has_sight),
        (FeedbackLevel::Restate, &feedback.restate, true),
        (FeedbackLevel::Point, &feedback.point, has_sight),
    ]
    .into_iter()
    .filter(|(_, words, can_see)| *can_see && !words.is_empty())
    .map(|(level, words, _)| (level, words.as_slice()))
    .collect();
    levels.get(entry.raised.len()).or(levels.last()).copied()
}
