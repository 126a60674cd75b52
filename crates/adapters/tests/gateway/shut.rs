//! Who may use the gateway, what passes to the provider, and what passes once the wire is blocked.

use std::{io::Write, time::Duration};

use adapters::wire::gateway::{Bounds, HostedPolicy};
use domain::evidence::{CallOutcome, WireFormat};
use flate2::{Compression, write::GzEncoder};
use http_body_util::Full;
use hyper::{Request, body::Bytes};
use serde_json::{Value, json};

use crate::stage::{SECOND, Stage, TOKEN, every_way, request, says};

#[tokio::test]
async fn only_the_sessions_token_opens() {
    let stage = Stage::new("");
    let (path, body) = says(WireFormat::OpenAiChat, "hello", false);
    let check = async |header: Option<(&str, String)>, query: &str, expected: u16| {
        let mut request = Request::builder().method("POST").uri(format!("{path}{query}"));
        if let Some((name, value)) = &header {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_string()))).expect("a request");
        assert_eq!(stage.send(request).await.status, expected, "{header:?} {query}");
    };
    check(Some(("authorization", format!("Bearer {TOKEN}"))), "", 200).await;
    check(Some(("x-api-key", TOKEN.to_owned())), "", 200).await;
    check(Some(("x-goog-api-key", TOKEN.to_owned())), "", 200).await;
    check(None, &format!("?alt=sse&key={TOKEN}"), 200).await;
    check(None, "", 401).await;
    check(Some(("authorization", "Bearer other".to_owned())), "", 401).await;
    check(Some(("authorization", TOKEN.to_owned())), "", 401).await;
    // The token is for the gateway alone.
    for sent in stage.provider.requests.lock().expect("no holder panics").iter() {
        assert!(!format!("{sent:?}").contains(TOKEN), "{sent:?}");
    }
}

/// Clients list models by a path that forms share; what a provider does not speak at all is told by its name.
#[tokio::test(start_paused = true)]
async fn a_form_that_nobody_speaks_is_a_fault_and_a_list_of_models_is_none() {
    let forms = [WireFormat::AnthropicMessages];
    let stage = Stage::speaking(&forms, "", HostedPolicy::Shut, Bounds::default());
    let mut list = request("/v1/models", Bytes::new());
    *list.method_mut() = hyper::Method::GET;
    stage.send(list).await;
    let sent = stage.provider.requests.lock().expect("no holder panics").pop().expect("asked");
    assert_eq!((sent.format, sent.below_base.as_str()), (forms[0], "/models"));
    assert_eq!(*stage.session.failure().borrow(), None);

    let (path, body) = says(WireFormat::OpenAiChat, "hello", false);
    assert_eq!(stage.ask(&path, body).await.status, 503);
    assert_eq!(stage.call().await.outcome, CallOutcome::ProviderFailed);
    let why = stage.session.failure().borrow().clone();
    assert_eq!(why.as_deref(), Some("no provider of the form openai_chat is configured"));
    assert_eq!(stage.sent_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_blocked_wire_lets_nothing_through() {
    for (format, is_stream) in every_way() {
        let stage = Stage::new("");
        stage.session.block();
        let (path, body) = says(format, "hello", is_stream);
        let got = stage.ask(&path, body).await;
        assert_eq!(got.status, 403, "{format:?} {got:?}");
        let error: Value = serde_json::from_str(&got.text).expect("an error in its form");
        assert!(error["error"]["message"].is_string(), "{error}");
        assert_eq!(stage.call().await.outcome, CallOutcome::Blocked);
        assert_eq!(stage.sent_count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_when_the_wire_is_blocked_is_cut() {
    let how = ["how = { drip_ms = 1000 }", "how = \"hang\"", "how = { status = { status = 500 } }"];
    for how in how {
        let script = format!("[[on]]\n[[on.answer]]\nsay = \"a b c d e f\"\nfault = {{ {how} }}");
        let stage = Stage::new(&script);
        let session = stage.session.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(3_500)).await;
            session.block();
        });
        let began = tokio::time::Instant::now();
        let (path, body) = says(WireFormat::OpenAiChat, "hello", true);
        let got = stage.ask(&path, body).await;
        assert!(began.elapsed() < 4 * SECOND, "{how} {:?}", began.elapsed());
        assert!(got.is_broken || got.status == 403, "{how} {got:?}");
        assert_eq!(stage.call().await.outcome, CallOutcome::Blocked, "{how}");
    }
}

#[tokio::test]
async fn one_session_holds_so_many_connections_and_no_more() {
    let bounds = Bounds { connections_max: 1, ..Bounds::default() };
    let stage = Stage::with("", HostedPolicy::Shut, bounds);
    let (held, theirs) = tokio::io::duplex(64);
    let session = stage.session.clone();
    let serving = tokio::spawn(async move { session.serve(theirs).await });
    tokio::task::yield_now().await;
    let (path, body) = says(WireFormat::OpenAiChat, "hello", false);
    assert!(stage.ask(&path, body.clone()).await.is_broken, "one more than there may be");
    assert_eq!(stage.sent_count(), 0);
    drop(held);
    serving.await.expect("it ends with its connection");
    assert_eq!(stage.ask(&path, body).await.status, 200);
}

#[tokio::test]
async fn requests_that_cannot_be_read_are_refused() {
    let bounds = Bounds { request_bytes_max: 10_000, ..Bounds::default() };
    let stage = Stage::with("", HostedPolicy::Shut, bounds);
    let packed = |bytes: &[u8], encoding: &str| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(bytes).expect("memory takes it");
        let packed = packer.finish().expect("memory takes it");
        let mut request = request("/v1/chat/completions", packed.into());
        let encoding = encoding.parse().expect("a value");
        request.headers_mut().insert("content-encoding", encoding);
        request
    };
    let plain = |text: &str| request("/v1/chat/completions", text.to_owned().into());
    let (_, body) = says(WireFormat::OpenAiChat, "hello", false);
    let body = body.to_string();
    let cases = [
        (plain("{"), 400),
        (plain("[]"), 400),
        (plain(&format!("{{\"a\": \"{}\"}}", "x".repeat(10_000))), 413),
        (packed(&vec![b' '; 1 << 20], "gzip"), 413),
        (packed(body.as_bytes(), "zstd"), 415),
        (packed(body.as_bytes(), "gzip"), 200),
    ];
    for (request, expected) in cases {
        let got = stage.send(request).await;
        assert_eq!(got.status, expected, "{got:?}");
        let call = stage.call().await;
        let is_good = expected == 200;
        let outcome = if is_good { CallOutcome::Answered } else { CallOutcome::Refused };
        assert_eq!(call.outcome, outcome, "{expected}");
    }
    assert_eq!(stage.sent(), serde_json::from_str::<Value>(&body).expect("JSON"));
}

#[tokio::test]
async fn headers_of_connections_and_accounts_stay_here() {
    let stage = Stage::new("");
    let mut asked =
        request("/v1/messages", json!({"model": "m", "messages": []}).to_string().into());
    for (name, value) in [
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a"),
        ("cookie", "b"),
        ("openai-organization", "c"),
    ] {
        asked.headers_mut().insert(name, value.parse().expect("a value"));
    }
    stage.send(asked).await;
    let requests = stage.provider.requests.lock().expect("no holder panics");
    let mut names: Vec<&str> = requests[0].headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["anthropic-beta", "anthropic-version"]);
}
