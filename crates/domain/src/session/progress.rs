//! What is gathered about the turn that is going on ([`TurnInProgress`]).

use alloc::{string::String, vec, vec::Vec};

use crate::{
    acceptance::Reading,
    controller::{EndedTurn, Used},
    fault::Ending,
    ids::{CheckId, Turn},
    interpret::Interpretation,
    release::ActionClass,
};

/// Signs and words of one turn, from its prompt on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TurnInProgress {
    pub turn: Turn,
    /// Whether its message reached the agent.
    pub is_delivered: bool,
    /// Whether anything followed the message: an update, an output, a provider request.
    pub is_followed: bool,
    /// Whether the agent used a tool.
    pub has_acted: bool,
    /// Whether a path changed.
    pub has_changed: bool,
    /// The agent's text after its last tool call.
    pub message: String,
    pub classes_asked: Vec<ActionClass>,
    /// Why it is being stopped.
    pub stopping: Option<Ending>,
    pub is_interrupted: bool,
    /// The ending that it brings about whatever is found at its end.
    pub ending: Option<Ending>,
    pub interpretation: Interpretation,
    /// Whether it is a hand-off by its words.
    pub hands_off: bool,
    /// Whether the agent got less than its share of processors.
    pub is_starved: bool,
}

impl Default for TurnInProgress {
    fn default() -> Self {
        Self::of(Turn::BASE)
    }
}

impl TurnInProgress {
    pub(super) fn of(turn: Turn) -> Self {
        Self {
            turn,
            is_delivered: false,
            is_followed: false,
            has_acted: false,
            has_changed: false,
            message: String::new(),
            classes_asked: vec![],
            stopping: None,
            is_interrupted: false,
            ending: None,
            interpretation: Interpretation::default(),
            hands_off: false,
            is_starved: false,
        }
    }

    /// Something came of the agent: its message has reached it if it was delivered at all.
    pub(super) fn follow(&mut self) {
        self.is_followed |= self.is_delivered;
    }

    /// What the controller is told of it.
    pub(super) fn ended(&self, used: Used, readings: Vec<(CheckId, Reading)>) -> EndedTurn {
        EndedTurn {
            turn: self.turn,
            is_cut_short: self.ending.is_some(),
            message: self.message.clone(),
            interpretation: self.interpretation.clone(),
            classes_asked: self.classes_asked.clone(),
            has_acted: self.has_acted,
            has_changed: self.has_changed,
            used,
            readings,
        }
    }
}
