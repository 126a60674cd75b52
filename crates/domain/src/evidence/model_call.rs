//! What the gateway saw of one request to a model ([`ModelCall`]): what was asked, what answered, what it took, and whose
//! doing the outcome is.

use alloc::{string::String, vec::Vec};

use crate::{
    fault::Owner,
    ids::{Hash, Turn},
    usage::Tokens,
};

/// Which of the providers' forms a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WireFormat {
    /// OpenAI's chat completions, which many others speak too.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    AnthropicMessages,
    /// Gemini's content generation.
    Gemini,
}

impl WireFormat {
    /// All formats.
    pub const ALL: [WireFormat; 4] = [
        WireFormat::OpenAiChat,
        WireFormat::OpenAiResponses,
        WireFormat::AnthropicMessages,
        WireFormat::Gemini,
    ];

    /// The name that stands in files and logs.
    pub fn name(self) -> &'static str {
        match self {
            WireFormat::OpenAiChat => "openai_chat",
            WireFormat::OpenAiResponses => "openai_responses",
            WireFormat::AnthropicMessages => "anthropic_messages",
            WireFormat::Gemini => "gemini",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<WireFormat> {
        WireFormat::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The agent's work, and everything of which nothing else is certain.
    Main,
    /// Beside the conversation: titles, summaries, classifiers.
    Side,
}

/// Why an answer that had begun was not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Break {
    /// The connection ended before the answer did.
    Truncated,
    /// Nothing came for longer than the policy allows.
    Stalled,
    /// The answer took longer than the policy allows.
    TooLong,
    /// The answer was larger than the policy allows.
    TooLarge,
    /// A part of it could not be read as what it claims to be.
    Malformed,
    /// The provider reported an error of its own in the middle.
    ErrorInside,
}

impl Break {
    /// All breaks.
    pub const ALL: [Break; 6] = [
        Break::Truncated,
        Break::Stalled,
        Break::TooLong,
        Break::TooLarge,
        Break::Malformed,
        Break::ErrorInside,
    ];

    /// The name that stands in files and logs.
    pub fn name(self) -> &'static str {
        match self {
            Break::Truncated => "truncated",
            Break::Stalled => "stalled",
            Break::TooLong => "too_long",
            Break::TooLarge => "too_large",
            Break::Malformed => "malformed",
            Break::ErrorInside => "error_inside",
        }
    }
}

/// How a request to a model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallOutcome {
    /// The answer was passed on whole.
    Answered,
    /// The request itself was at fault: the provider said so.
    BadRequest,
    /// The gateway did not pass it on: it asked for what the policy keeps shut, or cannot be read.
    Refused,
    /// The wire was blocked by the machine.
    Blocked,
    /// The agent went away before the answer was whole.
    Abandoned,
    /// Key, account or configured model were not accepted.
    Unauthorised,
    /// The provider failed beyond the retry policy.
    ProviderFailed,
    /// An answer that had begun broke; it cannot be asked for again.
    Broken(Break),
}

impl CallOutcome {
    /// Whose doing it is.
    pub fn owner(self) -> Owner {
        match self {
            CallOutcome::Answered | CallOutcome::Blocked => Owner::Nobody,
            CallOutcome::BadRequest | CallOutcome::Refused | CallOutcome::Abandoned => Owner::Agent,
            CallOutcome::Unauthorised | CallOutcome::ProviderFailed | CallOutcome::Broken(_) => {
                Owner::Infra
            }
        }
    }

    /// The name that stands in files and logs.
    pub fn name(self) -> &'static str {
        match self {
            CallOutcome::Answered => "answered",
            CallOutcome::BadRequest => "bad_request",
            CallOutcome::Refused => "refused",
            CallOutcome::Blocked => "blocked",
            CallOutcome::Abandoned => "abandoned",
            CallOutcome::Unauthorised => "unauthorised",
            CallOutcome::ProviderFailed => "provider_failed",
            CallOutcome::Broken(broken) => broken.name(),
        }
    }

    /// The outcome of that name.
    pub fn parse(name: &str) -> Option<CallOutcome> {
        let plain = [
            CallOutcome::Answered,
            CallOutcome::BadRequest,
            CallOutcome::Refused,
            CallOutcome::Blocked,
            CallOutcome::Abandoned,
            CallOutcome::Unauthorised,
            CallOutcome::ProviderFailed,
        ];
        let broken = Break::ALL.into_iter().map(CallOutcome::Broken);
        plain.into_iter().chain(broken).find(|outcome| outcome.name() == name)
    }
}

/// What became of a tool that the provider would have run itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostedDecision {
    /// Taken out of the request, which went on without it.
    Stripped,
    /// The request was refused because of it.
    Refused,
    /// Let through: the policy is open.
    Allowed,
}

impl HostedDecision {
    /// All decisions.
    pub const ALL: [HostedDecision; 3] =
        [HostedDecision::Stripped, HostedDecision::Refused, HostedDecision::Allowed];

    /// The name that stands in files and logs.
    pub fn name(self) -> &'static str {
        match self {
            HostedDecision::Stripped => "stripped",
            HostedDecision::Refused => "refused",
            HostedDecision::Allowed => "allowed",
        }
    }
}

/// A tool of the provider in a request: a way out that passes no socket of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedTool {
    /// As the request named it, or the field that stands for it.
    pub name: String,
    /// What became of it.
    pub decision: HostedDecision,
}

/// One request to a model, as the gateway saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// The turn in which it was made.
    pub turn: Turn,
    /// When it was made, in milliseconds of the clock of the session's events.
    pub at_ms: i64,
    /// How long it took until its outcome was known, retries included.
    pub took_ms: u64,
    /// Its form.
    pub format: WireFormat,
    /// What it was for.
    pub purpose: Purpose,
    /// The model that was asked for.
    pub model_asked: String,
    /// The model that says it answered.
    pub model_answered: Option<String>,
    /// The effort as it was sent; none means that none was sent, which is not an effort of "none".
    pub effort: Option<String>,
    /// Other parameters as they were sent, by name, in order; what was not sent is not here.
    pub parameters: Vec<(String, String)>,
    /// What it took.
    pub tokens: Tokens,
    /// What it cost in millionths of a US dollar; none if unknown.
    pub cost_microusd: Option<u64>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// The status that the agent was given.
    pub status: u16,
    /// How many times it was asked again.
    pub retries: u32,
    /// From the last asking to the first byte of the answer.
    pub first_byte_ms: Option<u64>,
    /// For how long the agent's clock stood still because of it.
    pub paused_ms: u64,
    /// Tools that the provider would have run.
    pub hosted: Vec<HostedTool>,
    /// The recorded exchange.
    pub exchange: Option<Hash>,
}
