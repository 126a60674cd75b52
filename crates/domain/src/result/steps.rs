//! What the rewards of a task's steps come to ([`completion_of_steps`]).

use alloc::{collections::BTreeSet, string::String, vec::Vec};

use crate::{release::RewardStrategy, session::CompletionOutcome};

/// The completion of a task from what the verifier of each declared step left.
///
/// With [`RewardStrategy::Mean`] a step that was not reached, or left no reward, counts 0 for every
/// key; so does a key that a step does not give. If no step left a reward, the first reason is the
/// task's. With [`RewardStrategy::Final`] the last declared step alone counts, reached or not.
pub fn completion_of_steps(
    strategy: RewardStrategy,
    steps: &[Option<&CompletionOutcome>],
) -> CompletionOutcome {
    match strategy {
        RewardStrategy::Mean => mean(steps),
        RewardStrategy::Final => {
            steps.last().copied().flatten().cloned().unwrap_or(CompletionOutcome::NoReward)
        }
    }
}

fn mean(steps: &[Option<&CompletionOutcome>]) -> CompletionOutcome {
    let given: Vec<&Vec<(String, f64)>> = steps
        .iter()
        .filter_map(|outcome| match outcome {
            Some(CompletionOutcome::Rewards(rewards)) => Some(rewards),
            _ => None,
        })
        .collect();
    if given.is_empty() {
        let reason = steps.iter().find_map(|outcome| *outcome);
        return reason.cloned().unwrap_or(CompletionOutcome::NoReward);
    }
    let keys: BTreeSet<&String> = given.iter().flat_map(|all| all.iter().map(|(k, _)| k)).collect();
    let mean_of = |key: &String| {
        let values = given.iter().flat_map(|all| all.iter().filter(|(k, _)| k == key).take(1));
        // Divided first: finite rewards have a finite mean.
        values.map(|(_, value)| value / steps.len() as f64).sum::<f64>()
    };
    CompletionOutcome::Rewards(keys.into_iter().map(|key| (key.clone(), mean_of(key))).collect())
}
