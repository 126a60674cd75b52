//! Every driver hears lines whose every part was replaced by something else: none may bring the reader down, because an agent
//! writes what it likes.

use serde_json::{Value, json};

use super::{
    claude_stream::ClaudeStream,
    cli::{Reader, SHIPPED, shipped},
    intake::Intake,
    ndjson::Ndjson,
    talk::Dialect,
};

/// Lines of the control protocol, one of each kind.
fn claude_lines() -> Vec<Value> {
    vec![
        json!({"type": "control_response", "response": {"request_id": "open", "subtype": "success"}}),
        json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t", "input": {"command": "ls"}, "requires_user_interaction": false}}),
        json!({"type": "control_cancel_request", "request_id": "r"}),
        json!({"type": "system", "subtype": "init", "claude_code_version": "2"}),
        json!({"type": "assistant", "parent_tool_use_id": null, "message": {"content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}, {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": [{"content": "c", "status": "completed"}]}}]}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "d", "is_error": false}]}, "tool_use_result": {"stdout": "d", "stderr": ""}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "e", "total_cost_usd": 0.1, "usage": {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3}}),
    ]
}

/// Lines of our own protocol, one of each kind.
fn ndjson_lines() -> Vec<Value> {
    vec![
        json!({"type": "hello", "version": 1, "name": "a"}),
        json!({"type": "said", "text": "a"}),
        json!({"type": "thought", "text": "b"}),
        json!({"type": "call", "id": "t", "title": "shell", "kind": "execute", "input": {"command": "ls"}}),
        json!({"type": "return", "id": "t", "ok": true, "output": "c", "exit_code": 0}),
        json!({"type": "plan", "entries": [{"text": "d", "state": "done"}]}),
        json!({"type": "usage", "span": "turn", "input": 1, "cached": 2, "output": 3, "reasoning": 4, "cost_usd": 0.1}),
        json!({"type": "note", "text": "e"}),
        json!({"type": "permission", "id": "p", "title": "shell", "kind": "execute", "command": "ls"}),
        json!({"type": "turn_end", "stop": "finished", "error": null}),
    ]
}

/// What stands where something else is expected.
fn strange() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("\u{0}\u{202e}é\n"),
        json!([]),
        json!([[{}]]),
        json!({}),
        json!({"type": {"type": []}}),
    ]
}

/// The line with each of its values, itself included, replaced by each strange one, and with each key left out.
fn changed(line: &Value) -> Vec<Value> {
    let mut all = strange();
    match line {
        Value::Object(fields) => {
            for (key, value) in fields {
                let mut without = fields.clone();
                without.remove(key);
                all.push(Value::Object(without));
                for other in changed(value) {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), other);
                    all.push(Value::Object(fields));
                }
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                for other in changed(value) {
                    let mut items = items.clone();
                    items[at] = other;
                    all.push(Value::Array(items));
                }
            }
        }
        _ => {}
    }
    all
}

/// Text that is cut short, or is no JSON.
fn broken(line: &Value) -> Vec<String> {
    let whole = line.to_string();
    let cuts = whole.char_indices().map(|(at, _)| whole[..at].to_owned());
    cuts.chain([format!("{whole}{whole}"), "[".repeat(5_000), "\u{feff}{}".to_owned()]).collect()
}

fn hears_everything(mut dialect: impl Dialect, lines: &[Value]) -> usize {
    let mut intake = Intake::default();
    let mut heard = 0;
    for line in lines {
        for other in changed(line) {
            heard += dialect.hear(&other.to_string(), &mut intake).len();
        }
        for text in broken(line) {
            heard += dialect.hear(&text, &mut intake).len();
        }
        // After all that the line itself still means something to somebody.
        heard += dialect.hear(&line.to_string(), &mut intake).len();
    }
    heard
}

#[test]
fn lines_of_protocols_may_be_anything() {
    assert!(hears_everything(ClaudeStream::default(), &claude_lines()) > 0);
    assert!(hears_everything(Ndjson::default(), &ndjson_lines()) > 0);
}

#[test]
fn lines_of_commands_may_be_anything() {
    for (name, _) in SHIPPED {
        let transcript =
            format!("{}/tests/agents/transcripts/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let transcript: Value = serde_json::from_str(
            &std::fs::read_to_string(&transcript)
                .unwrap_or_else(|error| panic!("{transcript}: {error}")),
        )
        .unwrap_or_else(|error| panic!("{transcript}: {error}"));
        let mut reader = Reader::new(shipped(name).expect("a description"));
        let mut intake = Intake::default();
        let mut count = 0;
        for line in transcript["turns"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|turn| turn.as_array())
            .flatten()
        {
            reader.begin();
            for other in changed(line) {
                reader.take(&other.to_string(), &mut intake);
                count += 1;
            }
            for text in broken(line) {
                reader.take(&text, &mut intake);
            }
            reader.end(&mut intake);
        }
        assert!(count > 0, "{name} has no line in its transcript");
    }
}
