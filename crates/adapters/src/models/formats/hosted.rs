//! Tools that a provider runs itself, and whatever else in a request makes it reach out or remember: found ([`find`]) and
//! taken out ([`strip`]). They are ways out of a sandbox that pass none of its sockets.

use domain::evidence::WireFormat;
use serde_json::Value;

use super::{list, text};

/// How a hosted tool can be kept from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// It is one of several things that are offered: without it the request still makes sense.
    Strip,
    /// The request rests on it, or nobody knows what it is: it must not go on.
    Refuse,
}

/// A hosted tool in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its type, or the field that stands for it.
    pub name: String,
    /// What keeps it from running.
    pub remedy: Remedy,
}

impl Found {
    fn new(name: impl Into<String>, remedy: Remedy) -> Self {
        Self { name: name.into(), remedy }
    }
}

/// What a type of tool means.
enum Kind {
    /// The agent runs it itself.
    Client,
    /// The provider runs it.
    Hosted,
    /// Nobody here knows.
    Unknown,
}

/// Types that the provider runs, without a date behind them.
const HOSTED_OPENAI: [&str; 8] = [
    "web_search",
    "web_search_preview",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "browser_search",
    "code_execution",
];

/// Types that the agent runs.
const CLIENT_OPENAI: [&str; 8] = [
    "function",
    "custom",
    "local_shell",
    "apply_patch",
    "computer_use_preview",
    "computer",
    "namespace",
    "tool_search",
];

const HOSTED_ANTHROPIC: [&str; 5] =
    ["web_search", "web_fetch", "code_execution", "mcp_toolset", "advisor"];

const CLIENT_ANTHROPIC: [&str; 7] = [
    "custom",
    "bash",
    "text_editor",
    "computer",
    "memory",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
];

const HOSTED_GEMINI: [&str; 8] = [
    "googleSearch",
    "googleSearchRetrieval",
    "urlContext",
    "codeExecution",
    "googleMaps",
    "enterpriseWebSearch",
    "fileSearch",
    "mcpServers",
];

/// Fields of Responses whose state or work lies at the provider, where no exchange shows it.
const STATE_OF_RESPONSES: [&str; 3] = ["background", "conversation", "prompt"];

/// Everything in a request that the provider would run, fetch or remember by itself.
///
/// `is_known_answer` says whether an answer of that id was given in this session.
pub fn find(
    format: WireFormat,
    body: &Value,
    is_known_answer: impl Fn(&str) -> bool,
) -> Vec<Found> {
    let mut found: Vec<Found> =
        list(body, "/tools").iter().flat_map(|tool| of_tool(format, tool)).collect();
    if let Some(forced) = forced_tool(format, body)
        && found.iter().any(|tool| tool.name == forced || names_of(body, &tool.name, forced))
    {
        // A request that must use what was taken out makes no sense.
        found.iter_mut().for_each(|tool| tool.remedy = Remedy::Refuse);
    }
    match format {
        WireFormat::OpenAiChat => {
            for field in ["web_search_options", "plugins", "search_parameters"] {
                if is_set(body, field) {
                    found.push(Found::new(field, Remedy::Strip));
                }
            }
        }
        WireFormat::OpenAiResponses => {
            for field in STATE_OF_RESPONSES {
                if is_set(body, field) {
                    found.push(Found::new(field, Remedy::Refuse));
                }
            }
            if let Some(id) = text(body, "/previous_response_id")
                && !is_known_answer(id)
            {
                found.push(Found::new("previous_response_id", Remedy::Refuse));
            }
        }
        WireFormat::AnthropicMessages => {
            if !list(body, "/mcp_servers").is_empty() {
                found.push(Found::new("mcp_servers", Remedy::Strip));
            }
            if is_set(body, "container") {
                found.push(Found::new("container", Remedy::Refuse));
            }
        }
        WireFormat::Gemini => {
            if is_set(body, "cachedContent") {
                found.push(Found::new("cachedContent", Remedy::Refuse));
            }
        }
    }
    for part in ["messages", "input", "contents", "system"] {
        of_contents(&body[part], &mut found);
    }
    found
}

/// Takes out what [`find`] said can be taken out.
pub fn strip(format: WireFormat, body: &mut Value, found: &[Found]) {
    let is_out =
        |name: &str| found.iter().any(|tool| tool.remedy == Remedy::Strip && tool.name == name);
    let Some(fields) = body.as_object_mut() else { return };
    fields.retain(|name, _| !is_out(name));
    if let Some(tools) = fields.get_mut("tools").and_then(Value::as_array_mut) {
        for tool in tools.iter_mut() {
            if format == WireFormat::Gemini
                && let Some(parts) = tool.as_object_mut()
            {
                parts.retain(|name, _| !is_out(&camel(name)));
            }
        }
        tools.retain(|tool| {
            let is_empty = tool.as_object().is_some_and(serde_json::Map::is_empty);
            !is_empty && !text(tool, "/type").is_some_and(is_out)
        });
        if tools.is_empty() {
            fields.remove("tools");
            // A choice among no tools is an error everywhere.
            for field in ["tool_choice", "parallel_tool_calls", "toolConfig"] {
                fields.remove(field);
            }
        }
    }
}

fn of_tool(format: WireFormat, tool: &Value) -> Vec<Found> {
    let kind = text(tool, "/type");
    match format {
        WireFormat::Gemini => {
            let fields = tool.as_object().into_iter().flat_map(|fields| fields.keys());
            fields
                .map(|name| camel(name))
                .filter(|name| !matches!(name.as_str(), "functionDeclarations" | "computerUse"))
                .map(|name| {
                    let is_known = HOSTED_GEMINI.contains(&name.as_str());
                    Found::new(name, if is_known { Remedy::Strip } else { Remedy::Refuse })
                })
                .collect()
        }
        WireFormat::OpenAiChat | WireFormat::OpenAiResponses => {
            let name = kind.unwrap_or("function");
            // A shell runs where its environment is.
            let is_local_shell =
                name == "shell" && matches!(text(tool, "/environment/type"), None | Some("local"));
            if is_local_shell {
                return Vec::new();
            }
            let known = known(name, &CLIENT_OPENAI, &HOSTED_OPENAI);
            let nested = list(tool, "/tools").iter().flat_map(|inner| of_tool(format, inner));
            of_kind(name, &known).into_iter().chain(nested.map(refused)).collect()
        }
        WireFormat::AnthropicMessages => {
            let name = kind.unwrap_or("custom");
            of_kind(name, &known(name, &CLIENT_ANTHROPIC, &HOSTED_ANTHROPIC)).into_iter().collect()
        }
    }
}

/// Inside a group nothing is taken out.
fn refused(found: Found) -> Found {
    Found { remedy: Remedy::Refuse, ..found }
}

fn of_kind(name: &str, kind: &Kind) -> Option<Found> {
    match kind {
        Kind::Client => None,
        Kind::Hosted => Some(Found::new(name, Remedy::Strip)),
        Kind::Unknown => Some(Found::new(name, Remedy::Refuse)),
    }
}

/// Types may carry the date of their version at the end.
fn known(name: &str, client: &[&str], hosted: &[&str]) -> Kind {
    let is_date = |c: char| c.is_ascii_digit() || c == '_';
    let bare = name.trim_end_matches(is_date);
    if client.contains(&name) || client.contains(&bare) {
        Kind::Client
    } else if hosted.contains(&name) || hosted.contains(&bare) {
        Kind::Hosted
    } else {
        Kind::Unknown
    }
}

fn is_set(body: &Value, field: &str) -> bool {
    body.get(field).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
}

/// The tool that the model is told to use, by type or name.
fn forced_tool(format: WireFormat, body: &Value) -> Option<&str> {
    match format {
        WireFormat::AnthropicMessages => text(body, "/tool_choice/name"),
        _ => text(body, "/tool_choice/type").filter(|kind| *kind != "function"),
    }
}

/// Whether the tool of that type bears that name.
fn names_of(body: &Value, kind: &str, name: &str) -> bool {
    list(body, "/tools")
        .iter()
        .any(|tool| text(tool, "/type") == Some(kind) && text(tool, "/name") == Some(name))
}

/// Gemini takes both spellings of its fields.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        whole.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        whole.push_str(letters.as_str());
    }
    whole
}

/// Contents that the provider would fetch, or that lie with it already.
fn of_contents(value: &Value, found: &mut Vec<Found>) {
    match value {
        Value::Array(list) => list.iter().for_each(|inner| of_contents(inner, found)),
        Value::Object(fields) => {
            for (name, inner) in fields {
                let refers = match name.as_str() {
                    "image_url" | "file_url" | "fileUri" | "file_uri" => is_address(inner),
                    "url" => is_address(inner) && is_source(fields),
                    "file_id" => inner.is_string(),
                    _ => false,
                };
                let is_known = found.iter().any(|tool| tool.name == *name);
                if refers && !is_known {
                    found.push(Found::new(name, Remedy::Refuse));
                }
                // What tools were called with, and the schemas of answers, are only text to a provider.
                if !matches!(name.as_str(), "arguments" | "args" | "functionResponse")
                    && !is_call(fields, name)
                {
                    of_contents(inner, found);
                }
            }
        }
        _ => {}
    }
}

fn is_address(value: &Value) -> bool {
    let address = value.as_str().or_else(|| text(value, "/url"));
    address.is_some_and(|address| !address.starts_with("data:"))
}

/// Whether fields are those of a source of contents.
fn is_source(fields: &serde_json::Map<String, Value>) -> bool {
    fields.get("type").and_then(Value::as_str) == Some("url")
}

fn is_call(fields: &serde_json::Map<String, Value>, name: &str) -> bool {
    let kind = fields.get("type").and_then(Value::as_str);
    name == "input" && matches!(kind, Some("tool_use" | "custom_tool_call" | "server_tool_use"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    use WireFormat::{AnthropicMessages, Gemini, OpenAiChat, OpenAiResponses};

    fn check(format: WireFormat, body: Value, expected: &[(&str, Remedy)]) {
        let found = find(format, &body, |id| id == "resp_known");
        let found: Vec<(&str, Remedy)> =
            found.iter().map(|tool| (tool.name.as_str(), tool.remedy)).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn what_the_provider_would_run_is_found() {
        use Remedy::{Refuse, Strip};
        let tools = |kinds: &[&str]| {
            let tools: Vec<Value> = kinds.iter().map(|kind| json!({"type": kind})).collect();
            json!({"tools": tools})
        };
        let own = ["function", "custom", "local_shell", "apply_patch"];
        check(OpenAiResponses, tools(&own), &[]);
        check(OpenAiResponses, json!({"tools": [{"type": "shell"}]}), &[]);
        let shell =
            json!({"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]});
        check(OpenAiResponses, shell, &[("shell", Refuse)]);
        for kind in HOSTED_OPENAI {
            check(OpenAiResponses, tools(&["function", kind]), &[(kind, Strip)]);
        }
        let dated = tools(&["web_search_2025_08_26", "web_search_preview_2025_03_11"]);
        let expected = [("web_search_2025_08_26", Strip), ("web_search_preview_2025_03_11", Strip)];
        check(OpenAiResponses, dated, &expected);
        check(OpenAiResponses, tools(&["telepathy"]), &[("telepathy", Refuse)]);
        let group = json!({"tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]});
        check(OpenAiResponses, group, &[("mcp", Refuse)]);
        check(OpenAiChat, json!({"web_search_options": {}}), &[("web_search_options", Strip)]);
        check(OpenAiChat, json!({"web_search_options": null}), &[]);

        let client = ["bash_20250124", "text_editor_20250728", "custom", "memory_20250818"];
        check(AnthropicMessages, tools(&client), &[]);
        check(AnthropicMessages, json!({"tools": [{"name": "Bash", "input_schema": {}}]}), &[]);
        for kind in ["web_search_20250305", "web_fetch_20250910", "code_execution_20250825"] {
            check(AnthropicMessages, tools(&[kind]), &[(kind, Strip)]);
        }
        check(
            AnthropicMessages,
            tools(&["clairvoyance_20260101"]),
            &[("clairvoyance_20260101", Refuse)],
        );
        let servers = json!({"mcp_servers": [{"type": "url", "url": "https://a.example"}]});
        check(AnthropicMessages, servers, &[("mcp_servers", Strip)]);

        check(Gemini, json!({"tools": [{"functionDeclarations": []}]}), &[]);
        check(Gemini, json!({"tools": [{"function_declarations": []}]}), &[]);
        check(
            Gemini,
            json!({"tools": [{"google_search": {}, "urlContext": {}}]}),
            &[("googleSearch", Strip), ("urlContext", Strip)],
        );
        check(Gemini, json!({"tools": [{"codeExecution": {}}]}), &[("codeExecution", Strip)]);
        check(Gemini, json!({"tools": [{"timeTravel": {}}]}), &[("timeTravel", Refuse)]);
    }

    #[test]
    fn state_and_addresses_are_ways_out_too() {
        use Remedy::Refuse;
        check(OpenAiResponses, json!({"background": false, "store": false}), &[]);
        check(OpenAiResponses, json!({"background": true}), &[("background", Refuse)]);
        check(OpenAiResponses, json!({"previous_response_id": "resp_known"}), &[]);
        check(
            OpenAiResponses,
            json!({"previous_response_id": "resp_x"}),
            &[("previous_response_id", Refuse)],
        );
        let image = |url: &str| {
            json!({"messages": [{"role": "user",
                "content": [{"type": "image_url", "image_url": {"url": url}}]}]})
        };
        check(OpenAiChat, image("data:image/png;base64,AA"), &[]);
        check(OpenAiChat, image("https://a.example/?secret"), &[("image_url", Refuse)]);
        let file = json!({"input": [{"content": [{"type": "input_file", "file_id": "file-1"}]}]});
        check(OpenAiResponses, file, &[("file_id", Refuse)]);
        let source = json!({"messages": [{"content": [{"type": "image",
            "source": {"type": "url", "url": "https://a.example"}}]}]});
        check(AnthropicMessages, source, &[("url", Refuse)]);
        let file = json!({"contents": [{"parts": [{"fileData": {"fileUri": "https://a"}}]}]});
        check(Gemini, file, &[("fileUri", Refuse)]);
        // What the agent's own tools were called with reaches nobody.
        let called = json!({"messages": [{"content": [{"type": "tool_use",
            "input": {"type": "url", "url": "https://a.example", "file_id": "x"}}]}]});
        check(AnthropicMessages, called, &[]);
    }

    #[test]
    fn what_is_taken_out_leaves_a_request_that_makes_sense() {
        let check = |format, mut body: Value, expected: Value| {
            let found = find(format, &body, |_| false);
            strip(format, &mut body, &found);
            assert_eq!(body, expected);
        };
        check(
            OpenAiResponses,
            json!({"tools": [{"type": "function"}, {"type": "web_search"}], "tool_choice": "auto"}),
            json!({"tools": [{"type": "function"}], "tool_choice": "auto"}),
        );
        check(
            OpenAiResponses,
            json!({"input": "a", "tools": [{"type": "web_search"}], "tool_choice": "auto"}),
            json!({"input": "a"}),
        );
        check(
            Gemini,
            json!({"tools": [{"google_search": {}}, {"functionDeclarations": [1]}]}),
            json!({"tools": [{"functionDeclarations": [1]}]}),
        );
        check(
            AnthropicMessages,
            json!({"mcp_servers": [{}], "messages": []}),
            json!({"messages": []}),
        );
    }

    #[test]
    fn a_forced_hosted_tool_is_refused() {
        use Remedy::Refuse;
        let forced =
            json!({"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}});
        check(OpenAiResponses, forced, &[("web_search", Refuse)]);
        let forced = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}],
            "tool_choice": {"type": "tool", "name": "web_search"}});
        check(AnthropicMessages, forced, &[("web_search_20250305", Refuse)]);
    }
}
