//! A request as a scripted model hears it ([`Heard`]), whatever its form: who said what, and which tools there are.

use domain::evidence::WireFormat;
use serde_json::Value;

use crate::models::formats::{Asked, Verb};

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

/// A tool of the agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    /// The group that it belongs to, if the form has groups.
    pub(super) group: Option<String>,
    /// The schema of its input.
    pub(super) schema: Value,
    /// Its input is plain text.
    pub(super) is_freeform: bool,
}

/// What is heard.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    pub(super) model: String,
    pub(super) is_stream: bool,
    pub(super) lines: Vec<(Speaker, String)>,
    pub(super) tools: Vec<OfferedTool>,
    /// The schema that the answer must fit; `Null` where any JSON will do.
    pub(super) wants_json: Option<Value>,
    /// The last event of a stream tells the tokens only if asked to (chat).
    pub(super) wants_usage: bool,
}

impl Heard {
    pub(super) fn read(format: WireFormat, verb: &Verb, body: &Value) -> Self {
        let asked = Asked::read(format, verb, body);
        let mut heard = Self {
            model: asked.model,
            is_stream: asked.is_stream,
            wants_usage: true,
            ..Self::default()
        };
        match format {
            WireFormat::OpenAiChat => heard.chat(body),
            WireFormat::OpenAiResponses => heard.responses(body),
            WireFormat::AnthropicMessages => heard.anthropic(body),
            WireFormat::Gemini => heard.gemini(body),
        }
        heard
    }

    /// The last message of the user, and how many rounds of results of tools have followed it.
    pub(super) fn last_user(&self) -> (&str, usize) {
        let at = self.lines.iter().rposition(|(speaker, _)| *speaker == Speaker::User);
        let Some(at) = at else { return ("", 0) };
        let mut rounds = 0;
        let mut was_tool = false;
        for (speaker, _) in &self.lines[at + 1..] {
            let is_tool = *speaker == Speaker::Tool;
            rounds += usize::from(is_tool && !was_tool);
            was_tool = is_tool;
        }
        (&self.lines[at].1, rounds)
    }

    /// All that the agent's own instructions say.
    pub(super) fn system(&self) -> String {
        let of_system = self.lines.iter().filter(|(speaker, _)| *speaker == Speaker::System);
        of_system.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn chat(&mut self, body: &Value) {
        for message in elements(body, "/messages") {
            let speaker = match string(message, "/role") {
                "system" | "developer" => Speaker::System,
                "assistant" => Speaker::Assistant,
                "tool" | "function" => Speaker::Tool,
                _ => Speaker::User,
            };
            self.lines.push((speaker, text_of(&message["content"])));
        }
        for tool in elements(body, "/tools") {
            self.offer(&tool["function"], None, "/parameters", false);
        }
        self.wants_usage = body.pointer("/stream_options/include_usage") == Some(&true.into());
        self.wants_json = match string(body, "/response_format/type") {
            "json_schema" => Some(body["response_format"]["json_schema"]["schema"].clone()),
            "json_object" => Some(Value::Null),
            _ => None,
        };
    }

    fn responses(&mut self, body: &Value) {
        if let Some(text) = body["instructions"].as_str() {
            self.lines.push((Speaker::System, text.to_owned()));
        }
        if let Some(text) = body["input"].as_str() {
            self.lines.push((Speaker::User, text.to_owned()));
        }
        for item in elements(body, "/input") {
            let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
            let speaker = match (kind, string(item, "/role")) {
                ("message", "system" | "developer") => Speaker::System,
                ("message", "assistant") => Speaker::Assistant,
                ("message", _) => Speaker::User,
                (kind, _) if kind.ends_with("_output") => Speaker::Tool,
                _ => Speaker::Assistant,
            };
            self.lines.push((speaker, text_of(&item["content"])));
        }
        for tool in elements(body, "/tools") {
            match string(tool, "/type") {
                "namespace" => {
                    for inner in elements(tool, "/tools") {
                        let group = Some(string(tool, "/name").to_owned());
                        self.offer(inner, group, "/parameters", string(inner, "/type") == "custom");
                    }
                }
                "local_shell" => self.tools.push(OfferedTool {
                    name: "local_shell".to_owned(),
                    group: None,
                    schema: Value::Null,
                    is_freeform: false,
                }),
                kind => self.offer(tool, None, "/parameters", kind == "custom"),
            }
        }
        self.wants_json = match string(body, "/text/format/type") {
            "json_schema" => Some(body["text"]["format"]["schema"].clone()),
            "json_object" => Some(Value::Null),
            _ => None,
        };
    }

    fn anthropic(&mut self, body: &Value) {
        let system = text_of(&body["system"]);
        if !system.is_empty() {
            self.lines.push((Speaker::System, system));
        }
        for message in elements(body, "/messages") {
            let results: Vec<&Value> = elements(message, "/content")
                .iter()
                .filter(|block| string(block, "/type") == "tool_result")
                .collect();
            for result in &results {
                self.lines.push((Speaker::Tool, text_of(&result["content"])));
            }
            // Agents put reminders of their own beside the results of tools.
            if results.is_empty() {
                let is_user = string(message, "/role") == "user";
                let speaker = if is_user { Speaker::User } else { Speaker::Assistant };
                self.lines.push((speaker, text_of(&message["content"])));
            }
        }
        for tool in elements(body, "/tools") {
            self.offer(tool, None, "/input_schema", false);
        }
        self.wants_json = match string(body, "/output_config/format/type") {
            "json_schema" => Some(body["output_config"]["format"]["schema"].clone()),
            _ => None,
        };
    }

    fn gemini(&mut self, body: &Value) {
        let system = text_of(&body["systemInstruction"]["parts"]);
        if !system.is_empty() {
            self.lines.push((Speaker::System, system));
        }
        for content in elements(body, "/contents") {
            let parts = elements(content, "/parts");
            let results: Vec<&Value> =
                parts.iter().filter_map(|part| part.get("functionResponse")).collect();
            for result in &results {
                self.lines.push((Speaker::Tool, result["response"].to_string()));
            }
            if results.is_empty() {
                let is_model = string(content, "/role") == "model";
                let speaker = if is_model { Speaker::Assistant } else { Speaker::User };
                self.lines.push((speaker, text_of(&content["parts"])));
            }
        }
        for tool in elements(body, "/tools") {
            for function in elements(tool, "/functionDeclarations") {
                let has_json = function.get("parametersJsonSchema").is_some();
                let path = if has_json { "/parametersJsonSchema" } else { "/parameters" };
                self.offer(function, None, path, false);
            }
        }
        let config = &body["generationConfig"];
        if string(config, "/responseMimeType") == "application/json" {
            let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
            self.wants_json = Some(schema.cloned().unwrap_or(Value::Null));
        }
    }

    fn offer(&mut self, tool: &Value, group: Option<String>, schema: &str, is_freeform: bool) {
        let name = string(tool, "/name");
        if !name.is_empty() {
            let schema = tool.pointer(schema).cloned().unwrap_or(Value::Null);
            let name = name.to_owned();
            self.tools.push(OfferedTool { name, group, schema, is_freeform });
        }
    }
}

fn string<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn elements<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of contents, however they are wrapped.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(text_of).filter(|text| !text.is_empty());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => fields.get("text").map(text_of).unwrap_or_default(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_message_of_the_user_is_heard_in_each_form() {
        let check = |format, body: Value, expected: (&str, usize)| {
            let verb = Verb::Generate { model: None, is_stream: false };
            assert_eq!(Heard::read(format, &verb, &body).last_user(), expected, "{body}");
        };
        let chat = json!({"messages": [
            {"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": []},
            {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"},
            {"role": "assistant"}, {"role": "tool", "content": "3"}]});
        check(WireFormat::OpenAiChat, chat, ("a", 2));
        check(WireFormat::OpenAiResponses, json!({"input": "a"}), ("a", 0));
        let responses = json!({"input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "reasoning"}, {"type": "function_call", "name": "f"},
            {"type": "function_call_output", "output": "1"}]});
        check(WireFormat::OpenAiResponses, responses, ("a", 1));
        let anthropic = json!({"messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use"}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "1"},
                {"type": "text", "text": "a reminder"}]}]});
        check(WireFormat::AnthropicMessages, anthropic, ("a", 1));
        let gemini = json!({"contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [{"functionCall": {}}]},
            {"role": "user", "parts": [{"functionResponse": {"response": {}}}]},
            {"role": "model", "parts": [{"text": "b"}]},
            {"role": "user", "parts": [{"text": "c"}]}]});
        check(WireFormat::Gemini, gemini, ("c", 0));
    }
}
