//! What an answer says of itself, summed up while it passes ([`Tally`]): model, tokens with one meaning for all providers,
//! an error inside, and whether it is whole.

use domain::{evidence::WireFormat, usage::Tokens};
use serde_json::Value;

use super::{ErrorReply, SseEvent, count, list, text};

/// The sum of one answer.
#[derive(Clone, Debug)]
pub struct Tally {
    format: WireFormat,
    /// The model that says it answered.
    pub model: Option<String>,
    /// What it took, as far as it was told.
    pub tokens: Tokens,
    /// An error that the provider told inside the answer.
    pub error: Option<ErrorReply>,
    /// Ids by which a later request can name this answer.
    pub id: Option<String>,
    /// The answer said that it is whole.
    pub is_finished: bool,
    /// A part of it was not what it claims to be.
    pub is_malformed: bool,
}

impl Tally {
    /// Of an answer that has not begun.
    pub fn new(format: WireFormat) -> Self {
        Self {
            format,
            model: None,
            tokens: Tokens::default(),
            error: None,
            id: None,
            is_finished: false,
            is_malformed: false,
        }
    }

    /// Takes in one event of a stream.
    pub fn event(&mut self, event: &SseEvent) {
        if event.data.trim() == "[DONE]" {
            self.is_finished = true;
            return;
        }
        match serde_json::from_str::<Value>(&event.data) {
            Ok(value) if value.is_object() => self.part(&value),
            _ => self.is_malformed = true,
        }
    }

    /// Takes in an answer that is no stream; Gemini's stream without events is a list of parts.
    pub fn body(&mut self, bytes: &[u8]) {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(Value::Array(parts)) if self.format == WireFormat::Gemini => {
                parts.iter().for_each(|part| self.part(part));
            }
            Ok(value) if value.is_object() => {
                self.part(&value);
                // An object that was read to its end is whole.
                self.is_finished |= self.error.is_none();
            }
            _ => self.is_malformed = true,
        }
    }

    fn part(&mut self, value: &Value) {
        if let Some(error) = ErrorReply::inside(value) {
            self.error = Some(error);
            return;
        }
        match self.format {
            WireFormat::OpenAiChat => self.chat(value),
            WireFormat::OpenAiResponses => self.responses(value),
            WireFormat::AnthropicMessages => self.anthropic(value),
            WireFormat::Gemini => self.gemini(value),
        }
    }

    fn names(&mut self, model: Option<&str>, id: Option<&str>) {
        if let Some(model) = model {
            self.model = Some(model.to_owned());
        }
        if let Some(id) = id {
            self.id = Some(id.to_owned());
        }
    }

    fn chat(&mut self, value: &Value) {
        self.names(text(value, "/model"), text(value, "/id"));
        self.is_finished |=
            list(value, "/choices").iter().any(|choice| text(choice, "/finish_reason").is_some());
        let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) else { return };
        let reasoning = count(usage, "/completion_tokens_details/reasoning_tokens");
        let (input, output) = (count(usage, "/prompt_tokens"), count(usage, "/completion_tokens"));
        self.tokens = Tokens {
            input,
            cached_input: count(usage, "/prompt_tokens_details/cached_tokens")
                .or_else(|| count(usage, "/prompt_cache_hit_tokens")),
            cache_write: count(usage, "/prompt_tokens_details/cache_write_tokens"),
            output: with_reasoning(input, output, reasoning, count(usage, "/total_tokens")),
            reasoning,
            hosted_uses: count(usage, "/server_tool_use/web_search_requests")
                .or_else(|| count(usage, "/num_sources_used")),
        };
    }

    fn responses(&mut self, value: &Value) {
        // In a stream the whole stands in the last event, outside it is the body.
        let kind = text(value, "/type").unwrap_or_default();
        let whole = if value.get("response").is_some_and(Value::is_object) {
            &value["response"]
        } else if text(value, "/object") == Some("response") {
            value
        } else {
            return;
        };
        self.names(text(whole, "/model"), text(whole, "/id"));
        if matches!(kind, "response.completed" | "response.incomplete") {
            self.is_finished = true;
        }
        let Some(usage) = whole.get("usage").filter(|usage| usage.is_object()) else { return };
        let hosted = list(whole, "/output")
            .iter()
            .filter(|item| text(item, "/type").is_some_and(|kind| HOSTED_ITEMS.contains(&kind)));
        self.tokens = Tokens {
            input: count(usage, "/input_tokens"),
            cached_input: count(usage, "/input_tokens_details/cached_tokens"),
            cache_write: count(usage, "/input_tokens_details/cache_write_tokens"),
            output: count(usage, "/output_tokens"),
            reasoning: count(usage, "/output_tokens_details/reasoning_tokens"),
            hosted_uses: Some(hosted.count() as u64),
        };
    }

    fn anthropic(&mut self, value: &Value) {
        let whole = if value.get("message").is_some_and(Value::is_object) {
            &value["message"]
        } else {
            value
        };
        self.names(text(whole, "/model"), text(whole, "/id"));
        let kind = text(value, "/type").unwrap_or_default();
        self.is_finished |= kind == "message_stop";
        let Some(usage) = whole.get("usage").filter(|usage| usage.is_object()) else { return };
        // Its input counts what no cache had part in; the last event repeats only what it knows anew.
        let fresh = count(usage, "/input_tokens");
        let cached = count(usage, "/cache_read_input_tokens").or(self.tokens.cached_input);
        let written = count(usage, "/cache_creation_input_tokens").or(self.tokens.cache_write);
        if let Some(fresh) = fresh {
            let beside = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
            self.tokens.input = Some(fresh.saturating_add(beside));
        }
        self.tokens.cached_input = cached;
        self.tokens.cache_write = written;
        // What the first event says of the output is only what was made until then.
        if kind != "message_start" {
            self.tokens.output = count(usage, "/output_tokens").or(self.tokens.output);
        }
        let reasoning = count(usage, "/output_tokens_details/thinking_tokens");
        self.tokens.reasoning = reasoning.or(self.tokens.reasoning);
        if let Some(uses) = usage.get("server_tool_use").and_then(Value::as_object) {
            let counts = uses.values().filter_map(Value::as_u64);
            self.tokens.hosted_uses = Some(counts.fold(0, u64::saturating_add));
        }
    }

    fn gemini(&mut self, value: &Value) {
        self.names(text(value, "/modelVersion"), text(value, "/responseId"));
        self.is_finished |= text(value, "/promptFeedback/blockReason").is_some()
            || list(value, "/candidates")
                .iter()
                .any(|candidate| text(candidate, "/finishReason").is_some());
        let searches = list(value, "/candidates")
            .iter()
            .flat_map(|candidate| list(candidate, "/groundingMetadata/webSearchQueries"))
            .count() as u64;
        if searches > 0 {
            self.tokens.hosted_uses = Some(self.tokens.hosted_uses.unwrap_or(0) + searches);
        }
        let Some(usage) = value.get("usageMetadata").filter(|usage| usage.is_object()) else {
            return;
        };
        // Each part tells the sums so far.
        let sum = |first: &str, second: &str| match (count(usage, first), count(usage, second)) {
            (None, None) => None,
            (first, second) => Some(first.unwrap_or(0).saturating_add(second.unwrap_or(0))),
        };
        self.tokens = Tokens {
            input: sum("/promptTokenCount", "/toolUsePromptTokenCount"),
            cached_input: count(usage, "/cachedContentTokenCount"),
            cache_write: None,
            output: sum("/candidatesTokenCount", "/thoughtsTokenCount"),
            reasoning: count(usage, "/thoughtsTokenCount"),
            hosted_uses: self.tokens.hosted_uses,
        };
    }
}

/// Items of a response that a tool of the provider made.
const HOSTED_ITEMS: [&str; 6] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
    "image_generation_call",
    "mcp_list_tools",
];

/// Some servers of the chat form leave reasoning out of the output; their total gives it away.
fn with_reasoning(
    input: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    total: Option<u64>,
) -> Option<u64> {
    let apart = output?.checked_add(reasoning.unwrap_or(0))?;
    let is_apart = total.is_some() && total == input.and_then(|input| input.checked_add(apart));
    if is_apart { Some(apart) } else { output }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_events(format: WireFormat, events: &[Value]) -> Tally {
        let mut tally = Tally::new(format);
        for event in events {
            tally.event(&SseEvent { name: String::new(), data: event.to_string() });
        }
        tally
    }

    fn of_body(format: WireFormat, body: &Value) -> Tally {
        let mut tally = Tally::new(format);
        tally.body(body.to_string().as_bytes());
        tally
    }

    /// Input, cached, written, output, reasoning.
    type Numbers = [Option<u64>; 5];

    fn numbers(tally: &Tally) -> Numbers {
        let tokens = tally.tokens;
        let Tokens { input, cached_input, cache_write, output, reasoning, .. } = tokens;
        [input, cached_input, cache_write, output, reasoning]
    }

    #[test]
    fn chat_counts_cached_input_within_the_input() {
        let check = |usage: Value, expected: Numbers| {
            let body =
                json!({"model": "m", "choices": [{"finish_reason": "stop"}], "usage": usage});
            assert_eq!(numbers(&of_body(WireFormat::OpenAiChat, &body)), expected, "{usage}");
            let parts = [json!({"choices": [{"finish_reason": "stop"}]}), body.clone()];
            let streamed = of_events(WireFormat::OpenAiChat, &parts);
            assert_eq!(numbers(&streamed), expected, "streamed {usage}");
            assert!(streamed.is_finished);
        };
        check(json!(null), [None; 5]);
        check(json!({"prompt_tokens": 0}), [Some(0), None, None, None, None]);
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 2}});
        check(usage, [Some(10), Some(4), None, Some(5), Some(2)]);
        let apart = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 17,
            "completion_tokens_details": {"reasoning_tokens": 2}});
        check(apart, [Some(10), None, None, Some(7), Some(2)]);
        let hit = json!({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8});
        check(hit, [Some(10), Some(8), None, None, None]);
        check(json!({"prompt_tokens": -1}), [None; 5]);
        check(json!({"prompt_tokens": "7"}), [None; 5]);
    }

    #[test]
    fn responses_tell_in_their_last_event() {
        let usage = json!({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 3},
            "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 1}});
        let whole = json!({"object": "response", "id": "r", "model": "m", "usage": usage,
            "output": [{"type": "web_search_call"}, {"type": "message"}]});
        let expected = [Some(9), Some(3), None, Some(4), Some(1)];
        let plain = of_body(WireFormat::OpenAiResponses, &whole);
        assert_eq!(numbers(&plain), expected);
        assert_eq!(plain.tokens.hosted_uses, Some(1));
        let begun = json!({"type": "response.created", "response": {"id": "r", "usage": null}});
        let done = json!({"type": "response.completed", "response": whole});
        let streamed = of_events(WireFormat::OpenAiResponses, &[begun.clone(), done]);
        assert_eq!(numbers(&streamed), expected);
        assert!(streamed.is_finished);
        let broken = of_events(WireFormat::OpenAiResponses, &[begun]);
        assert_eq!((numbers(&broken), broken.is_finished), ([None; 5], false));
    }

    #[test]
    fn anthropic_counts_cached_input_beside_the_input() {
        let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 4,
            "cache_creation_input_tokens": 3, "output_tokens": 1});
        let begun = json!({"type": "message_start", "message": {"model": "m", "usage": usage}});
        let delta = json!({"type": "message_delta", "usage": {"output_tokens": 20}});
        let stop = json!({"type": "message_stop"});
        let whole = of_events(WireFormat::AnthropicMessages, &[begun.clone(), delta, stop]);
        assert_eq!(numbers(&whole), [Some(17), Some(4), Some(3), Some(20), None]);
        assert!(whole.is_finished);
        // Of an answer that broke off the output is not known.
        let broken = of_events(WireFormat::AnthropicMessages, &[begun]);
        assert_eq!(numbers(&broken), [Some(17), Some(4), Some(3), None, None]);
        assert!(!broken.is_finished);
        let body = json!({"type": "message", "model": "m", "usage": usage});
        let plain = of_body(WireFormat::AnthropicMessages, &body);
        assert_eq!(numbers(&plain), [Some(17), Some(4), Some(3), Some(1), None]);
    }

    #[test]
    fn gemini_counts_thoughts_beside_the_output() {
        let usage = json!({"promptTokenCount": 10, "candidatesTokenCount": 5,
            "cachedContentTokenCount": 4, "thoughtsTokenCount": 2});
        let last = json!({"modelVersion": "g", "usageMetadata": usage,
            "candidates": [{"finishReason": "STOP"}]});
        let expected = [Some(10), Some(4), None, Some(7), Some(2)];
        let first = json!({"candidates": [{}], "usageMetadata": {"promptTokenCount": 10}});
        assert_eq!(numbers(&of_body(WireFormat::Gemini, &last)), expected);
        let streamed = of_events(WireFormat::Gemini, &[first.clone(), last.clone()]);
        assert_eq!((numbers(&streamed), streamed.is_finished), (expected, true));
        let listed = of_body(WireFormat::Gemini, &json!([first.clone(), last]));
        assert_eq!((numbers(&listed), listed.is_finished), (expected, true));
        let cut = of_body(WireFormat::Gemini, &json!([first]));
        assert!(!cut.is_finished);
    }

    #[test]
    fn what_is_no_answer_is_told_so() {
        let check = |data: &str| {
            let mut tally = Tally::new(WireFormat::OpenAiChat);
            tally.event(&SseEvent { name: String::new(), data: data.to_owned() });
            assert!(tally.is_malformed, "{data}");
        };
        check("{");
        check("[]");
        check("7");
        let mut tally = Tally::new(WireFormat::OpenAiChat);
        tally.body(b"<html>");
        assert!(tally.is_malformed);
        let error = of_body(WireFormat::Gemini, &json!({"error": {"code": 500, "message": "m"}}));
        assert!(error.error.is_some() && !error.is_finished);
    }
}
