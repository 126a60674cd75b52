//! A scripted answer in each of the providers' forms ([`body`], [`events`]), with every field that known clients insist on.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use domain::evidence::WireFormat;
use serde_json::Value;

use super::{heard::Heard, said::Said};

/// Seconds since 1970 at which scripted answers say they were made.
const CREATED_SEC: u64 = 1_700_000_000;

/// One event of a stream.
pub(super) struct Event {
    name: Option<&'static str>,
    data: String,
}

impl Event {
    fn named(name: &'static str, data: &Value) -> Self {
        Self { name: Some(name), data: data.to_string() }
    }

    fn plain(data: &Value) -> Self {
        Self { name: None, data: data.to_string() }
    }

    /// As it is written.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let name = self.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data).into_bytes()
    }

    /// The same event with data that is no JSON.
    pub(super) fn malformed(self) -> Self {
        Self { data: self.data.chars().take(self.data.len() / 2).collect(), ..self }
    }
}

/// The answer whole.
pub(super) fn body(format: WireFormat, said: &Said) -> Value {
    match format {
        WireFormat::OpenAiChat => chat::body(said),
        WireFormat::OpenAiResponses => responses::body(said),
        WireFormat::AnthropicMessages => anthropic::body(said),
        WireFormat::Gemini => gemini::body(said),
    }
}

/// The answer as a stream.
pub(super) fn events(format: WireFormat, said: &Said, heard: &Heard) -> Vec<Event> {
    match format {
        WireFormat::OpenAiChat => chat::events(said, heard.wants_usage),
        WireFormat::OpenAiResponses => responses::events(said),
        WireFormat::AnthropicMessages => anthropic::events(said),
        WireFormat::Gemini => gemini::events(said),
    }
}

/// The answer to a question for the number of tokens.
pub(super) fn token_count(format: WireFormat, count: u64) -> Value {
    match format {
        WireFormat::Gemini => serde_json::json!({"totalTokens": count}),
        WireFormat::OpenAiResponses => {
            serde_json::json!({"object": "response.input_tokens", "input_tokens": count})
        }
        _ => serde_json::json!({"input_tokens": count}),
    }
}

/// The answer to a question for models.
pub(super) fn models(format: WireFormat, names: &[&str]) -> Value {
    if format == WireFormat::Gemini {
        let models = names.iter().map(|name| {
            serde_json::json!({"name": format!("models/{name}"), "displayName": name,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
                "inputTokenLimit": 1_000_000, "outputTokenLimit": 64_000})
        });
        return serde_json::json!({"models": models.collect::<Vec<_>>()});
    }
    let models = names.iter().map(|name| {
        serde_json::json!({"id": name, "object": "model", "created": CREATED_SEC,
            "owned_by": "scripted", "type": "model", "display_name": name,
            "created_at": "2023-11-14T22:13:20Z"})
    });
    serde_json::json!({"object": "list", "data": models.collect::<Vec<_>>(), "has_more": false,
        "first_id": names.first(), "last_id": names.last()})
}

/// A text in the pieces in which a model would say it: words with the space behind them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

/// The input of a call as the text that most forms want.
fn input_text(input: &Value) -> String {
    input.as_str().map_or_else(|| input.to_string(), str::to_owned)
}
