//! Both ends of the wire meet a real server with a real, small model: what it counts is what is told, and its quirks are met
//! with clear faults.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use adapters::{
    models::{
        caller::{Caller, Caps},
        http::{BaseAddress, HttpProvider},
        patience::Patience,
        provider::Provider,
        secret::Secret,
    },
    wire::gateway::{Bounds, Gateway, GatewaySession, HostedPolicy, SessionTerms},
};
use domain::{
    evidence::{CallOutcome, ModelCall, WireFormat},
    usage::PriceTable,
};
use engine::ports::model::{
    Model, ModelFault, Prompt, PromptLine, ReplySchema, ToolOffer, ToolUse,
};
use serde_json::{Value, json};

use crate::stage::{Client, TOKEN};

/// The forms that the server speaks.
const SPOKEN: [WireFormat; 3] =
    [WireFormat::OpenAiChat, WireFormat::OpenAiResponses, WireFormat::AnthropicMessages];

/// The server; it ends with its standard input.
struct Server {
    child: Child,
    _input: ChildStdin,
    base: BaseAddress,
}

impl Server {
    fn start() -> Self {
        let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup");
        let installed = Command::new(setup.join("small-model")).output().expect("it starts");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let python = String::from_utf8_lossy(&installed.stdout).trim().to_owned();
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one");
        let mut child = Command::new(PathBuf::from(python))
            .arg(setup.join("small-model.py"))
            .arg(port.port().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take().expect("piped");
        let mut line = String::new();
        let output = child.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("it says when it is ready");
        assert_eq!(line.trim(), "ready");
        let base = BaseAddress::parse(&format!("http://{port}/v1")).expect("an address");
        Self { child, _input: input, base }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(HttpProvider::new(self.base.clone(), None))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gateway(provider: &Arc<dyn Provider>) -> Arc<GatewaySession> {
    let providers: BTreeMap<_, _> =
        SPOKEN.into_iter().map(|format| (format, provider.clone())).collect();
    let gateway = Arc::new(Gateway {
        providers,
        patience: Patience::default(),
        bounds: Bounds::default(),
        prices: PriceTable::default(),
    });
    gateway.open(SessionTerms {
        token: Secret::new(TOKEN),
        model: None,
        hosted: HostedPolicy::Shut,
        clock: Arc::new(|| 0),
        keep: None,
        heard: Arc::new(|_| {}),
    })
}

fn asks(format: WireFormat, is_stream: bool) -> (&'static str, Value) {
    let text = "Name a colour.";
    match format {
        WireFormat::OpenAiChat => (
            "/v1/chat/completions",
            json!({"model": "small", "messages": [{"role": "user", "content": text}],
                "max_tokens": 8, "temperature": 0, "stream": is_stream,
                "stream_options": {"include_usage": true}}),
        ),
        WireFormat::OpenAiResponses => (
            "/v1/responses",
            json!({"model": "small", "input": text, "max_output_tokens": 8, "temperature": 0,
                "stream": is_stream}),
        ),
        _ => (
            "/v1/messages",
            json!({"model": "small", "messages": [{"role": "user", "content": text}],
                "max_tokens": 8, "temperature": 0, "stream": is_stream}),
        ),
    }
}

/// Input and output as the server itself tells them in the last place where it does.
fn told(text: &str) -> (u64, u64) {
    let values: Vec<Value> = text
        .lines()
        .map(|line| line.strip_prefix("data: ").unwrap_or(line))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let number = |names: [&str; 2]| {
        values.iter().rev().find_map(|value| {
            let usage = [value.get("usage"), value.pointer("/response/usage")];
            let usage = usage.into_iter().flatten().find(|usage| usage.is_object())?;
            names.iter().find_map(|name| usage.get(name)?.as_u64())
        })
    };
    // Anthropic's form tells the input once, at the start.
    let start = values.iter().find_map(|value| value.pointer("/message/usage/input_tokens"));
    let cached = values.iter().find_map(|value| {
        [
            value.pointer("/usage/cache_read_input_tokens"),
            value.pointer("/message/usage/cache_read_input_tokens"),
        ]
        .into_iter()
        .flatten()
        .find_map(Value::as_u64)
    });
    let input = start.and_then(Value::as_u64).or_else(|| number(["prompt_tokens", "input_tokens"]));
    let output = number(["completion_tokens", "output_tokens"]);
    (input.unwrap_or_default() + cached.unwrap_or_default(), output.unwrap_or_default())
}

async fn one_call(session: &Arc<GatewaySession>) -> ModelCall {
    for _ in 0..100 {
        if let Some(call) = session.take().pop() {
            return call;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no call is told");
}

fn caller(provider: &Arc<dyn Provider>, format: WireFormat) -> Caller {
    Caller {
        provider: provider.clone(),
        format,
        model: "small".to_owned(),
        prices: Arc::default(),
        caps: Arc::new(Caps::new(1, None)),
        deadline: Duration::from_secs(120),
        keep: None,
    }
}

fn prompt() -> Prompt {
    Prompt {
        lines: vec![PromptLine::User("Is the sky blue? Answer as JSON.".to_owned())],
        output_tokens_max: Some(60),
        temperature: Some(0.0),
        ..Prompt::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_is_met_at_both_ends() {
    let server = Server::start();
    let provider = server.provider();
    let session = gateway(&provider);
    let client = Client { session: session.clone() };
    for format in SPOKEN {
        for is_stream in [false, true] {
            let (path, body) = asks(format, is_stream);
            let got = client.ask(path, body).await;
            assert_eq!((got.status, got.is_broken), (200, false), "{format:?} {got:?}");
            let call = one_call(&session).await;
            let way = format!("{format:?} {is_stream} {}", got.text);
            assert_eq!(call.outcome, CallOutcome::Answered, "{way}");
            let (input, output) = told(&got.text);
            assert!(input > 0 && output > 0, "{way}");
            assert_eq!(
                (call.tokens.input, call.tokens.output),
                (Some(input), Some(output)),
                "{way}"
            );
            assert_eq!(call.cost_microusd, None, "{way}");
        }
    }

    let schema = json!({"type": "object", "properties": {"blue": {"type": "boolean"}},
        "required": ["blue"], "additionalProperties": false});
    let schema = Some(ReplySchema { name: "sky".to_owned(), schema });
    let judged = Prompt { schema, ..prompt() };
    // The chat form holds the model to its schema.
    let fitting = caller(&provider, WireFormat::OpenAiChat).complete(&judged).await;
    let fitting = fitting.expect("an answer by schema");
    assert!(fitting.json.is_some_and(|json| json["blue"].is_boolean()), "{}", fitting.text);
    assert!(fitting.tokens.total().is_some_and(|total| total > 0));
    // That of responses ignores it; so small a model does not do by words what it is not held to.
    match caller(&provider, WireFormat::OpenAiResponses).complete(&judged).await {
        Ok(completion) => assert!(completion.json.is_some_and(|json| json["blue"].is_boolean())),
        Err(ModelFault::SchemaUnmet { .. } | ModelFault::CutShort(_)) => {}
        Err(other) => panic!("{other}"),
    }
    // A call that is required does not come.
    let tool = ToolOffer {
        name: "weather".to_owned(),
        description: "Tells the weather.".to_owned(),
        input: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    };
    let called = Prompt { tools: vec![tool], tool_use: ToolUse::Required, ..prompt() };
    match caller(&provider, WireFormat::OpenAiResponses).complete(&called).await {
        Ok(completion) => assert_eq!(completion.calls[0].name, "weather"),
        Err(ModelFault::NoToolCall(_) | ModelFault::CutShort(_)) => {}
        Err(other) => panic!("{other}"),
    }
}
