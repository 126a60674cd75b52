//! Lints of a release: everything that is wrong with it, all at once, as [`Note`]s.

mod acceptance;
mod arms;
mod checks;
mod conditions;
mod counterexamples;
mod delivered;
mod limits;
mod note;
mod sandboxes;
mod secrets;
mod shape;
mod steps;
pub mod suggest;
mod wordings;

use alloc::{string::String, vec::Vec};

pub use note::{Note, NotePath, Severity};
pub use shape::is_id;

use super::{Fact, Pair, PermissionTable, Persona, Release, Requirement, Task};
use super::{merged_facts, merged_permissions};
use crate::ids::CheckId;
use note::Notes;

/// Every note on the release, in order of their places. What only the files show (canary lines,
/// unknown keys) and what only a sandbox shows (the oracle's proof) is looked at elsewhere.
pub fn lint(release: &Release) -> Vec<Note> {
    let mut notes = Notes::default();
    shape::release(release, &mut notes);
    for persona in release.personas.values() {
        shape::persona(persona, &mut notes);
        wordings::persona(persona, &mut notes);
    }
    for pair in release.pairs.values() {
        shape::pair(pair, release, &mut notes);
        checks::pair(pair, &mut notes);
        let (Some(persona), Some(task)) =
            (release.personas.get(&pair.persona), release.tasks.get(&pair.task))
        else {
            continue;
        };
        let scope = Scope::new(pair, persona, task);
        wordings::pair(&scope, &mut notes);
        secrets::pair(&scope, &mut notes);
        conditions::pair(&scope, &mut notes);
        acceptance::pair(&scope, &mut notes);
        limits::pair(&scope, &mut notes);
        sandboxes::pair(&scope, &mut notes);
        counterexamples::pair(&scope, &mut notes);
        arms::pair(&scope, release, &mut notes);
        steps::pair(&scope, &mut notes);
    }
    notes.finish()
}

/// A pair with what lies below it.
struct Scope<'a> {
    pair: &'a Pair,
    persona: &'a Persona,
    task: &'a Task,
    permissions: PermissionTable,
    facts: Vec<Fact>,
}

impl<'a> Scope<'a> {
    fn new(pair: &'a Pair, persona: &'a Persona, task: &'a Task) -> Self {
        Scope {
            pair,
            persona,
            task,
            permissions: merged_permissions(persona, pair),
            facts: merged_facts(persona, pair),
        }
    }

    /// What to do about a check that the pair does not have.
    fn other_check(&self, unknown: &CheckId) -> String {
        if self.pair.checks.is_empty() {
            return "add it to this pair's `[check]` table".into();
        }
        let known = self.pair.checks.iter().map(|check| check.id.as_str());
        suggest::remedy(unknown.as_str(), known)
    }

    /// A place in a requirement of the pair.
    fn at(&self, requirement: &Requirement, key: impl Into<String>) -> NotePath {
        NotePath::Requirement(self.pair.id.clone(), requirement.id.clone(), key.into())
    }

    /// A place in a check of the pair.
    fn at_check(&self, check: &CheckId, key: impl Into<String>) -> NotePath {
        NotePath::Check(self.pair.id.clone(), check.clone(), key.into())
    }
}
