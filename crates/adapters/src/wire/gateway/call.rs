//! One request to a model while it goes on ([`OpenCall`]): whatever happens to it, it becomes one [`ModelCall`].

use std::sync::{Arc, atomic::Ordering};

use domain::{
    evidence::{CallOutcome, HostedTool, ModelCall, Purpose, WireFormat},
    ids::{Hash, Turn},
    usage::Tokens,
};
use tokio::time::Instant;

use super::GatewaySession;
use crate::models::{
    exchange::{Exchange, Question},
    formats::{Asked, Tally},
};

/// A call that is over.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) call: ModelCall,
    /// Neither tools nor results of any are in it.
    pub(super) is_bare: bool,
}

/// A call that goes on; dropped before its end it was abandoned.
#[derive(Debug)]
pub(super) struct OpenCall {
    session: Arc<GatewaySession>,
    at_ms: i64,
    turn: Turn,
    began: Instant,
    format: WireFormat,
    asked: Asked,
    hosted: Vec<HostedTool>,
    question: Option<Question>,
    retries: u32,
    /// A provider was asked.
    pub(super) is_sent: bool,
    /// The provider fails at present.
    pub(super) is_failing: bool,
    pub(super) first_byte_ms: Option<u64>,
    pub(super) paused_ms: u64,
    is_over: bool,
}

/// The answer as it was given.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) status: u16,
    pub(super) content_type: String,
    /// None if it is not to be recorded.
    pub(super) bytes: Option<Vec<u8>>,
}

impl OpenCall {
    pub(super) fn new(
        session: &Arc<GatewaySession>,
        format: WireFormat,
        asked: Asked,
        hosted: Vec<HostedTool>,
    ) -> Self {
        if asked.offers_tools {
            session.offers_tools.store(true, Ordering::Relaxed);
        }
        Self {
            session: session.clone(),
            at_ms: (session.terms.clock)(),
            turn: Turn(session.turn.load(Ordering::Relaxed)),
            began: Instant::now(),
            format,
            asked,
            hosted,
            question: None,
            retries: 0,
            is_sent: false,
            is_failing: false,
            first_byte_ms: None,
            paused_ms: 0,
            is_over: false,
        }
    }

    /// What the record is to say was asked.
    pub(super) fn asks(&mut self, question: Question) {
        self.question = Some(question);
    }

    /// Whether an answer that was passed on is to be remembered.
    pub(super) fn is_recorded(&self) -> bool {
        self.question.is_some() && self.session.terms.keep.is_some()
    }

    /// The provider is asked once more.
    pub(super) fn asked_again(&mut self, retries: u32) {
        self.retries = retries;
    }

    /// It is over.
    pub(super) fn end(&mut self, outcome: CallOutcome, given: Given, tally: Option<&Tally>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let tokens = tally.map_or_else(Tokens::default, |tally| tally.tokens);
        let model_answered = tally.and_then(|tally| tally.model.clone());
        let session = &self.session;
        if let Some(id) = tally.and_then(|tally| tally.id.clone()) {
            session.answers.lock().expect("no holder panics").insert(id);
        }
        let priced = model_answered.as_deref().unwrap_or(&self.asked.model);
        let prices = &session.gateway.prices;
        // A provider may answer with a longer name than it has a price by.
        let is_free = !self.is_sent || outcome_is_free(outcome);
        let cost_microusd = if is_free {
            Some(0)
        } else {
            prices
                .cost_microusd(priced, &tokens)
                .or_else(|| prices.cost_microusd(&self.asked.model, &tokens))
        };
        let call = ModelCall {
            turn: self.turn,
            at_ms: self.at_ms,
            took_ms: millis(self.began.elapsed()),
            format: self.format,
            purpose: Purpose::Main,
            model_asked: std::mem::take(&mut self.asked.model),
            model_answered,
            effort: self.asked.effort.take(),
            parameters: std::mem::take(&mut self.asked.parameters),
            tokens: if is_free { no_tokens() } else { tokens },
            cost_microusd,
            outcome,
            status: given.status,
            retries: self.retries,
            first_byte_ms: self.first_byte_ms,
            paused_ms: self.paused_ms,
            hosted: std::mem::take(&mut self.hosted),
            exchange: self.keep(given),
        };
        let is_bare = !self.asked.offers_tools && !self.asked.has_tool_results;
        (self.session.terms.heard)(&call);
        let finished = Finished { call, is_bare };
        self.session.finished.lock().expect("no holder panics").push(finished);
    }

    fn keep(&mut self, given: Given) -> Option<Hash> {
        let keep = self.session.terms.keep.as_ref()?;
        let question = self.question.take()?;
        let exchange = Exchange::new(question, given.status, &given.content_type, given.bytes?);
        keep(&exchange.to_bytes()).ok()
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        // Whoever hangs up on a provider that fails does it because of that.
        let outcome = match self.is_failing {
            true => CallOutcome::ProviderFailed,
            false => CallOutcome::Abandoned,
        };
        self.end(outcome, Given::default(), None);
    }
}

/// No model has worked for these.
fn outcome_is_free(outcome: CallOutcome) -> bool {
    matches!(
        outcome,
        CallOutcome::BadRequest
            | CallOutcome::Refused
            | CallOutcome::Unauthorised
            | CallOutcome::ProviderFailed
    )
}

fn no_tokens() -> Tokens {
    Tokens { input: Some(0), output: Some(0), ..Tokens::default() }
}

pub(super) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
