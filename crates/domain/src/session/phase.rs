//! Where a session stands ([`Phase`]): what it has asked for last and what it waits for.

use alloc::{string::String, vec::Vec};

use crate::{controller::TurnPlan, fault::Ending, wording::Rejection};

/// The stage of a session; within `Working` a permission answer, a wire block or an interrupt can
/// be open too.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// The sandbox is being made.
    Preparing,
    /// The agent is being started.
    OpeningAgent,
    /// A turn plan is being worded.
    Wording {
        /// What to convey.
        plan: TurnPlan,
        /// Which try, from 1; the fourth is the template's.
        nth: u32,
        /// Why the try before was not sent.
        after: Vec<Rejection>,
    },
    /// A message is being delivered and the agent works.
    Working {
        /// What the message conveys.
        plan: TurnPlan,
        /// The message's text, without the session note.
        text: String,
    },
    /// The turn ended; every process is being stopped.
    Freezing,
    /// The evidence of the turn is being taken.
    Capturing,
    /// Questions are being matched to topics by a model.
    Interpreting,
    /// The checks that are due at the turn are being read.
    Checking,
    /// The native verifier of the step that ended runs on a copy.
    VerifyingStep,
    /// What the next step needs is being prepared: its files, its setup.
    PlacingStep,
    /// The end state is being frozen.
    Sealing(Ending),
    /// All checks are being read on the seal.
    CheckingSeal(Ending),
    /// The native verifier runs.
    Verifying(Ending),
    /// Everything is being closed.
    Closing(Ending),
    /// The session is over.
    Over(Ending),
}

impl Phase {
    /// The ending once it is decided.
    pub fn ending(&self) -> Option<Ending> {
        match self {
            Phase::Sealing(ending)
            | Phase::CheckingSeal(ending)
            | Phase::Verifying(ending)
            | Phase::Closing(ending)
            | Phase::Over(ending) => Some(*ending),
            _ => None,
        }
    }

    /// Whether sandbox and agent are still being prepared.
    pub fn is_preparation(&self) -> bool {
        matches!(self, Phase::Preparing | Phase::OpeningAgent)
    }

    /// Whether the end state is being frozen or graded.
    pub fn is_verification(&self) -> bool {
        matches!(self, Phase::Sealing(_) | Phase::CheckingSeal(_) | Phase::Verifying(_))
    }

    /// Whether user and agent talk, checks at turn ends included.
    pub fn is_interaction(&self) -> bool {
        !self.is_preparation() && self.ending().is_none()
    }
}
