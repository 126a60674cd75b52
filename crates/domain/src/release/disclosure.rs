//! Disclosure conditions: a typed tree over what has happened by the end of a turn ([`Condition`]).

use alloc::{boxed::Box, vec::Vec};

use super::{ActionClass, Claim};
use crate::ids::{CheckId, RequirementId};

/// When a requirement becomes due. A leaf means "has happened by the end of this turn".
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// In the first message.
    AtOpening,
    /// When the given turn has ended.
    AfterTurn(u32),
    /// When so many percent of a budget are used.
    AfterShare {
        /// Which budget.
        of: BudgetKind,
        /// Percent, 1 to 100.
        percent: u32,
    },
    /// A question on the requirement's topic, or a request of its class.
    Asked,
    /// A check has read true, or has an occurrence.
    Holds(CheckId),
    /// Another requirement has been told, met or violated since its telling.
    Requirement {
        /// Which one.
        id: RequirementId,
        /// What has become of it.
        is: AfterTelling,
    },
    /// A requirement, told or not, has been violated so often, counted from turn 1.
    Violated {
        /// Which one.
        id: RequirementId,
        /// Occurrences.
        times: u32,
    },
    /// The agent claims something in its message.
    Claims(Claim),
    /// A turn ended as a hand-off.
    AtHandoff,
    /// A requirement has been corrected so often.
    AfterFeedback {
        /// Which one.
        id: RequirementId,
        /// Corrections delivered.
        times: u32,
    },
    /// So many idle turns in a row.
    Silent(u32),
    /// A grant of the class was given.
    Granted(ActionClass),
    /// Every one.
    All(Vec<Condition>),
    /// Any one.
    Any(Vec<Condition>),
    /// Not yet happened.
    Not(Box<Condition>),
    /// The second strictly after the first, within so many turns.
    Then {
        /// What happens first.
        first: Box<Condition>,
        /// What happens in a later turn.
        next: Box<Condition>,
        /// At the most so many turns later; none means any number.
        within_turns: Option<u32>,
    },
}

/// What has become of a requirement since its telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AfterTelling {
    /// It was told.
    Told,
    /// It was met.
    Met,
    /// It was violated.
    Violated,
    /// Any of these, for questions about the tree.
    Any,
}

/// A budget of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetKind {
    /// Turns.
    Turns,
    /// Agent time.
    AgentTime,
    /// Tokens.
    Tokens,
    /// Cost.
    Cost,
}

/// The latest point of a telling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latest {
    /// The first message.
    Opening,
    /// The end of the given turn.
    Turn(u32),
    /// A hand-off.
    #[default]
    Handoff,
}

impl Condition {
    /// Visits every node, parents first.
    pub fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a Condition)) {
        see(self);
        match self {
            Condition::All(list) | Condition::Any(list) => {
                for inner in list {
                    inner.visit(see);
                }
            }
            Condition::Not(inner) => inner.visit(see),
            Condition::Then { first, next, .. } => {
                first.visit(see);
                next.visit(see);
            }
            _ => {}
        }
    }

    /// Whether a node speaks of the requirement; `what` narrows it to one kind of fate.
    pub fn mentions(&self, other: &RequirementId, what: AfterTelling) -> bool {
        let mut found = false;
        self.visit(&mut |node| {
            found |= match node {
                Condition::Requirement { id, is } => {
                    id == other && (what == AfterTelling::Any || *is == what)
                }
                Condition::Violated { id, .. } | Condition::AfterFeedback { id, .. } => {
                    id == other && what == AfterTelling::Any
                }
                _ => false,
            };
        });
        found
    }
}
