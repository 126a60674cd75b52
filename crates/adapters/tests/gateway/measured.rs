//! What a request was and took is told alike in every form.

use domain::{
    evidence::{CallOutcome, Purpose},
    ids::Turn,
    usage::Tokens,
};
use serde_json::json;

use crate::stage::{Stage, every_way, says};

const TOLD: &str = r#"
[[on]]
[[on.answer]]
think = "hm"
say = "Hello there."
model = "priced-1-2026"
usage = { input = 100, cached_input = 40, cache_write = 10, output = 20, reasoning = 5 }
"#;

#[tokio::test]
async fn tokens_and_cost_have_one_meaning() {
    for (format, is_stream) in every_way() {
        let stage = Stage::new(TOLD);
        let (path, body) = says(format, "hello", is_stream);
        let got = stage.ask(&path, body).await;
        assert_eq!((got.status, got.is_broken), (200, false), "{got:?}");
        let call = stage.call().await;
        let way = format!("{format:?} {is_stream}");
        let Tokens { input, cached_input, output, .. } = call.tokens;
        assert_eq!((input, cached_input, output), (Some(100), Some(40), Some(20)), "{way}");
        assert_eq!((call.format, call.outcome), (format, CallOutcome::Answered), "{way}");
        assert_eq!(call.model_asked, "priced-1", "{way}");
        assert_eq!(call.model_answered.as_deref(), Some("priced-1-2026"), "{way}");
        assert_eq!((call.turn, call.at_ms, call.retries), (Turn(1), 7, 0), "{way}");
        assert_eq!(call.effort, None, "{way}");
        // Gemini does not tell what it wrote to a cache.
        let written = call.tokens.cache_write.unwrap_or(0);
        let expected = (60 - written) * 2 + 40 + written * 4 + 200;
        assert_eq!(call.cost_microusd, Some(expected), "{way}");
        assert!(call.exchange.is_some(), "{way}");
        let kept = stage.kept.lock().expect("no holder panics");
        assert_eq!(kept[0].answer, got.text, "{way}");
    }
}

#[tokio::test]
async fn what_is_not_told_is_unknown() {
    let script = "[[on]]\n[[on.answer]]\nsay = \"a\"\nomit_usage = true";
    for (format, is_stream) in every_way() {
        let stage = Stage::new(script);
        let (path, body) = says(format, "hello", is_stream);
        stage.ask(&path, body).await;
        let call = stage.call().await;
        assert_eq!(call.outcome, CallOutcome::Answered, "{format:?} {is_stream}");
        assert_eq!((call.tokens.total(), call.cost_microusd), (None, None), "{format:?}");
    }
}

#[tokio::test]
async fn a_model_without_a_price_costs_the_unknown() {
    let stage = Stage::new("");
    let body = json!({"model": "rare", "messages": [{"role": "user", "content": "a"}]});
    stage.ask("/v1/chat/completions", body).await;
    let call = stage.call().await;
    assert!(call.tokens.total().is_some());
    assert_eq!(call.cost_microusd, None);
}

#[tokio::test]
async fn effort_and_parameters_are_told_as_sent() {
    let stage = Stage::new("");
    let body = json!({"model": "m", "input": "a", "reasoning": {"effort": "high"}, "top_p": 0.5});
    stage.ask("/v1/responses", body).await;
    let call = stage.call().await;
    assert_eq!(call.effort.as_deref(), Some("high"));
    assert_eq!(call.parameters, [("top_p".to_owned(), "0.5".to_owned())]);
}

#[tokio::test]
async fn a_title_beside_work_with_tools_is_told_apart() {
    let stage = Stage::new("");
    let title = json!({"model": "m", "messages": [{"role": "user", "content": "Title for: a"}]});
    let work = json!({"model": "m", "messages": [{"role": "user", "content": "a"}],
        "tools": [{"type": "function", "function": {"name": "bash"}}]});
    let results = json!({"model": "m", "messages": [{"role": "user", "content": "a"},
        {"role": "tool", "content": "b"}]});
    let path = "/v1/chat/completions";
    // As long as nothing else is known, everything is the work.
    stage.ask(path, title.clone()).await;
    assert_eq!(stage.call().await.purpose, Purpose::Main);
    for (body, expected) in
        [(work, Purpose::Main), (title, Purpose::Side), (results, Purpose::Main)]
    {
        stage.ask(path, body.clone()).await;
        assert_eq!(stage.call().await.purpose, expected, "{body}");
    }
}

#[tokio::test]
async fn questions_about_models_are_no_calls() {
    let stage = Stage::new("");
    let get = |path: &str| {
        hyper::Request::builder()
            .uri(path.to_owned())
            .header("x-api-key", crate::stage::TOKEN)
            .body(http_body_util::Full::default())
            .expect("a request")
    };
    for path in ["/v1/models", "/v1beta/models"] {
        let got = stage.send(get(path)).await;
        assert!(got.status == 200 && got.text.contains("scripted"), "{got:?}");
    }
    let body = json!({"model": "m", "messages": []});
    let got = stage.ask("/v1/messages/count_tokens", body).await;
    assert!(got.text.contains("input_tokens"), "{got:?}");
    assert_eq!(stage.session.take(), []);
}
