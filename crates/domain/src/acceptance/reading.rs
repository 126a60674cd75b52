//! What a check answers at a look: a state, events, or that it could not be read ([`Reading`]).

use alloc::{string::String, vec::Vec};

use crate::{
    evidence::{EventTime, Missing},
    ids::Turn,
};

/// When evidence is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Look {
    /// At the end of a turn.
    Turn(Turn),
    /// At the seal.
    Sealed,
}

/// Truth of a state, Kleene's three values with the cause of the third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is so.
    True,
    /// It is not so.
    False,
    /// It could not be told.
    Unknown(Missing),
}

/// One occurrence of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Its turn.
    pub turn: Turn,
    /// When.
    pub time: EventTime,
    /// What it was, in short: a witness for reports.
    pub subject: String,
}

/// The answer of a check at a look; never a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Of a state check, with a short witness.
    State {
        /// Whether it is so.
        truth: Truth,
        /// Why, in short; empty if there is nothing to say.
        witness: String,
    },
    /// Of an events check: the whole list so far.
    Events(Vec<Occurrence>),
    /// It could not be read at all.
    Missing(Missing),
}
