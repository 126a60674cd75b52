//! Who words the user's messages: [`User`] gets a voice, the dialogue and one turn plan, and cannot be handed more.

use domain::{
    controller::{DialogueLine, TurnPlan, Voice},
    ids::Hash,
    session::Wordsmith,
    wording::Rejection,
};
use thiserror::Error;

/// Why no wording came.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("user could not word a message: {0}")]
pub struct UserFault(pub String);

/// One request for a wording.
#[derive(Clone, Copy, Debug)]
pub struct WordRequest<'a> {
    /// Who speaks.
    pub voice: &'a Voice,
    /// What was said so far; the agent's lines are data.
    pub dialogue: &'a [DialogueLine],
    /// What the message conveys.
    pub plan: &'a TurnPlan,
    /// Which try, from 1.
    pub nth: u32,
    /// Why the try before was not sent.
    pub after: &'a [Rejection],
}

/// A wording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// The text.
    pub text: String,
    /// Who worded it.
    pub by: Wordsmith,
    /// A recorded model exchange.
    pub exchange: Option<Hash>,
}

/// Who words the user's messages.
#[async_trait::async_trait]
pub trait User: Send + Sync {
    /// Words one turn plan.
    async fn word(&self, request: WordRequest<'_>) -> Result<Wording, UserFault>;
}
