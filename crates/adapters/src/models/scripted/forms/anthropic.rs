//! Anthropic's messages.

use domain::usage::Tokens;
use serde_json::{Value, json};

use super::{Event, words};
use crate::models::scripted::said::Said;

/// What stands where a real provider signs its reasoning.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

pub(super) fn body(said: &Said) -> Value {
    let stop = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    let mut whole = json!({"id": format!("msg_{}", said.id), "type": "message",
        "role": "assistant", "model": said.model, "content": blocks(said), "stop_reason": stop,
        "stop_sequence": null});
    if let Some(tokens) = &said.tokens {
        whole["usage"] = usage(tokens);
    }
    whole
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let whole = body(said);
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    if begun.get("usage").is_some() {
        begun["usage"]["output_tokens"] = 1.into();
    }
    let start = json!({"type": "message_start", "message": begun});
    let mut events = vec![Event::named("message_start", &start)];
    for (index, block) in blocks(said).iter().enumerate() {
        let mut empty = block.clone();
        let mut deltas = Vec::new();
        match block["type"].as_str() {
            Some("text") => {
                empty["text"] = "".into();
                let text = |word| json!({"type": "text_delta", "text": word});
                deltas.extend(words(&said.text).map(text));
            }
            Some("thinking") => {
                empty["thinking"] = "".into();
                empty["signature"] = "".into();
                deltas.push(json!({"type": "thinking_delta", "thinking": block["thinking"]}));
                deltas.push(json!({"type": "signature_delta", "signature": SIGNATURE}));
            }
            _ => {
                empty["input"] = json!({});
                let text = block["input"].to_string();
                deltas.push(json!({"type": "input_json_delta", "partial_json": text}));
            }
        }
        let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
        events.push(Event::named("content_block_start", &start));
        for delta in deltas {
            let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
            events.push(Event::named("content_block_delta", &delta));
        }
        let stop = json!({"type": "content_block_stop", "index": index});
        events.push(Event::named("content_block_stop", &stop));
    }
    let mut last = json!({"type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": null}});
    if let Some(tokens) = &said.tokens {
        last["usage"] = usage(tokens);
    }
    events.push(Event::named("message_delta", &last));
    events.push(Event::named("message_stop", &json!({"type": "message_stop"})));
    events
}

fn blocks(said: &Said) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(think) = &said.think {
        blocks.push(json!({"type": "thinking", "thinking": think, "signature": SIGNATURE}));
    }
    if !said.text.is_empty() {
        blocks.push(json!({"type": "text", "text": said.text}));
    }
    for call in &said.calls {
        let id = call.id.replacen("call_", "toolu_", 1);
        blocks.push(json!({"type": "tool_use", "id": id, "name": call.tool.name,
            "input": call.input}));
    }
    blocks
}

/// Its input counts what no cache had part in.
fn usage(tokens: &Tokens) -> Value {
    let (cached, written) = (tokens.cached_input.unwrap_or(0), tokens.cache_write.unwrap_or(0));
    let fresh = tokens.input.unwrap_or(0).saturating_sub(cached + written);
    json!({"input_tokens": fresh, "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached, "output_tokens": tokens.output,
        "service_tier": "standard"})
}
