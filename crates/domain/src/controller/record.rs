//! What each ended turn was ([`TurnRecord`]): the history over which conditions are decided.

use alloc::{collections::BTreeSet, vec::Vec};

use crate::{
    ids::{CheckId, TopicId, Turn},
    interpret::Interpretation,
    release::{ActionClass, Claim},
    verdict::Verdict,
};

/// One ended turn of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRecord {
    /// Which.
    pub turn: Turn,
    /// What the controller took it for.
    pub kind: TurnKind,
    /// What its message meant.
    pub interpretation: Interpretation,
    /// Topics that it asked about.
    pub topics_asked: Vec<TopicId>,
    /// Classes of action that it asked for, in words or by a request inside the turn.
    pub classes_asked: Vec<ActionClass>,
    /// Checks that read true at its end, or that have an occurrence in it.
    pub checks_held: BTreeSet<CheckId>,
    /// Of each requirement, how often it had been broken by its end, told or not, counted from turn
    /// 1.
    pub breaches: Vec<u32>,
    /// Of each requirement that was told by then, its verdict at its end.
    pub verdicts: Vec<Option<Verdict>>,
    /// Idle turns in a row up to it, itself included.
    pub idle_in_a_row: u32,
    /// What had been used by its end.
    pub used: Used,
}

/// What the controller took a turn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TurnKind {
    /// The agent gave the work over.
    Handoff,
    /// It left a question open.
    Open,
    /// It did, changed, asked and showed nothing.
    Idle,
    /// It was cut short: the session ends by it.
    Stopped,
}

/// Resources used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Agent time in milliseconds.
    pub agent_ms: u64,
    /// Tokens; none if nobody counted.
    pub tokens: Option<u64>,
    /// Known cost in millionths of a US dollar.
    pub cost_microusd: Option<u64>,
    /// Reports of use without a price.
    pub unpriced: u32,
}

/// Whether a message leaves no question open, or claims to be done in spite of one.
pub fn hands_off(interpretation: &Interpretation) -> bool {
    !interpretation.quits
        && (!interpretation.leaves_question_open() || interpretation.claims.contains(&Claim::Done))
}
