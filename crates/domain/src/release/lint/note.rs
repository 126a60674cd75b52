//! What a lint says ([`Note`]), and where ([`NotePath`]).

use alloc::{string::String, vec::Vec};

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

/// A place in a release. The text is the dotted key below the table that the variant names, entries
/// of arrays by their number from 0 (`feedback.restate.2`, `knows.0.say.1`); empty means the table
/// itself.
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

/// Notes while they are taken.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Note>);

impl Notes {
    /// Takes down something that keeps the release from being locked.
    pub(super) fn error(
        &mut self,
        path: NotePath,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(Severity::Error, path, message.into(), remedy.into());
    }

    /// Takes down something that an author should know.
    pub(super) fn warning(
        &mut self,
        path: NotePath,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(Severity::Warning, path, message.into(), remedy.into());
    }

    /// All notes in order of their places, each once.
    pub(super) fn finish(mut self) -> Vec<Note> {
        self.0.sort();
        self.0.dedup();
        self.0
    }

    fn push(&mut self, severity: Severity, path: NotePath, message: String, remedy: String) {
        self.0.push(Note { path, severity, message, remedy });
    }
}
