//! How agents write down their tools, whatever the protocol: what a tool was given and gave back, which command it would
//! run, and what kind of tool a name means.

use domain::session::ToolKind;
use serde_json::Value;

/// The text of a tool's output: what its streams hold, else what was written down as it is.
pub(super) fn printed(raw: &Value) -> String {
    let field = |name: &str| raw.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let streams: Vec<&str> = [field("stdout"), field("stderr")].into_iter().flatten().collect();
    let has_streams = raw.get("stdout").is_some() || raw.get("stderr").is_some();
    match (raw.as_str(), field("output")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(output)) => output.to_owned(),
        (None, None) if has_streams => streams.join("\n"),
        (None, None) => block_texts(raw).unwrap_or_else(|| raw.to_string()),
    }
}

/// The texts of a list of content blocks, if it is one.
fn block_texts(raw: &Value) -> Option<String> {
    let blocks = raw.as_array().filter(|blocks| !blocks.is_empty())?;
    let texts = blocks.iter().map(|block| block.get("text").and_then(Value::as_str));
    Some(texts.collect::<Option<Vec<&str>>>()?.join("\n"))
}

/// Whether nothing stands there.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A tool's input as it is kept: a text as it is, else its JSON.
pub(super) fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The command that a tool's input would run.
pub(super) fn command_of(input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    let command = ["command", "cmd", "script"].iter().find_map(|name| input.get(name))?;
    match command {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            match &words?[..] {
                // A shell and its code: the code is what would be done.
                [_, flag, code] if flag.starts_with('-') && flag.ends_with('c') => {
                    Some((*code).to_owned())
                }
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

/// Parts of names of tools and what they mean; the first that fits counts.
const KINDS: [(&str, ToolKind); 27] = [
    ("bash", ToolKind::Execute),
    ("shell", ToolKind::Execute),
    ("terminal", ToolKind::Execute),
    ("execute", ToolKind::Execute),
    ("exec", ToolKind::Execute),
    ("run", ToolKind::Execute),
    ("command", ToolKind::Execute),
    ("delete", ToolKind::Delete),
    ("remove", ToolKind::Delete),
    ("move", ToolKind::Move),
    ("rename", ToolKind::Move),
    ("fetch", ToolKind::Fetch),
    ("web", ToolKind::Fetch),
    ("grep", ToolKind::Search),
    ("glob", ToolKind::Search),
    ("search", ToolKind::Search),
    ("find", ToolKind::Search),
    ("todo", ToolKind::Think),
    ("think", ToolKind::Think),
    ("plan", ToolKind::Think),
    ("edit", ToolKind::Edit),
    ("write", ToolKind::Edit),
    ("patch", ToolKind::Edit),
    ("create", ToolKind::Edit),
    ("replace", ToolKind::Edit),
    ("read", ToolKind::Read),
    ("list", ToolKind::Read),
];

/// The kind of tool that a name means; nothing is guessed of a name that says nothing.
pub(super) fn kind_of_name(name: &str) -> Option<ToolKind> {
    let name = name.to_lowercase();
    KINDS.iter().find(|(part, _)| name.contains(part)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_are_read_from_the_input() {
        let check = |input: Value, expect: Option<&str>| {
            assert_eq!(command_of(&input.to_string()).as_deref(), expect, "{input}");
        };
        check(json!({"command": "ls -la"}), Some("ls -la"));
        check(json!({"command": ["bash", "-lc", "rm x"]}), Some("rm x"));
        check(json!({"cmd": ["git", "status"]}), Some("git status"));
        check(json!({"path": "a.txt"}), None);
        check(json!("ls"), None);
    }

    #[test]
    fn a_name_tells_what_a_tool_does() {
        let check = |name: &str, expect: Option<ToolKind>| {
            assert_eq!(kind_of_name(name), expect, "{name}");
        };
        check("Bash", Some(ToolKind::Execute));
        check("run_shell_command", Some(ToolKind::Execute));
        check("MultiEdit", Some(ToolKind::Edit));
        check("read_file", Some(ToolKind::Read));
        check("WebSearch", Some(ToolKind::Fetch));
        check("Grep", Some(ToolKind::Search));
        check("TodoWrite", Some(ToolKind::Think));
        check("Task", None);
    }

    #[test]
    fn output_is_what_the_streams_hold() {
        let check = |raw: Value, expect: &str| assert_eq!(printed(&raw), expect, "{raw}");
        check(json!("plain"), "plain");
        check(json!({"stdout": "out", "stderr": "err"}), "out\nerr");
        check(json!({"stdout": "", "stderr": ""}), "");
        check(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb");
        check(json!([{"type": "image"}]), r#"[{"type":"image"}]"#);
        check(json!({"odd": 1}), r#"{"odd":1}"#);
    }
}
