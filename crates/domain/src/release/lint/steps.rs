//! Lints of pairs on tasks that have steps: no persona, a turn for each step, verified on copies.

use alloc::format;

use super::{NotePath, Scope, note::Notes};
use crate::{plan::turns_max, release::VerifyMode, session::Scenario};

/// A pair on a task that has steps.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    let (pair, task) = (scope.pair, scope.task);
    if task.steps.is_empty() {
        return;
    }
    let at = |key: &str| NotePath::Pair(pair.id.clone(), key.into());
    if pair.persona.as_str() != Scenario::NEUTRAL {
        notes.error(
            at("persona"),
            format!(
                "the task `{}` has steps, and its messages are theirs: a persona has no say in it",
                task.id
            ),
            format!(
                "write `persona = \"{}\"`, or pair the persona with a task that has no steps",
                Scenario::NEUTRAL
            ),
        );
    }
    if let Some(requirement) = pair.requirements.first() {
        notes.error(
            scope.at(requirement, ""),
            format!("the task `{}` has steps, so nobody tells this requirement", task.id),
            "remove it, or pair it with a task that has no steps",
        );
    }
    let turns = turns_max(pair, task);
    if (turns as usize) < task.steps.len() {
        notes.error(
            at("budget.turns"),
            format!("{turns} turns do not suffice for {} steps", task.steps.len()),
            format!("allow at least {}, or leave it to the default", task.steps.len()),
        );
    }
    if pair.completion.verify == VerifyMode::Live {
        notes.error(
            at("completion.verify"),
            "steps are verified on copies, in which no service of the agent runs",
            "write `verify = \"fresh\"`",
        );
    }
}
