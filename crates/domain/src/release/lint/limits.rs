//! Lints of budgets: turns suffice to tell everything, and no limit ends a session before it
//! begins.

use alloc::format;

use super::{NotePath, Scope, note::Notes};
use crate::plan::turns_max;

/// The budget and the completion rule of a pair.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    let pair = scope.pair;
    let at = |key: &str| NotePath::Pair(pair.id.clone(), key.into());
    let requirements = u32::try_from(pair.requirements.len()).unwrap_or(u32::MAX);
    let refusals = scope.persona.patience.handoff_refusals;
    let needed = requirements.saturating_add(refusals).saturating_add(3);
    let turns = turns_max(pair, scope.task);
    if turns < needed && scope.task.steps.is_empty() {
        notes.error(
            at("budget.turns"),
            format!(
                "{turns} turns do not suffice for {requirements} requirements and {refusals} refusals"
            ),
            format!("allow at least {needed}: 1 + requirements + refusals + 2"),
        );
    }
    if let Some(seconds) = pair.budget.agent_time_sec {
        let native = scope.task.agent.timeout_sec.unwrap_or(0.0);
        if !(seconds.is_finite() && seconds > 0.0) {
            notes.error(
                at("budget.agent_time_sec"),
                format!("{seconds} is no time"),
                "use a positive number of seconds, or leave it to the default",
            );
        } else if seconds < native {
            notes.warning(
                at("budget.agent_time_sec"),
                format!("the task alone may take {native} seconds"),
                "allow at least as much",
            );
        }
    }
    for (key, limit) in
        [("budget.tokens", pair.budget.tokens), ("budget.cost_usd", pair.budget.cost_microusd)]
    {
        if limit == Some(0) {
            notes.error(at(key), "nothing may be used", "raise it, or leave it out");
        }
    }
    completion(scope, notes);
}

fn completion(scope: &Scope<'_>, notes: &mut Notes) {
    let rule = &scope.pair.completion;
    let at = |key: &str| NotePath::Pair(scope.pair.id.clone(), format!("completion.{key}"));
    if rule.key.trim().is_empty() {
        notes.error(at("key"), "the key is empty", "name the reward, usually `reward`");
    }
    if !rule.at_least.is_finite() {
        notes.error(at("at_least"), "no reward can reach it", "use a finite number");
    }
    for (index, path) in rule.paths.iter().enumerate() {
        if !path.starts_with('/') || path.split('/').any(|part| part == "..") {
            notes.error(
                at(&format!("paths.{index}")),
                format!("`{path}` is not absolute"),
                "name a path inside the sandbox, for instance `/app`",
            );
        }
    }
}
