//! A prompt of ours in each form ([`request`]), and what a model answered to it ([`Replied`]).

use domain::evidence::WireFormat;
use engine::ports::model::{Prompt, PromptLine, ReplySchema, ToolCall, ToolUse};
use serde_json::{Map, Value, json};

use super::{list, text};

/// What Anthropic's form takes where no limit is given, because it insists on one.
const ANTHROPIC_TOKENS: u32 = 8_192;

/// Path below the base and body of a request.
pub fn request(format: WireFormat, model: &str, prompt: &Prompt) -> (String, Value) {
    match format {
        WireFormat::OpenAiChat => ("/chat/completions".to_owned(), chat(model, prompt)),
        WireFormat::OpenAiResponses => ("/responses".to_owned(), responses(model, prompt)),
        WireFormat::AnthropicMessages => ("/messages".to_owned(), anthropic(model, prompt)),
        WireFormat::Gemini => (format!("/models/{model}:generateContent"), gemini(prompt)),
    }
}

/// The same prompt with its schema in words, for providers that know of none.
pub fn with_schema_in_words(prompt: &Prompt, schema: &ReplySchema) -> Prompt {
    let words = format!(
        "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n{}",
        schema.schema
    );
    let system = match prompt.system.is_empty() {
        true => words,
        false => format!("{}\n\n{words}", prompt.system),
    };
    Prompt { system, schema: None, ..prompt.clone() }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// By itself.
    Done,
    /// At the limit of tokens.
    Length,
    /// Model or provider declined.
    Declined,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Replied {
    /// Its text, without reasoning.
    pub text: String,
    /// Tools that it called.
    pub calls: Vec<ToolCall>,
    /// How it ended.
    pub stop: Stop,
}

impl Replied {
    /// Reads an answer; none if it holds no place for one.
    pub fn read(format: WireFormat, body: &Value) -> Option<Replied> {
        match format {
            WireFormat::OpenAiChat => of_chat(body),
            WireFormat::OpenAiResponses => of_responses(body),
            WireFormat::AnthropicMessages => of_anthropic(body),
            WireFormat::Gemini => of_gemini(body),
        }
    }
}

fn set(fields: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        fields[name] = value.into();
    }
}

fn chat(model: &str, prompt: &Prompt) -> Value {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    for line in &prompt.lines {
        match line {
            PromptLine::User(text) => messages.push(json!({"role": "user", "content": text})),
            PromptLine::Model { text, calls } => {
                let mut message = json!({"role": "assistant", "content": text});
                if !calls.is_empty() {
                    let calls = calls.iter().map(|call| {
                        let arguments = call.input.to_string();
                        json!({"id": call.id, "type": "function",
                            "function": {"name": call.name, "arguments": arguments}})
                    });
                    message["tool_calls"] = calls.collect::<Vec<_>>().into();
                }
                messages.push(message);
            }
            PromptLine::Results(results) => messages.extend(results.iter().map(|result| {
                json!({"role": "tool", "tool_call_id": result.call, "content": result.text})
            })),
        }
    }
    let mut body = json!({"model": model, "messages": messages});
    if let Some(schema) = &prompt.schema {
        body["response_format"] = json!({"type": "json_schema", "json_schema":
            {"name": schema.name, "strict": true, "schema": schema.schema}});
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({"type": "function", "function": {"name": tool.name,
                "description": tool.description, "parameters": tool.input}})
        });
        body["tools"] = tools.collect::<Vec<_>>().into();
        body["tool_choice"] = choice(prompt.tool_use).into();
    }
    set(&mut body, "max_completion_tokens", prompt.output_tokens_max);
    set(&mut body, "temperature", prompt.temperature);
    set(&mut body, "seed", prompt.seed);
    set(&mut body, "reasoning_effort", prompt.effort.clone());
    body
}

fn choice(tool_use: ToolUse) -> &'static str {
    match tool_use {
        ToolUse::Free => "auto",
        ToolUse::Required => "required",
    }
}

fn responses(model: &str, prompt: &Prompt) -> Value {
    let mut input = Vec::new();
    for line in &prompt.lines {
        match line {
            PromptLine::User(text) => {
                let content = json!([{"type": "input_text", "text": text}]);
                input.push(json!({"type": "message", "role": "user", "content": content}));
            }
            PromptLine::Model { text, calls } => {
                if !text.is_empty() {
                    let content = json!([{"type": "output_text", "text": text}]);
                    input.push(json!({"type": "message", "role": "assistant", "content": content}));
                }
                input.extend(calls.iter().map(|call| {
                    json!({"type": "function_call", "call_id": call.id, "name": call.name,
                        "arguments": call.input.to_string()})
                }));
            }
            PromptLine::Results(results) => input.extend(results.iter().map(|result| {
                json!({"type": "function_call_output", "call_id": result.call,
                    "output": result.text})
            })),
        }
    }
    // Nothing of a call of ours is to lie with the provider.
    let mut body = json!({"model": model, "input": input, "store": false});
    if !prompt.system.is_empty() {
        body["instructions"] = prompt.system.as_str().into();
    }
    if let Some(schema) = &prompt.schema {
        body["text"] = json!({"format": {"type": "json_schema", "name": schema.name,
            "strict": true, "schema": schema.schema}});
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.input, "strict": false})
        });
        body["tools"] = tools.collect::<Vec<_>>().into();
        body["tool_choice"] = choice(prompt.tool_use).into();
    }
    if let Some(effort) = &prompt.effort {
        body["reasoning"] = json!({"effort": effort});
    }
    set(&mut body, "max_output_tokens", prompt.output_tokens_max);
    set(&mut body, "temperature", prompt.temperature);
    body
}

fn anthropic(model: &str, prompt: &Prompt) -> Value {
    let messages: Vec<Value> = prompt
        .lines
        .iter()
        .map(|line| match line {
            PromptLine::User(text) => json!({"role": "user", "content": text}),
            PromptLine::Model { text, calls } => {
                let said = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
                let calls = calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": call.id, "name": call.name,
                        "input": call.input})
                });
                let content: Vec<Value> = said.into_iter().chain(calls).collect();
                json!({"role": "assistant", "content": content})
            }
            PromptLine::Results(results) => {
                let results = results.iter().map(|result| {
                    json!({"type": "tool_result", "tool_use_id": result.call,
                        "content": result.text})
                });
                json!({"role": "user", "content": results.collect::<Vec<_>>()})
            }
        })
        .collect();
    let tokens = prompt.output_tokens_max.unwrap_or(ANTHROPIC_TOKENS);
    let mut body = json!({"model": model, "max_tokens": tokens, "messages": messages});
    if !prompt.system.is_empty() {
        body["system"] = prompt.system.as_str().into();
    }
    let mut output = Map::new();
    if let Some(schema) = &prompt.schema {
        let format = json!({"type": "json_schema", "schema": schema.schema});
        output.insert("format".to_owned(), format);
    }
    if let Some(effort) = &prompt.effort {
        output.insert("effort".to_owned(), effort.as_str().into());
    }
    if !output.is_empty() {
        body["output_config"] = output.into();
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.input})
        });
        body["tools"] = tools.collect::<Vec<_>>().into();
        let kind = if prompt.tool_use == ToolUse::Required { "any" } else { "auto" };
        body["tool_choice"] = json!({"type": kind});
    }
    set(&mut body, "temperature", prompt.temperature);
    body
}

fn gemini(prompt: &Prompt) -> Value {
    let contents: Vec<Value> = prompt
        .lines
        .iter()
        .map(|line| match line {
            PromptLine::User(text) => json!({"role": "user", "parts": [{"text": text}]}),
            PromptLine::Model { text, calls } => {
                let said = (!text.is_empty()).then(|| json!({"text": text}));
                let calls = calls
                    .iter()
                    .map(|call| json!({"functionCall": {"name": call.name, "args": call.input}}));
                json!({"role": "model", "parts": said.into_iter().chain(calls).collect::<Vec<_>>()})
            }
            PromptLine::Results(results) => {
                let results = results.iter().map(|result| {
                    json!({"functionResponse":
                        {"name": result.name, "response": {"output": result.text}}})
                });
                json!({"role": "user", "parts": results.collect::<Vec<_>>()})
            }
        })
        .collect();
    let mut body = json!({"contents": contents});
    if !prompt.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": prompt.system}]});
    }
    let mut config = json!({});
    if let Some(schema) = &prompt.schema {
        config["responseMimeType"] = "application/json".into();
        config["responseJsonSchema"] = schema.schema.clone();
    }
    if let Some(effort) = &prompt.effort {
        config["thinkingConfig"] = json!({"thinkingLevel": effort});
    }
    set(&mut config, "maxOutputTokens", prompt.output_tokens_max);
    set(&mut config, "temperature", prompt.temperature);
    set(&mut config, "seed", prompt.seed);
    if config != json!({}) {
        body["generationConfig"] = config;
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                "parametersJsonSchema": tool.input})
        });
        body["tools"] = json!([{"functionDeclarations": tools.collect::<Vec<_>>()}]);
        let mode = if prompt.tool_use == ToolUse::Required { "ANY" } else { "AUTO" };
        body["toolConfig"] = json!({"functionCallingConfig": {"mode": mode}});
    }
    body
}

/// The input of a call; text that is no JSON stays text.
fn input(arguments: &Value) -> Value {
    match arguments.as_str() {
        Some("") => json!({}),
        Some(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
        None => arguments.clone(),
    }
}

fn call(value: &Value, id: &str, name: &str, arguments: &str) -> Option<ToolCall> {
    Some(ToolCall {
        id: text(value, id).unwrap_or_default().to_owned(),
        name: text(value, name)?.to_owned(),
        input: value.pointer(arguments).map_or_else(|| json!({}), input),
    })
}

fn of_chat(body: &Value) -> Option<Replied> {
    let choice = body.pointer("/choices/0")?;
    let message = choice.get("message")?;
    let said = match &message["content"] {
        Value::Array(parts) => parts.iter().filter_map(|part| text(part, "/text")).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let calls = list(message, "/tool_calls")
        .iter()
        .filter_map(|one| call(one, "/id", "/function/name", "/function/arguments"));
    let refusal = text(message, "/refusal");
    let stop = match text(choice, "/finish_reason") {
        Some("content_filter") => Stop::Declined,
        _ if refusal.is_some() => Stop::Declined,
        Some("length") => Stop::Length,
        _ => Stop::Done,
    };
    let said = if said.is_empty() { refusal.unwrap_or_default().to_owned() } else { said };
    Some(Replied { text: said, calls: calls.collect(), stop })
}

fn of_responses(body: &Value) -> Option<Replied> {
    let output = body.get("output")?.as_array()?;
    let parts = || output.iter().flat_map(|item| list(item, "/content"));
    let refusal: String = parts().filter_map(|part| text(part, "/refusal")).collect();
    let said: String = parts().filter_map(|part| text(part, "/text")).collect();
    let calls = output
        .iter()
        .filter(|item| text(item, "/type") == Some("function_call"))
        .filter_map(|item| call(item, "/call_id", "/name", "/arguments"))
        .collect();
    let stop = match text(body, "/incomplete_details/reason") {
        Some("content_filter") => Stop::Declined,
        _ if !refusal.is_empty() => Stop::Declined,
        Some(_) => Stop::Length,
        None => Stop::Done,
    };
    Some(Replied { text: said + &refusal, calls, stop })
}

fn of_anthropic(body: &Value) -> Option<Replied> {
    let content = body.get("content")?.as_array()?;
    let is = |block: &&Value, kind: &str| text(block, "/type") == Some(kind);
    let said = content.iter().filter(|block| is(block, "text"));
    let calls = content
        .iter()
        .filter(|block| is(block, "tool_use"))
        .filter_map(|block| call(block, "/id", "/name", "/input"))
        .collect();
    let stop = match text(body, "/stop_reason") {
        Some("refusal") => Stop::Declined,
        Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
        _ => Stop::Done,
    };
    Some(Replied { text: said.filter_map(|block| text(block, "/text")).collect(), calls, stop })
}

fn of_gemini(body: &Value) -> Option<Replied> {
    if let Some(reason) = text(body, "/promptFeedback/blockReason") {
        let text = reason.to_owned();
        return Some(Replied { text, calls: Vec::new(), stop: Stop::Declined });
    }
    let candidate = body.pointer("/candidates/0")?;
    let parts = list(candidate, "/content/parts");
    let said = parts.iter().filter(|part| part.get("thought") != Some(&Value::Bool(true)));
    let calls = parts
        .iter()
        .filter_map(|part| part.get("functionCall"))
        .filter_map(|one| call(one, "/id", "/name", "/args"))
        .collect();
    let stop = match text(candidate, "/finishReason") {
        None | Some("STOP") => Stop::Done,
        Some("MAX_TOKENS") => Stop::Length,
        Some(_) => Stop::Declined,
    };
    Some(Replied { text: said.filter_map(|part| text(part, "/text")).collect(), calls, stop })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_an_answer_ended_is_read_in_each_form() {
        use WireFormat::{AnthropicMessages, Gemini, OpenAiChat, OpenAiResponses};
        let check = |format, body: Value, expected: Option<(&str, Stop)>| {
            let replied = Replied::read(format, &body);
            let found = replied.as_ref().map(|replied| (replied.text.as_str(), replied.stop));
            assert_eq!(found, expected, "{body}");
        };
        let chat = |message: Value, finish: &str| json!({"choices": [{"message": message, "finish_reason": finish}]});
        check(OpenAiChat, chat(json!({"content": "a"}), "stop"), Some(("a", Stop::Done)));
        check(OpenAiChat, chat(json!({"content": "a"}), "length"), Some(("a", Stop::Length)));
        let parts = json!({"content": [{"type": "text", "text": "a"}, {"text": "b"}]});
        check(OpenAiChat, chat(parts, "stop"), Some(("ab", Stop::Done)));
        let refused = json!({"content": null, "refusal": "no"});
        check(OpenAiChat, chat(refused, "stop"), Some(("no", Stop::Declined)));
        check(OpenAiChat, json!({"choices": []}), None);
        let output = json!([{"type": "reasoning", "summary": [{"text": "hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "a"}]}]);
        check(OpenAiResponses, json!({"output": output}), Some(("a", Stop::Done)));
        let cut = json!({"output": [], "incomplete_details": {"reason": "max_output_tokens"}});
        check(OpenAiResponses, cut, Some(("", Stop::Length)));
        let content =
            json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]);
        check(AnthropicMessages, json!({"content": content}), Some(("a", Stop::Done)));
        let declined = json!({"content": [], "stop_reason": "refusal"});
        check(AnthropicMessages, declined, Some(("", Stop::Declined)));
        let parts = json!([{"text": "hm", "thought": true}, {"text": "a"}]);
        let body = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
        check(Gemini, body, Some(("a", Stop::Done)));
        let safety = json!({"candidates": [{"finishReason": "SAFETY"}]});
        check(Gemini, safety, Some(("", Stop::Declined)));
        check(Gemini, json!({}), None);
    }
}
