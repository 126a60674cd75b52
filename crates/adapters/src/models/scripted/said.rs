//! What a scripted model says to a request ([`Said`]): the answer of the script, its commands turned into calls of the tools
//! that the agent offers.

use domain::usage::Tokens;
use serde_json::{Map, Value, json};

use super::{
    heard::{Heard, OfferedTool},
    script::ScriptedAnswer,
};

/// Names under which agents offer a shell, the most specific first.
const SHELLS: [&str; 14] = [
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "Bash",
    "bash",
    "run_shell_command",
    "execute_command",
    "run_commands",
    "developer__shell",
    "execute_bash",
    "terminal",
    "Shell",
    "exec",
];

/// Names under which agents offer to write a file.
const WRITERS: [&str; 11] = [
    "Write",
    "write",
    "write_file",
    "write_to_file",
    "WriteFile",
    "create_file",
    "editor",
    "developer__text_editor",
    "text_editor",
    "file_editor",
    "str_replace_editor",
];

const PATH_FIELDS: [&str; 6] =
    ["filePath", "file_path", "path", "absolute_path", "absolutePath", "filename"];
const CONTENT_FIELDS: [&str; 5] = ["content", "file_text", "contents", "file_content", "new_text"];

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: OfferedTool,
    pub(super) input: Value,
}

/// An answer, whatever its form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    /// Names the answer; the same request has the same.
    pub(super) id: String,
    pub(super) model: String,
    pub(super) think: Option<String>,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// None if none are told.
    pub(super) tokens: Option<Tokens>,
}

impl Said {
    /// The answer of a script to what was heard; `id` differs from request to request.
    pub(super) fn of(answer: &ScriptedAnswer, heard: &Heard, id: &str) -> Self {
        let mut said = Self {
            id: id.to_owned(),
            model: answer.model.clone().unwrap_or_else(|| heard.model.clone()),
            think: answer.think.clone(),
            text: answer.say.clone().unwrap_or_default(),
            calls: Vec::new(),
            tokens: None,
        };
        if let Some(schema) = &heard.wants_json {
            let value = answer.json.clone().unwrap_or_else(|| least(schema, schema, 0));
            said.text = value.to_string();
        } else if heard.tools.is_empty() {
            said.write_out(answer, heard);
        } else {
            said.act(answer, heard);
        }
        said.tokens = match answer.usage {
            _ if answer.omit_usage => None,
            Some(usage) => Some(usage.tokens()),
            None => Some(said.counted(heard)),
        };
        said
    }

    fn act(&mut self, answer: &ScriptedAnswer, heard: &Heard) {
        let mut commands: Vec<String> = answer.run.clone();
        for (path, content) in &answer.write {
            match writing(heard, path, content) {
                Some((tool, input)) => self.call(tool, input),
                None => commands.push(format!("cat > '{path}' <<'EOF'\n{content}\nEOF")),
            }
        }
        for command in &commands {
            match offered(heard, &SHELLS) {
                Some(tool) => self.call(tool, shell_input(tool, command)),
                None => {
                    let names: Vec<&str> = heard.tools.iter().map(|t| t.name.as_str()).collect();
                    self.text = format!("no shell is offered, only {}", names.join(", "));
                }
            }
        }
        for call in &answer.call {
            let unknown = OfferedTool {
                name: call.tool.clone(),
                group: None,
                schema: Value::Null,
                is_freeform: call.input.is_string(),
            };
            let tool = heard.tools.iter().find(|tool| tool.name == call.tool).unwrap_or(&unknown);
            self.call(tool, call.input.clone());
        }
    }

    /// Agents without tools read commands from the text.
    fn write_out(&mut self, answer: &ScriptedAnswer, heard: &Heard) {
        let system = heard.system();
        let fence = ["mswea_bash_command", "bash"].into_iter().find(|name| system.contains(name));
        let Some(fence) = fence else { return };
        for command in &answer.run {
            self.text.push_str(&format!("\n\n```{fence}\n{command}\n```"));
        }
    }

    fn call(&mut self, tool: &OfferedTool, input: Value) {
        let id = format!("call_{}{}", self.id, self.calls.len());
        self.calls.push(Call { id, tool: tool.clone(), input });
    }

    /// Four bytes are a token.
    fn counted(&self, heard: &Heard) -> Tokens {
        let count = |bytes: usize| Some(bytes.div_ceil(4) as u64);
        let heard: usize = heard.lines.iter().map(|(_, text)| text.len()).sum();
        let called: usize = self.calls.iter().map(|call| call.input.to_string().len()).sum();
        let thought = self.think.as_ref().map_or(0, String::len);
        Tokens {
            input: count(heard),
            cached_input: Some(0),
            cache_write: Some(0),
            output: count(self.text.len() + called + thought),
            reasoning: count(thought),
            hosted_uses: None,
        }
    }
}

fn offered<'a>(heard: &'a Heard, names: &[&str]) -> Option<&'a OfferedTool> {
    names.iter().find_map(|name| heard.tools.iter().find(|tool| tool.name == *name))
}

fn fields(tool: &OfferedTool) -> Option<&Map<String, Value>> {
    tool.schema.get("properties")?.as_object()
}

fn writing<'a>(heard: &'a Heard, path: &str, content: &str) -> Option<(&'a OfferedTool, Value)> {
    let tool = offered(heard, &WRITERS)?;
    let known = fields(tool)?;
    let path_field = PATH_FIELDS.into_iter().find(|field| known.contains_key(*field))?;
    let content_field = CONTENT_FIELDS.into_iter().find(|field| known.contains_key(*field))?;
    let mut given = Map::new();
    given.insert(path_field.to_owned(), path.into());
    given.insert(content_field.to_owned(), format!("{content}\n").into());
    if let Some(command) = known.get("command") {
        let verb = if command.to_string().contains("write") { "write" } else { "create" };
        given.insert("command".to_owned(), verb.into());
    }
    Some((tool, filled(&tool.schema, given)))
}

fn shell_input(tool: &OfferedTool, command: &str) -> Value {
    if tool.is_freeform {
        return command.into();
    }
    if tool.name == "local_shell" {
        return json!({"command": ["bash", "-lc", command]});
    }
    let known = fields(tool);
    let field = ["cmd", "command", "commands", "script"]
        .into_iter()
        .find(|field| known.is_some_and(|known| known.contains_key(*field)))
        .unwrap_or("command");
    let schema = known.and_then(|known| known.get(field)).unwrap_or(&Value::Null);
    let is_list = match schema["type"].as_str() {
        Some(kind) => kind.eq_ignore_ascii_case("array"),
        None => field == "commands",
    };
    let value = match (is_list, field) {
        (true, "command") => json!(["bash", "-lc", command]),
        (true, _) => json!([command]),
        (false, _) => json!(command),
    };
    filled(&tool.schema, Map::from_iter([(field.to_owned(), value)]))
}

/// What is given, and the least that fits for whatever else is required.
fn filled(schema: &Value, mut given: Map<String, Value>) -> Value {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !given.contains_key(name) {
            let value = least(&schema["properties"][name], schema, 0);
            given.insert(name.to_owned(), value);
        }
    }
    Value::Object(given)
}

/// The least value that fits a schema, as far as the usual words go.
fn least(schema: &Value, whole: &Value, depth: usize) -> Value {
    if depth > 16 {
        return Value::Null;
    }
    let inner = |schema: &Value| least(schema, whole, depth + 1);
    if let Some(path) = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        return whole.pointer(path).map_or(Value::Null, inner);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(value) = schema["enum"].get(0) {
        return value.clone();
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[word].get(0) {
            return inner(first);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"].get(0)?.as_str());
    match kind.map(str::to_ascii_lowercase).as_deref() {
        Some("string") => "scripted".into(),
        Some("boolean") => false.into(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0).min(16);
            (0..least).map(|_| inner(&schema["items"])).collect()
        }
        Some("null") => Value::Null,
        _ => match schema.get("properties").and_then(Value::as_object) {
            Some(_) => {
                let required = schema["required"].as_array().into_iter().flatten();
                let names = required.filter_map(Value::as_str);
                let fields =
                    names.map(|name| (name.to_owned(), inner(&schema["properties"][name])));
                Value::Object(fields.collect())
            }
            None => json!({}),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Value) -> OfferedTool {
        OfferedTool { name: name.to_owned(), group: None, schema, is_freeform: false }
    }

    #[test]
    fn commands_become_calls_of_the_tools_that_are_there() {
        let check = |tools: Vec<OfferedTool>, name: &str, input: Value| {
            let heard = Heard { tools, ..Heard::default() };
            let answer = ScriptedAnswer { run: vec!["ls".to_owned()], ..ScriptedAnswer::default() };
            let said = Said::of(&answer, &heard, "1");
            assert_eq!((said.calls[0].tool.name.as_str(), &said.calls[0].input), (name, &input));
        };
        let text = json!({"type": "string"});
        let bash = json!({"properties": {"command": text, "description": text},
            "required": ["command", "description"]});
        let expected = json!({"command": "ls", "description": "scripted"});
        check(vec![tool("Read", json!({})), tool("Bash", bash)], "Bash", expected);
        let list = json!({"properties": {"command": {"type": "array"}}});
        check(vec![tool("shell", list)], "shell", json!({"command": ["bash", "-lc", "ls"]}));
        let cmd = json!({"properties": {"cmd": text}});
        check(vec![tool("exec_command", cmd)], "exec_command", json!({"cmd": "ls"}));
        let local = json!({"command": ["bash", "-lc", "ls"]});
        check(vec![tool("local_shell", Value::Null)], "local_shell", local);
    }

    #[test]
    fn files_are_written_by_what_is_there() {
        let answer = ScriptedAnswer {
            write: [("a.txt".to_owned(), "b".to_owned())].into(),
            ..ScriptedAnswer::default()
        };
        let check = |tools: Vec<OfferedTool>, name: &str, part: &str| {
            let said = Said::of(&answer, &Heard { tools, ..Heard::default() }, "1");
            assert_eq!(said.calls[0].tool.name, name);
            assert!(said.calls[0].input.to_string().contains(part), "{:?}", said.calls);
        };
        let text = json!({"type": "string"});
        let write = json!({"properties": {"file_path": text, "content": text}});
        check(vec![tool("Write", write)], "Write", r#""file_path":"a.txt""#);
        let shell = json!({"properties": {"command": text}});
        check(vec![tool("bash", shell)], "bash", "cat > 'a.txt'");
    }

    #[test]
    fn the_least_value_fits_its_schema() {
        let check = |schema: Value| {
            let value = least(&schema, &schema, 0);
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            assert!(validator.is_valid(&value), "{value} of {schema}");
        };
        check(json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]},
            "b": {"type": "array", "items": {"type": "number", "minimum": 3}, "minItems": 2},
            "c": {"type": ["integer", "null"]}, "d": {"$ref": "#/$defs/d"}},
            "required": ["a", "b", "c", "d"], "$defs": {"d": {"const": 7}}}));
        check(json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}));
        // A schema without an end is left.
        let endless = json!({"$ref": "#"});
        assert_eq!(least(&endless, &endless, 0), Value::Null);
    }
}
