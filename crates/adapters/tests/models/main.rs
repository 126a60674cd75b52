//! The model port in every form over a scripted provider, a recording of it, and what each fault becomes.

mod tls;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use adapters::models::{
    caller::{Caller, Caps},
    exchange::Exchange,
    provider::Provider,
    recorded::Recorded,
    scripted::{ModelScript, ScriptedModel},
};
use domain::{
    evidence::WireFormat,
    ids::Hash,
    usage::{Price, PriceTable},
};
use engine::ports::model::{
    Completion, Model, ModelFault, Prompt, PromptLine, ReplySchema, ToolCall, ToolOffer,
    ToolResult, ToolUse,
};
use serde_json::json;
use tokio::time::Instant;

fn scripted(script: &str) -> Arc<dyn Provider> {
    Arc::new(ScriptedModel::new(ModelScript::parse(script).expect("a script")))
}

fn caller(provider: Arc<dyn Provider>, format: WireFormat) -> Caller {
    let price = Price {
        model: "m".to_owned(),
        input: 1_000_000,
        cached_input: None,
        cache_write: None,
        output: 2_000_000,
    };
    Caller {
        provider,
        format,
        model: "m".to_owned(),
        prices: Arc::new(PriceTable { prices: vec![price] }),
        caps: Arc::new(Caps::new(4, None)),
        deadline: Duration::from_secs(60),
        keep: None,
    }
}

fn hello() -> Prompt {
    Prompt {
        system: "Be brief.".to_owned(),
        lines: vec![PromptLine::User("hello".to_owned())],
        ..Prompt::default()
    }
}

fn judged() -> Prompt {
    let schema = json!({"type": "object", "required": ["verdict"],
        "properties": {"verdict": {"enum": ["met", "unmet"]}}, "additionalProperties": false});
    Prompt { schema: Some(ReplySchema { name: "verdict".to_owned(), schema }), ..hello() }
}

fn with_tool() -> Prompt {
    let tool = ToolOffer {
        name: "bash".to_owned(),
        description: "runs a command".to_owned(),
        input: json!({"type": "object", "properties": {"command": {"type": "string"}},
            "required": ["command"]}),
    };
    Prompt { tools: vec![tool], tool_use: ToolUse::Required, ..hello() }
}

async fn ask(script: &str, format: WireFormat, prompt: &Prompt) -> Result<Completion, ModelFault> {
    caller(scripted(script), format).complete(prompt).await
}

#[tokio::test]
async fn text_tokens_and_cost_come_back_in_each_form() {
    let script = "[[on]]\nuser = \"^hello$\"\n[[on.answer]]\nthink = \"hm\"\nsay = \"hi\"\n\
        usage = { input = 10, output = 5 }";
    for format in WireFormat::ALL {
        let completion = ask(script, format, &hello()).await.expect("an answer");
        assert_eq!(
            (completion.text.as_str(), completion.model.as_str()),
            ("hi", "m"),
            "{format:?}"
        );
        assert_eq!(completion.tokens.total(), Some(15), "{format:?}");
        assert_eq!(completion.cost_microusd, Some(20), "{format:?}");
    }
}

#[tokio::test]
async fn an_answer_by_schema_fits_it_in_each_form() {
    for format in WireFormat::ALL {
        let completion = ask("[[on]]\n[[on.answer]]", format, &judged()).await.expect("an answer");
        assert_eq!(completion.json, Some(json!({"verdict": "met"})), "{format:?}");
    }
}

#[tokio::test]
async fn a_provider_that_ignores_the_schema_is_told_in_words() {
    // It answers what it likes where JSON is wanted, and by the book where the prompt says so.
    let script = "[[on]]\n[[on.answer]]\njson = { verdict = \"perhaps\" }\n\
        say = \"So: {\\\"verdict\\\": \\\"unmet\\\"}\"\nusage = { input = 10, output = 5 }";
    for format in WireFormat::ALL {
        let completion = ask(script, format, &judged()).await.expect("an answer");
        assert_eq!(completion.json, Some(json!({"verdict": "unmet"})), "{format:?}");
        assert_eq!(completion.tokens.total(), Some(30), "both tries count");
    }
    let never = "[[on]]\n[[on.answer]]\njson = { verdict = \"perhaps\" }\nsay = \"no\"";
    for format in WireFormat::ALL {
        let fault = ask(never, format, &judged()).await.expect_err("no answer fits");
        assert!(matches!(fault, ModelFault::SchemaUnmet { .. }), "{fault}");
    }
}

#[tokio::test]
async fn tools_are_called_and_their_results_heard() {
    let script = "[[on]]\n[[on.answer]]\nrun = [\"ls\"]\n[[on.answer]]\nsay = \"two files\"";
    for format in WireFormat::ALL {
        let mut prompt = with_tool();
        let first = ask(script, format, &prompt).await.expect("a call");
        let call = first.calls[0].clone();
        assert_eq!((call.name.as_str(), &call.input), ("bash", &json!({"command": "ls"})));
        let ToolCall { id, name, .. } = call.clone();
        prompt.lines.push(PromptLine::Model { text: first.text, calls: vec![call] });
        let text = "a b".to_owned();
        prompt.lines.push(PromptLine::Results(vec![ToolResult { call: id, name, text }]));
        prompt.tool_use = ToolUse::Free;
        let second = ask(script, format, &prompt).await.expect("an answer");
        assert_eq!(second.text, "two files", "{format:?}");
        // A call that is required and does not come is told.
        prompt.tool_use = ToolUse::Required;
        let fault = ask(script, format, &prompt).await.expect_err("no call");
        assert_eq!(fault, ModelFault::NoToolCall("two files".to_owned()), "{format:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_is_asked_again_until_the_deadline() {
    let fault = |how: &str, times: u32| {
        format!("[[on]]\n[[on.answer]]\nsay = \"hi\"\nfault = {{ times = {times}, how = {how} }}")
    };
    let check = async |how: &str, times: u32, expected: Option<Duration>| {
        let began = Instant::now();
        let found = ask(&fault(how, times), WireFormat::OpenAiChat, &hello()).await;
        assert_eq!(found.is_ok(), expected.is_some(), "{how} {times} {found:?}");
        if let Some(expected) = expected {
            let took = began.elapsed();
            assert!(took >= expected && took < expected * 2, "{how} {times} {took:?}");
        }
    };
    let seconds = Duration::from_secs;
    check("{ status = { status = 429, retry_after_sec = 5 } }", 2, Some(seconds(10))).await;
    check("{ status = { status = 500 } }", 2, Some(seconds(3))).await;
    check("\"disconnect\"", 1, Some(seconds(1))).await;
    check("{ truncate_after = 1 }", 1, Some(seconds(1))).await;
    check("{ status = { status = 500 } }", 99, None).await;
    check("{ status = { status = 429, retry_after_sec = 90 } }", 1, None).await;
    check("\"hang\"", 1, None).await;
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_told_by_its_name() {
    let check = async |how: &str, expected: fn(&ModelFault) -> bool| {
        let script = format!("[[on]]\n[[on.answer]]\nfault = {{ how = {how} }}");
        let fault = ask(&script, WireFormat::AnthropicMessages, &hello()).await.expect_err(how);
        assert!(expected(&fault), "{how}: {fault}");
    };
    check("{ status = { status = 401 } }", |f| matches!(f, ModelFault::Unauthorised(_))).await;
    check("{ status = { status = 400 } }", |f| matches!(f, ModelFault::BadRequest(_))).await;
    check("\"hang\"", |f| matches!(f, ModelFault::TimedOut { deadline_ms: 60_000 })).await;
    let inside = "{ error_inside = { kind = \"invalid_request_error\" } }";
    check(inside, |f| matches!(f, ModelFault::BadRequest(_))).await;
}

#[tokio::test(start_paused = true)]
async fn caps_hold_however_many_ask() {
    let provider = scripted("[[on]]\n[[on.answer]]\nfault = { how = { drip_ms = 100 } }");
    let mut one = caller(provider, WireFormat::OpenAiChat);
    one.caps = Arc::new(Caps::new(2, Some(60)));
    let one = Arc::new(one);
    let began = Instant::now();
    let asking = (0..6).map(|_| {
        let one = one.clone();
        tokio::spawn(async move { one.complete(&hello()).await })
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await.expect("no panic").expect("an answer");
    }
    // The sixth begins after five seconds.
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(5) && took < Duration::from_secs(7), "{took:?}");
}

#[tokio::test]
async fn a_recording_answers_offline_and_shows_what_it_lacks() {
    let kept: Arc<Mutex<Vec<Exchange>>> = Arc::default();
    for format in WireFormat::ALL {
        let mut live = caller(scripted("[[on]]\n[[on.answer]]\nsay = \"hi\""), format);
        let keeping = kept.clone();
        live.keep = Some(Arc::new(move |bytes: &[u8]| {
            let exchange = Exchange::read(bytes).map_err(|error| error.to_string())?;
            let hash = Hash::new(exchange.request_hash().as_str());
            keeping.lock().expect("no holder panics").push(exchange);
            Ok(hash)
        }));
        let first = live.complete(&hello()).await.expect("an answer");
        let exchanges = kept.lock().expect("no holder panics").clone();
        let replay = caller(Arc::new(Recorded::new(exchanges)), format);
        let again = replay.complete(&hello()).await.expect("a recorded answer");
        assert_eq!((again.text, again.tokens), (first.text, first.tokens), "{format:?}");
        let other = Prompt { lines: vec![PromptLine::User("hallo".to_owned())], ..hello() };
        let fault = replay.complete(&other).await.expect_err("it was never asked").to_string();
        assert!(fault.contains("hello\"") && fault.contains("hallo\""), "{fault}");
        assert!(!fault.contains("Be brief"), "what is alike is not shown: {fault}");
    }
    let empty = caller(Arc::new(Recorded::new([])), WireFormat::Gemini);
    let fault = empty.complete(&hello()).await.expect_err("it is empty");
    assert!(matches!(fault, ModelFault::NotRecorded(_)), "{fault}");
}
