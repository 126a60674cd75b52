//! Tools that a provider runs are ways out: shut unless the policy is open, and seen in any case.

use adapters::wire::gateway::{Bounds, HostedPolicy};
use domain::evidence::{CallOutcome, HostedDecision, WireFormat};
use serde_json::{Value, json};

use crate::stage::{Stage, says};

fn with(format: WireFormat, field: &str, value: Value) -> (String, Value) {
    let (path, mut body) = says(format, "hello", false);
    body[field] = value;
    (path, body)
}

async fn check(
    policy: HostedPolicy,
    (path, body): (String, Value),
    name: &str,
    decision: HostedDecision,
) -> Stage {
    let stage = Stage::with("", policy, Bounds::default());
    let got = stage.ask(&path, body).await;
    let call = stage.call().await;
    let found: Vec<(&str, HostedDecision)> =
        call.hosted.iter().map(|tool| (tool.name.as_str(), tool.decision)).collect();
    assert_eq!(found, [(name, decision)], "{got:?}");
    let is_refused = decision == HostedDecision::Refused;
    let outcome = if is_refused { CallOutcome::Refused } else { CallOutcome::Answered };
    assert_eq!((call.outcome, got.status), (outcome, if is_refused { 400 } else { 200 }));
    assert_eq!(stage.sent_count(), usize::from(!is_refused));
    stage
}

#[tokio::test]
async fn known_ones_are_taken_out() {
    use WireFormat::{AnthropicMessages, Gemini, OpenAiChat, OpenAiResponses};
    let function = json!({"type": "function", "name": "f"});
    let cases = [
        with(OpenAiResponses, "tools", json!([function, {"type": "web_search"}])),
        with(OpenAiChat, "web_search_options", json!({})),
        with(AnthropicMessages, "tools", json!([{"type": "web_search_20250305", "name": "w"}])),
        with(AnthropicMessages, "mcp_servers", json!([{"type": "url", "url": "https://a"}])),
        with(Gemini, "tools", json!([{"googleSearch": {}}])),
    ];
    let names =
        ["web_search", "web_search_options", "web_search_20250305", "mcp_servers", "googleSearch"];
    for (case, name) in cases.into_iter().zip(names) {
        let shut = check(HostedPolicy::Shut, case.clone(), name, HostedDecision::Stripped).await;
        assert!(!shut.sent().to_string().contains(name), "{name} reached the provider");
        let open = check(HostedPolicy::Open, case, name, HostedDecision::Allowed).await;
        assert!(open.sent().to_string().contains(name), "{name} did not reach the provider");
    }
}

#[tokio::test]
async fn unknown_ones_and_state_at_the_provider_are_refused() {
    use WireFormat::{AnthropicMessages, Gemini, OpenAiResponses};
    let cases = [
        (with(OpenAiResponses, "tools", json!([{"type": "telepathy"}])), "telepathy"),
        (with(OpenAiResponses, "background", json!(true)), "background"),
        (with(OpenAiResponses, "previous_response_id", json!("r")), "previous_response_id"),
        (with(AnthropicMessages, "container", json!("c")), "container"),
        (with(Gemini, "cachedContent", json!("c")), "cachedContent"),
    ];
    for (case, name) in cases {
        check(HostedPolicy::Shut, case.clone(), name, HostedDecision::Refused).await;
        check(HostedPolicy::Open, case, name, HostedDecision::Allowed).await;
    }
}

#[tokio::test]
async fn an_answer_of_the_session_may_be_named() {
    let stage = Stage::new("");
    let (path, mut body) = says(WireFormat::OpenAiResponses, "hello", true);
    let got = stage.ask(&path, body.clone()).await;
    let at = got.text.find("resp_").expect("an id");
    let id: String = got.text[at..].chars().take_while(|c| *c != '"').collect();
    stage.call().await;
    body["previous_response_id"] = id.into();
    assert_eq!(stage.ask(&path, body).await.status, 200);
}

#[tokio::test]
async fn what_else_a_provider_keeps_is_shut() {
    let stage = Stage::with("", HostedPolicy::Open, Bounds::default());
    for path in ["/v1/files", "/v1/batches", "/v1/vector_stores", "/v1/containers"] {
        let got = stage.ask(path, json!({})).await;
        assert_eq!(got.status, 404, "{got:?}");
        let call = stage.call().await;
        assert_eq!(call.outcome, CallOutcome::Refused);
        assert!(call.hosted[0].name.ends_with(path), "{call:?}");
    }
    assert_eq!(stage.sent_count(), 0);
}

#[tokio::test]
async fn nothing_is_changed_where_nothing_is_taken_out() {
    let stage = Stage::new("");
    // The order of fields is the client's, because caches of providers go by the text.
    let text = r#"{"z":1,"model":"priced-1","messages":[{"role":"user","content":"a"}],"a":2}"#;
    stage.send(crate::stage::request("/v1/chat/completions", text.into())).await;
    let requests = stage.provider.requests.lock().expect("no holder panics");
    assert_eq!(requests[0].body, text.as_bytes());
}
