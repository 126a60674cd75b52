//! The log of a session: [`Entry`] after [`Entry`], the truth from which everything is derived.

use alloc::string::String;

use thiserror::Error;

use super::{Answer, Command, Observation};
use crate::ids::CommandId;

/// One line of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place, from 1 without gaps.
    pub seq: u64,
    /// Monotonic milliseconds since the attempt began; invisible to the machine.
    pub elapsed_ms: u64,
    /// What happened.
    pub event: Event,
}

/// What an entry holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The machine decided a command.
    Decided(CommandId, Command),
    /// It was answered.
    Answered(CommandId, Answer),
    /// Something was seen.
    Observed(Observation),
}

/// Why an entry cannot be applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IllegalEntry {
    /// Entries must follow each other without gaps.
    #[error("entry {found} follows entry {expected} of the log")]
    OutOfOrder {
        /// The number that should come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// The logged command is not what the machine decides here.
    #[error("the log's command {logged} is not the decision {decided}")]
    NotDecided {
        /// What the log holds.
        logged: String,
        /// What the machine wants.
        decided: String,
    },
    /// An answer without a matching open command.
    #[error("the answer {answer} does not answer the open command {open}")]
    Unmatched {
        /// The answer.
        answer: String,
        /// The open command or `none`.
        open: String,
    },
    /// Nothing follows the end.
    #[error("the session is over")]
    Over,
}
