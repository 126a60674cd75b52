//! What a request asks for ([`Asked`]): model, effort and parameters exactly as sent, and what tells the conversation from
//! requests beside it.

use domain::evidence::WireFormat;
use serde_json::Value;

use super::{Verb, list, text};

/// What a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The model; empty if none is named.
    pub model: String,
    /// The effort, if one was sent.
    pub effort: Option<String>,
    /// Other parameters that were sent, by name, as JSON.
    pub parameters: Vec<(String, String)>,
    /// Whether the answer is to come as a stream of events.
    pub is_stream: bool,
    /// Whether it offers the model any tool.
    pub offers_tools: bool,
    /// Whether it carries results of tools.
    pub has_tool_results: bool,
}

impl Asked {
    /// Reads a request of a form.
    pub fn read(format: WireFormat, verb: &Verb, body: &Value) -> Asked {
        let mut asked = Asked {
            model: text(body, "/model").unwrap_or_default().to_owned(),
            is_stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            offers_tools: !list(body, "/tools").is_empty(),
            ..Asked::default()
        };
        if let Verb::Generate { model: Some(model), is_stream } = verb {
            model.clone_into(&mut asked.model);
            asked.is_stream = *is_stream;
        }
        asked.effort = effort_paths(format).iter().find_map(|path| {
            let sent = body.pointer(path).filter(|value| !value.is_null())?;
            Some(sent.as_str().map_or_else(|| sent.to_string(), str::to_owned))
        });
        for path in parameter_paths(format) {
            if let Some(sent) = body.pointer(path).filter(|value| !value.is_null()) {
                asked.parameters.push((path[1..].replace('/', "."), sent.to_string()));
            }
        }
        asked.has_tool_results = match format {
            WireFormat::OpenAiChat => {
                list(body, "/messages").iter().any(|message| text(message, "/role") == Some("tool"))
            }
            WireFormat::OpenAiResponses => list(body, "/input")
                .iter()
                .any(|item| text(item, "/type").is_some_and(|kind| kind.ends_with("_output"))),
            WireFormat::AnthropicMessages => list(body, "/messages")
                .iter()
                .flat_map(|message| list(message, "/content"))
                .any(|block| text(block, "/type") == Some("tool_result")),
            WireFormat::Gemini => list(body, "/contents")
                .iter()
                .flat_map(|content| list(content, "/parts"))
                .any(|part| part.get("functionResponse").is_some()),
        };
        asked
    }
}

fn effort_paths(format: WireFormat) -> &'static [&'static str] {
    match format {
        WireFormat::OpenAiChat => &["/reasoning_effort", "/reasoning/effort"],
        WireFormat::OpenAiResponses => &["/reasoning/effort"],
        WireFormat::AnthropicMessages => &["/output_config/effort"],
        WireFormat::Gemini => &["/generationConfig/thinkingConfig/thinkingLevel"],
    }
}

fn parameter_paths(format: WireFormat) -> &'static [&'static str] {
    match format {
        WireFormat::OpenAiChat => &[
            "/frequency_penalty",
            "/max_completion_tokens",
            "/max_tokens",
            "/parallel_tool_calls",
            "/presence_penalty",
            "/seed",
            "/service_tier",
            "/stop",
            "/temperature",
            "/thinking",
            "/tool_choice",
            "/top_p",
            "/verbosity",
        ],
        WireFormat::OpenAiResponses => &[
            "/max_output_tokens",
            "/parallel_tool_calls",
            "/reasoning/summary",
            "/service_tier",
            "/store",
            "/temperature",
            "/text/verbosity",
            "/tool_choice",
            "/top_p",
            "/truncation",
        ],
        WireFormat::AnthropicMessages => &[
            "/context_management",
            "/max_tokens",
            "/service_tier",
            "/speed",
            "/stop_sequences",
            "/temperature",
            "/thinking",
            "/tool_choice",
            "/top_k",
            "/top_p",
        ],
        WireFormat::Gemini => &[
            "/generationConfig/maxOutputTokens",
            "/generationConfig/seed",
            "/generationConfig/stopSequences",
            "/generationConfig/temperature",
            "/generationConfig/thinkingConfig/includeThoughts",
            "/generationConfig/thinkingConfig/thinkingBudget",
            "/generationConfig/topK",
            "/generationConfig/topP",
            "/toolConfig",
        ],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_sent_is_unset() {
        use WireFormat::{AnthropicMessages, Gemini, OpenAiChat, OpenAiResponses};
        let check = |format, body: Value, effort: Option<&str>, parameters: &[(&str, &str)]| {
            let verb = Verb::Generate { model: None, is_stream: false };
            let asked = Asked::read(format, &verb, &body);
            assert_eq!(asked.effort.as_deref(), effort, "{body}");
            let found: Vec<(&str, &str)> =
                asked.parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            assert_eq!(found, parameters, "{body}");
        };
        check(OpenAiChat, json!({}), None, &[]);
        check(OpenAiChat, json!({"reasoning_effort": "none"}), Some("none"), &[]);
        check(OpenAiChat, json!({"temperature": 0, "seed": null}), None, &[("temperature", "0")]);
        let sent = json!({"reasoning": {"effort": "high", "summary": "auto"}, "store": false});
        let parameters = [("reasoning.summary", "\"auto\""), ("store", "false")];
        check(OpenAiResponses, sent, Some("high"), &parameters);
        let sent = json!({"thinking": {"budget_tokens": 1024, "type": "enabled"}});
        let parameters = [("thinking", "{\"budget_tokens\":1024,\"type\":\"enabled\"}")];
        check(AnthropicMessages, sent, None, &parameters);
        let sent = json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}});
        check(Gemini, sent, None, &[("generationConfig.thinkingConfig.thinkingBudget", "0")]);
    }

    #[test]
    fn results_of_tools_are_seen_in_each_form() {
        let check = |format, body: Value, expected: bool| {
            let verb = Verb::Generate { model: None, is_stream: false };
            assert_eq!(Asked::read(format, &verb, &body).has_tool_results, expected, "{body}");
        };
        let chat = |role: &str| json!({"messages": [{"role": role, "content": "a"}]});
        check(WireFormat::OpenAiChat, chat("tool"), true);
        check(WireFormat::OpenAiChat, chat("user"), false);
        let item = json!({"input": [{"type": "function_call_output", "output": "a"}]});
        check(WireFormat::OpenAiResponses, item, true);
        check(WireFormat::OpenAiResponses, json!({"input": "text"}), false);
        let block = json!({"messages": [{"content": [{"type": "tool_result"}]}]});
        check(WireFormat::AnthropicMessages, block, true);
        let part = json!({"contents": [{"parts": [{"functionResponse": {}}]}]});
        check(WireFormat::Gemini, part, true);
    }
}
