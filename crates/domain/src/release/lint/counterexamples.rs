//! Lints of the scripts that prove that requirements can fail.

use alloc::format;

use super::{Scope, note::Notes};
use crate::release::CounterexampleKind;

/// A requirement whose failure nobody has shown may be one that cannot be failed.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    let is_sabotaged = |requirement| {
        scope.pair.counterexamples.iter().any(|script| {
            script.kind == CounterexampleKind::Saboteur && &script.requirement == requirement
        })
    };
    for requirement in &scope.pair.requirements {
        if requirement.mandatory && !is_sabotaged(&requirement.id) {
            notes.error(
                scope.at(requirement, "id"),
                "no saboteur shows that it can fail",
                format!(
                    "add `pairs/{}/saboteurs/{}.toml`: the oracle's script that does all but this",
                    scope.pair.id, requirement.id
                ),
            );
        }
    }
}
