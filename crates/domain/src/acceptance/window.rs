//! From which turn a requirement binds and at which moment it is judged ([`Window`]).

use super::Look;
use crate::{
    evidence::Missing,
    ids::Turn,
    release::{Binds, IfPreviolated, Requirement},
};

/// What an evaluation counts: what offends from a turn on, everything up to a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first turn in which it binds; what offends earlier is not held against the agent.
    pub from: Turn,
    /// The look at which it is judged; later evidence is not seen.
    pub moment: Look,
    /// What becomes of a state that was already wrong before `from`.
    pub if_previolated: IfPreviolated,
}

impl Window {
    /// A window in which what was wrong before must be undone.
    pub fn new(from: Turn, moment: Look) -> Self {
        Self { from, moment, if_previolated: IfPreviolated::Undo }
    }

    /// From the first turn, as a user would notice a breach of a rule that was never told.
    pub fn whole(moment: Look) -> Self {
        Self::new(Turn(1), moment)
    }

    /// The window of a requirement whose telling opened the turn `told`.
    pub fn of(requirement: &Requirement, told: Turn, moment: Look) -> Self {
        let from = match requirement.binds {
            Binds::WhenTold => told,
            Binds::FromStart => Turn(1),
        };
        Self { from, moment, if_previolated: requirement.tell.if_previolated }
    }

    /// Whether something of the turn can offend.
    pub(super) fn binds(&self, turn: Turn) -> bool {
        turn >= self.from
    }

    /// Whether a state at the look can offend; the seal is the last look of every window.
    pub(super) fn binds_look(&self, look: Look) -> bool {
        match look {
            Look::Turn(turn) => self.binds(turn),
            Look::Sealed => true,
        }
    }

    /// What may have been missed matters only where it could offend: not before the window begins.
    pub(super) fn gap(&self, gap: Option<Missing>) -> Option<Missing> {
        gap.filter(|_| self.binds_look(self.moment))
    }

    /// Whether something of the turn has been seen by the moment.
    pub(super) fn has_seen(&self, turn: Turn) -> bool {
        match self.moment {
            Look::Turn(now) => turn <= now,
            Look::Sealed => true,
        }
    }
}
