//! A model for our own calls: [`Model`] answers a [`Prompt`]; the agent's own model is not asked through it.
//!
//! Contract. A provider that fails for a while is asked again within the call's deadline. An answer that was asked for as JSON
//! fits its schema, whether the provider enforces schemas or not; one that was asked for as a call of a tool is one. What
//! cannot be had is a [`ModelFault`], never an empty answer. A call may be dropped at any time.

use domain::{ids::Hash, usage::Tokens};
use serde_json::Value;
use thiserror::Error;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// What the model is to be; empty says nothing.
    pub system: String,
    /// What was said so far, the last line being the one to answer.
    pub lines: Vec<PromptLine>,
    /// The schema that the answer must fit; none lets it be any text.
    pub schema: Option<ReplySchema>,
    /// Tools that it may call.
    pub tools: Vec<ToolOffer>,
    /// Whether it must call one.
    pub tool_use: ToolUse,
    /// The most tokens of the answer, reasoning included.
    pub output_tokens_max: Option<u32>,
    /// How freely it draws, from 0.
    pub temperature: Option<f64>,
    /// The seed of its drawing.
    pub seed: Option<u64>,
    /// The effort in the provider's word; none sends none.
    pub effort: Option<String>,
}

/// One line of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptLine {
    /// Said to the model.
    User(String),
    /// Said by the model.
    Model {
        /// Its text.
        text: String,
        /// The tools that it called.
        calls: Vec<ToolCall>,
    },
    /// What its calls gave.
    Results(Vec<ToolResult>),
}

/// A schema for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplySchema {
    /// A name: letters, digits and `_`.
    pub name: String,
    /// The JSON Schema.
    pub schema: Value,
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input.
    pub input: Value,
}

/// Whether a model must call a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolUse {
    /// It may.
    #[default]
    Free,
    /// It must.
    Required,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Names the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Value,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// Which call.
    pub call: String,
    /// The tool.
    pub name: String,
    /// What came out.
    pub text: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Its text.
    pub text: String,
    /// The text as JSON, if a schema was given.
    pub json: Option<Value>,
    /// Tools that are called.
    pub calls: Vec<ToolCall>,
    /// The model that says it answered.
    pub model: String,
    /// What it took; that of a try that had to be repeated is part of it.
    pub tokens: Tokens,
    /// What it cost in millionths of a US dollar; none if unknown.
    pub cost_microusd: Option<u64>,
    /// How long it took, waiting included, in milliseconds.
    pub took_ms: u64,
    /// The recorded exchange.
    pub exchange: Option<Hash>,
}

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ModelFault {
    /// The provider failed longer than the call may take.
    #[error("provider failed: {0}")]
    Provider(String),
    /// Key, account or model are not accepted.
    #[error("provider does not accept key, account or model: {0}")]
    Unauthorised(String),
    /// The provider does not take the request.
    #[error("provider does not take the request: {0}")]
    BadRequest(String),
    /// There was no answer in time.
    #[error("no answer within {deadline_ms} ms")]
    TimedOut {
        /// The deadline.
        deadline_ms: u64,
    },
    /// A replay holds no such request.
    #[error("{0}")]
    NotRecorded(String),
    /// What came cannot be read.
    #[error("answer cannot be read: {0}")]
    Unreadable(String),
    /// The answer is cut at the most tokens.
    #[error("answer is cut at the limit of tokens: {0}")]
    CutShort(String),
    /// The model or its provider declined to answer.
    #[error("model declined: {0}")]
    Declined(String),
    /// No answer fits the schema, not even with the schema in the prompt.
    #[error("answer does not fit the schema: {problem}; it begins: {start}")]
    SchemaUnmet {
        /// What does not fit.
        problem: String,
        /// How the answer begins.
        start: String,
    },
    /// A call of a tool was required and did not come.
    #[error("no tool was called although that was required; the answer begins: {0}")]
    NoToolCall(String),
}

/// A model.
#[async_trait::async_trait]
pub trait Model: Send + Sync {
    /// Answers a prompt.
    async fn complete(&self, prompt: &Prompt) -> Result<Completion, ModelFault>;
}
