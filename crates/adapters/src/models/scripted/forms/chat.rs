//! OpenAI's chat completions.

use domain::usage::Tokens;
use serde_json::{Value, json};

use super::{CREATED_SEC, Event, input_text, words};
use crate::models::scripted::said::Said;

pub(super) fn body(said: &Said) -> Value {
    let mut message = json!({"role": "assistant", "content": said.text, "refusal": null});
    if let Some(think) = &said.think {
        message["reasoning_content"] = think.as_str().into();
    }
    if !said.calls.is_empty() {
        message["tool_calls"] = calls(said).into();
        if said.text.is_empty() {
            message["content"] = Value::Null;
        }
    }
    let choice =
        json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish(said)});
    let mut whole = head(said, "chat.completion");
    whole["choices"] = json!([choice]);
    if let Some(tokens) = &said.tokens {
        whole["usage"] = usage(tokens);
    }
    whole
}

pub(super) fn events(said: &Said, wants_usage: bool) -> Vec<Event> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let mut chunk = head(said, "chat.completion.chunk");
        chunk["choices"] =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        if wants_usage {
            chunk["usage"] = Value::Null;
        }
        Event::plain(&chunk)
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    if let Some(think) = &said.think {
        events.push(chunk(json!({"reasoning_content": think}), None));
    }
    events.extend(words(&said.text).map(|word| chunk(json!({"content": word}), None)));
    for (index, mut call) in calls(said).into_iter().enumerate() {
        call["index"] = index.into();
        events.push(chunk(json!({"tool_calls": [call]}), None));
    }
    events.push(chunk(json!({}), Some(finish(said))));
    if let Some(tokens) = said.tokens.as_ref().filter(|_| wants_usage) {
        let mut last = head(said, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = usage(tokens);
        events.push(Event::plain(&last));
    }
    events.push(Event { name: None, data: "[DONE]".to_owned() });
    events
}

fn head(said: &Said, object: &str) -> Value {
    json!({"id": format!("chatcmpl-{}", said.id), "object": object, "created": CREATED_SEC,
        "model": said.model, "system_fingerprint": "scripted"})
}

fn finish(said: &Said) -> &'static str {
    if said.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn calls(said: &Said) -> Vec<Value> {
    let call = |call: &crate::models::scripted::said::Call| {
        json!({"id": call.id, "type": "function",
            "function": {"name": call.tool.name, "arguments": input_text(&call.input)}})
    };
    said.calls.iter().map(call).collect()
}

fn usage(tokens: &Tokens) -> Value {
    let (input, output) = (tokens.input.unwrap_or(0), tokens.output.unwrap_or(0));
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached_input,
            "cache_write_tokens": tokens.cache_write},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning}})
}
