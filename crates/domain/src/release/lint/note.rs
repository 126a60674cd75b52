//! What a lint says ([`Note`]), and where ([`NotePath`]).

use alloc::string::String;

use crate::ids::{CheckId, PairId, PersonaId, RequirementId, TaskId};

/// One thing that is wrong with a release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Where.
    pub path: NotePath,
    /// Whether it keeps the release from being locked.
    pub severity: Severity,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What to do about it: a lower-case fragment.
    pub remedy: String,
}

/// Whether a note keeps a release from being locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does.
    Error,
    /// It does not.
    Warning,
}

/// A place in a release. The text is the dotted key below the table that the variant names, entries of arrays
/// by their number from 0 (`feedback.restate.2`, `knows.0.say.1`); empty means the table itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotePath {
    /// In `release.toml`.
    Release(String),
    /// In the file of a persona.
    Persona(PersonaId, String),
    /// In `task.toml` of a task.
    Task(TaskId, String),
    /// In the file of a pair.
    Pair(PairId, String),
    /// In a check of a pair; the key is below the table of its kind, for instance `matches`.
    Check(PairId, CheckId, String),
    /// In a requirement of a pair.
    Requirement(PairId, RequirementId, String),
}
