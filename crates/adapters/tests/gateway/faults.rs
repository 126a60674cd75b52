//! Every way in which a provider can fail ends as the right answer, with the right owner.

use std::time::Duration;

use adapters::wire::gateway::{Bounds, HostedPolicy};
use domain::{
    evidence::{Break, CallOutcome, WireFormat},
    fault::Owner,
};
use serde_json::json;

use crate::stage::{SECOND, Stage, every_way, says};

fn failing(fault: &str) -> String {
    format!("[[on]]\n[[on.answer]]\nsay = \"one two three\"\nfault = {{ {fault} }}")
}

/// What the agent must get and the gateway must tell.
struct Expected {
    status: u16,
    is_broken: bool,
    outcome: CallOutcome,
    owner: Owner,
    gives_up: bool,
}

async fn check(fault: &str, format: WireFormat, is_stream: bool, expected: &Expected) {
    let bounds = Bounds {
        stream_bytes_max: 100_000,
        whole_bytes_max: 100_000,
        recorded_bytes_max: 100_000,
        ..Bounds::default()
    };
    let stage = Stage::with(&failing(fault), HostedPolicy::Shut, bounds);
    let (path, body) = says(format, "hello", is_stream);
    let got = stage.ask(&path, body).await;
    let way = format!("{fault} {format:?} {is_stream}: {got:?}");
    assert_eq!((got.status, got.is_broken), (expected.status, expected.is_broken), "{way}");
    let call = stage.call().await;
    assert_eq!(call.outcome, expected.outcome, "{way}");
    assert_eq!(call.outcome.owner(), expected.owner, "{way}");
    assert_eq!(stage.session.failure().borrow().is_some(), expected.gives_up, "{way}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_for_a_while_is_asked_again() {
    for (format, is_stream) in every_way() {
        for fault in [
            "status = { status = 500 }",
            "status = { status = 429, retry_after_sec = 7 }",
            "status = { status = 529 }",
            "error_inside = { kind = \"overloaded_error\" }",
            "content_type = \"text/html\"",
        ] {
            // A stream of events under another name is read as what it is not.
            let how = format!("times = 2, how = {{ {fault} }}");
            let stage = Stage::new(&failing(&how));
            let (path, body) = says(format, "hello", is_stream);
            let got = stage.ask(&path, body).await;
            let call = stage.call().await;
            let way = format!("{fault} {format:?} {is_stream}: {got:?}");
            let is_readable = fault.starts_with("content_type") && !is_stream;
            assert_eq!((got.status, call.outcome), (200, CallOutcome::Answered), "{way}");
            assert_eq!(call.retries, if is_readable { 0 } else { 2 }, "{way}");
            assert!(got.text.contains("three"), "{way}");
            let paused = stage.session.pauses().total();
            assert_eq!(u128::from(call.paused_ms), paused.as_millis(), "{way}");
            if fault.contains("retry_after_sec") {
                assert!(paused >= 14 * SECOND && paused < 16 * SECOND, "{way} {paused:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_twenty_minutes_is_the_worlds_and_costs_no_agent_time() {
    let gone = Expected {
        status: 503,
        is_broken: false,
        outcome: CallOutcome::ProviderFailed,
        owner: Owner::Infra,
        gives_up: true,
    };
    let faults = [
        "how = { status = { status = 503 } }",
        "how = \"disconnect\"",
        "how = { error_inside = { kind = \"server_error\" } }",
        "how = \"hang\"",
    ];
    for fault in faults {
        for (format, is_stream) in every_way() {
            check(fault, format, is_stream, &gone).await;
        }
    }
    let began = tokio::time::Instant::now();
    let stage = Stage::new(&failing(faults[0]));
    let (path, body) = says(WireFormat::OpenAiChat, "hello", true);
    stage.ask(&path, body.clone()).await;
    let took = began.elapsed();
    assert!(took > 18 * 60 * SECOND && took <= 20 * 60 * SECOND, "{took:?}");
    let paused = stage.session.pauses().total();
    assert!(took - paused < SECOND, "{took:?} {paused:?}");
    // An outage that goes on is not waited for anew.
    let again = tokio::time::Instant::now();
    tokio::time::sleep(120 * SECOND).await;
    stage.ask(&path, body).await;
    assert!(again.elapsed() < 125 * SECOND, "{:?}", again.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_broke_off_is_passed_on_as_broken() {
    let broken = |outcome, is_broken| Expected {
        status: 200,
        is_broken,
        outcome: CallOutcome::Broken(outcome),
        owner: Owner::Infra,
        gives_up: false,
    };
    for format in WireFormat::ALL {
        check("how = { truncate_after = 2 }", format, true, &broken(Break::Truncated, true)).await;
        check("how = { stall_after = 2 }", format, true, &broken(Break::Stalled, true)).await;
        check("how = { malformed_event = 1 }", format, true, &broken(Break::Malformed, false))
            .await;
        check("how = { huge_bytes = 200000 }", format, true, &broken(Break::TooLarge, true)).await;
        let inside = "how = { error_inside = { kind = \"overloaded_error\", after = 2 } }";
        check(inside, format, true, &broken(Break::ErrorInside, false)).await;
        let slow = "how = { drip_ms = 1000000 }";
        check(
            slow,
            format,
            true,
            &Expected {
                status: 503,
                is_broken: false,
                outcome: CallOutcome::ProviderFailed,
                owner: Owner::Infra,
                gives_up: true,
            },
        )
        .await;
    }
    // Each piece comes in time, but the answer has no end.
    let drip = "how = { drip_ms = 280000 }";
    let text = "word ".repeat(20);
    let script = format!("[[on]]\n[[on.answer]]\nsay = \"{text}\"\nfault = {{ {drip} }}");
    let stage = Stage::new(&script);
    let (path, body) = says(WireFormat::OpenAiChat, "hello", true);
    let got = stage.ask(&path, body).await;
    assert!(got.is_broken, "{got:?}");
    assert_eq!(stage.call().await.outcome, CallOutcome::Broken(Break::TooLong));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_there_whole_is_asked_for_again() {
    for format in WireFormat::ALL {
        let how = "times = 1, how = { truncate_after = 2 }";
        let stage = Stage::new(&failing(how));
        let (path, body) = says(format, "hello", false);
        let got = stage.ask(&path, body).await;
        assert_eq!((got.status, stage.call().await.retries), (200, 1), "{format:?} {got:?}");
        check(
            "how = { huge_bytes = 200000 }",
            format,
            false,
            &Expected {
                status: 503,
                is_broken: false,
                outcome: CallOutcome::ProviderFailed,
                owner: Owner::Infra,
                gives_up: true,
            },
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_request_caused_is_the_agents_and_what_a_key_caused_is_not() {
    let expected = |status, outcome: CallOutcome, gives_up| Expected {
        status,
        is_broken: false,
        outcome,
        owner: outcome.owner(),
        gives_up,
    };
    for (format, is_stream) in every_way() {
        for status in [400, 413, 422] {
            let how = format!("how = {{ status = {{ status = {status} }} }}");
            let agents = expected(status, CallOutcome::BadRequest, false);
            check(&how, format, is_stream, &agents).await;
        }
        for status in [401, 403, 404] {
            let how = format!("how = {{ status = {{ status = {status} }} }}");
            let ours = expected(status, CallOutcome::Unauthorised, true);
            check(&how, format, is_stream, &ours).await;
        }
    }
    assert_eq!(CallOutcome::BadRequest.owner(), Owner::Agent);
    assert_eq!(CallOutcome::Unauthorised.owner(), Owner::Infra);
    // A model that nobody configured was the agent's idea.
    let stage = Stage::new(&failing("how = { status = { status = 404 } }"));
    stage.ask("/v1/responses", json!({"model": "other", "input": "a"})).await;
    assert_eq!(stage.call().await.outcome, CallOutcome::BadRequest);
    assert!(stage.session.failure().borrow().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_hangs_up_is_told_so() {
    let stage = Stage::new(&failing("how = { drip_ms = 2000 }"));
    let (path, body) = says(WireFormat::AnthropicMessages, "hello", true);
    let hung_up = tokio::time::timeout(Duration::from_secs(5), stage.ask(&path, body)).await;
    assert!(hung_up.is_err());
    tokio::time::sleep(10 * SECOND).await;
    let call = stage.call().await;
    assert_eq!((call.outcome, call.outcome.owner()), (CallOutcome::Abandoned, Owner::Agent));
    assert_eq!(call.tokens.output, None);
    assert_eq!(call.cost_microusd, None);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_hangs_up_on_a_provider_that_fails_is_not_why() {
    let stage = Stage::new(&failing("how = { status = { status = 500 } }"));
    let (path, body) = says(WireFormat::AnthropicMessages, "hello", true);
    let hung_up = tokio::time::timeout(Duration::from_secs(60), stage.ask(&path, body)).await;
    assert!(hung_up.is_err());
    let call = stage.call().await;
    assert_eq!((call.outcome, call.outcome.owner()), (CallOutcome::ProviderFailed, Owner::Infra));
    assert!(stage.session.pauses().total() > 50 * SECOND);
    assert!(stage.session.pauses().watch().borrow().since.is_none(), "the clock runs again");
    assert!(stage.session.failure().borrow().is_none(), "the outage is not over the bound");
}
