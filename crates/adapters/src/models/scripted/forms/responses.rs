//! OpenAI's responses.

use domain::usage::Tokens;
use serde_json::{Value, json};

use super::{CREATED_SEC, Event, input_text, words};
use crate::models::scripted::said::{Call, Said};

pub(super) fn body(said: &Said) -> Value {
    let mut whole = json!({
        "id": format!("resp_{}", said.id), "object": "response", "created_at": CREATED_SEC,
        "model": said.model, "status": "completed", "output": items(said), "error": null,
        "incomplete_details": null, "instructions": null, "metadata": {},
        "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [],
        "top_p": 1.0, "usage": null,
    });
    if let Some(tokens) = &said.tokens {
        whole["usage"] = usage(tokens);
    }
    whole
}

pub(super) fn events(said: &Said) -> Vec<Event> {
    let whole = body(said);
    let mut begun = whole.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut stream = Stream { events: Vec::new() };
    stream.push("response.created", json!({"response": begun}));
    stream.push("response.in_progress", json!({"response": begun}));
    for (index, item) in items(said).into_iter().enumerate() {
        stream.item(index, &item, said);
    }
    stream.push("response.completed", json!({"response": whole}));
    stream.events
}

struct Stream {
    events: Vec<Event>,
}

impl Stream {
    fn push(&mut self, name: &'static str, mut data: Value) {
        data["type"] = name.into();
        data["sequence_number"] = self.events.len().into();
        self.events.push(Event::named(name, &data));
    }

    fn item(&mut self, index: usize, item: &Value, said: &Said) {
        let id = &item["id"];
        let mut begun = item.clone();
        if begun.get("status").is_some() {
            begun["status"] = "in_progress".into();
        }
        match item["type"].as_str() {
            Some("message") => begun["content"] = json!([]),
            Some("reasoning") => begun["summary"] = json!([]),
            Some("function_call") => begun["arguments"] = "".into(),
            Some("custom_tool_call") => begun["input"] = "".into(),
            _ => {}
        }
        self.push("response.output_item.added", json!({"output_index": index, "item": begun}));
        let at = json!({"item_id": id, "output_index": index});
        let with = |more: Value| {
            let mut whole = at.clone();
            if let (Some(whole), Value::Object(more)) = (whole.as_object_mut(), more) {
                whole.extend(more);
            }
            whole
        };
        match item["type"].as_str() {
            Some("message") => {
                let empty = json!({"type": "output_text", "text": "", "annotations": []});
                let part = json!({"content_index": 0, "part": empty});
                self.push("response.content_part.added", with(part));
                for word in words(&said.text) {
                    let delta = json!({"content_index": 0, "delta": word, "logprobs": []});
                    self.push("response.output_text.delta", with(delta));
                }
                let text = json!({"content_index": 0, "text": said.text, "logprobs": []});
                self.push("response.output_text.done", with(text));
                let part = json!({"content_index": 0, "part": item["content"][0]});
                self.push("response.content_part.done", with(part));
            }
            Some("reasoning") => {
                let empty =
                    json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}});
                self.push("response.reasoning_summary_part.added", with(empty));
                let text = &item["summary"][0]["text"];
                let delta = json!({"summary_index": 0, "delta": text});
                self.push("response.reasoning_summary_text.delta", with(delta));
                let done = json!({"summary_index": 0, "text": text});
                self.push("response.reasoning_summary_text.done", with(done));
                let part = json!({"summary_index": 0, "part": item["summary"][0]});
                self.push("response.reasoning_summary_part.done", with(part));
            }
            Some("function_call") => {
                let delta = json!({"delta": item["arguments"]});
                self.push("response.function_call_arguments.delta", with(delta));
                let done = json!({"arguments": item["arguments"], "name": item["name"]});
                self.push("response.function_call_arguments.done", with(done));
            }
            Some("custom_tool_call") => {
                let delta = json!({"delta": item["input"]});
                self.push("response.custom_tool_call_input.delta", with(delta));
                self.push(
                    "response.custom_tool_call_input.done",
                    with(json!({"input": item["input"]})),
                );
            }
            _ => {}
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }
}

fn items(said: &Said) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(think) = &said.think {
        items.push(json!({"type": "reasoning", "id": format!("rs_{}", said.id),
            "summary": [{"type": "summary_text", "text": think}]}));
    }
    if !said.text.is_empty() || said.calls.is_empty() {
        items.push(json!({"type": "message", "id": format!("msg_{}", said.id),
            "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": said.text, "annotations": [],
                "logprobs": []}]}));
    }
    items.extend(said.calls.iter().map(call_item));
    items
}

fn call_item(call: &Call) -> Value {
    let id = &call.id;
    if call.tool.name == "local_shell" {
        let mut action = call.input.clone();
        action["type"] = "exec".into();
        action["env"] = json!({});
        return json!({"type": "local_shell_call", "id": format!("lsh_{id}"), "call_id": id,
            "status": "completed", "action": action});
    }
    let mut item = if call.tool.is_freeform {
        json!({"type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": id,
            "name": call.tool.name, "input": input_text(&call.input), "status": "completed"})
    } else {
        json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id,
            "name": call.tool.name, "arguments": input_text(&call.input), "status": "completed"})
    };
    if let Some(group) = &call.tool.group {
        item["namespace"] = group.as_str().into();
    }
    item
}

fn usage(tokens: &Tokens) -> Value {
    let (input, output) = (tokens.input.unwrap_or(0), tokens.output.unwrap_or(0));
    json!({"input_tokens": input, "output_tokens": output, "total_tokens": input + output,
        "input_tokens_details": {"cached_tokens": tokens.cached_input.unwrap_or(0),
            "cache_write_tokens": tokens.cache_write.unwrap_or(0)},
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning.unwrap_or(0)}})
}
