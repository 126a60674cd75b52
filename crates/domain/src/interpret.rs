//! What an agent's message means, by rules: open questions, offers, requests for permission, claims ([`Interpretation`]).

use alloc::{string::String, vec::Vec};

use crate::{
    ids::TopicId,
    release::{ActionClass, Claim},
};

/// The meaning of a turn's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interpretation {
    /// Nothing was said.
    pub silent: bool,
    /// The agent gives up.
    pub quits: bool,
    /// Open questions in order; offers and courtesy questions are not among them.
    pub asks: Vec<Ask>,
    /// What it claims.
    pub claims: Vec<Claim>,
}

/// One open question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// May I? With the class if the words tell one.
    Permission {
        /// The class.
        class: Option<ActionClass>,
        /// What exactly, as the agent named it.
        subject: Option<String>,
    },
    /// About a topic.
    About(TopicId),
    /// About nothing in particular: "anything else?".
    Generic,
    /// About something that no topic covers.
    Other,
}
