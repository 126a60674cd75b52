//! Gemini's content generation.

use domain::usage::Tokens;
use serde_json::{Value, json};

use super::{Event, words};
use crate::models::scripted::said::Said;

pub(super) fn body(said: &Said) -> Value {
    let mut parts = thoughts(said);
    if !said.text.is_empty() {
        parts.push(json!({"text": said.text}));
    }
    parts.extend(calls(said));
    part(said, parts, true)
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let mut events: Vec<Event> = thoughts(said)
        .into_iter()
        .chain(words(&said.text).map(|word| json!({"text": word})))
        .map(|one| Event::plain(&part(said, vec![one], false)))
        .collect();
    events.push(Event::plain(&part(said, calls(said), true)));
    events
}

fn part(said: &Said, parts: Vec<Value>, is_last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if is_last {
        candidate["finishReason"] = "STOP".into();
    }
    let mut whole = json!({"candidates": [candidate], "modelVersion": said.model,
        "responseId": said.id});
    if let Some(tokens) = said.tokens.as_ref().filter(|_| is_last) {
        whole["usageMetadata"] = usage(tokens);
    }
    whole
}

fn thoughts(said: &Said) -> Vec<Value> {
    said.think.iter().map(|think| json!({"text": think, "thought": true})).collect()
}

fn calls(said: &Said) -> Vec<Value> {
    let call = |call: &crate::models::scripted::said::Call| json!({"functionCall": {"id": call.id, "name": call.tool.name, "args": call.input}});
    said.calls.iter().map(call).collect()
}

/// Its output leaves thoughts out.
fn usage(tokens: &Tokens) -> Value {
    let (input, output) = (tokens.input.unwrap_or(0), tokens.output.unwrap_or(0));
    let thoughts = tokens.reasoning.unwrap_or(0).min(output);
    json!({"promptTokenCount": input, "cachedContentTokenCount": tokens.cached_input,
        "candidatesTokenCount": output - thoughts, "thoughtsTokenCount": thoughts,
        "totalTokenCount": input + output})
}
