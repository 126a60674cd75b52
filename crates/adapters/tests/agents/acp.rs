//! The driver of the Agent Client Protocol: what an agent says and does arrives whole, once and in order, and
//! whatever it does wrong is its own.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::agents::{AcpAgent, AcpLaunch};
use domain::{
    fault::Flag,
    ids::RequestId,
    release::ActionClass,
    session::{ClaimSpan, Observation, TurnStop},
};
use engine::ports::agent::{AgentFault, ToolServer, ToolTransport};

use crate::{
    opened::{Opened, shell, words},
    stage::Stage,
};

fn launch(behaviour: &[&str]) -> AcpLaunch {
    let argv = ["/usr/bin/python3", "/opt/fake/fake_acp.py"].iter().chain(behaviour);
    AcpLaunch {
        name: "fake".to_owned(),
        argv: argv.map(|&argument| argument.to_owned()).collect(),
        env: BTreeMap::new(),
        mode: None,
        options: Vec::new(),
        span: ClaimSpan::Turn,
    }
}

async fn try_open(launch: AcpLaunch) -> Result<Opened, AgentFault> {
    let stage = Stage::with(&[("fake_acp.py", include_str!("fake_acp.py"))]).await;
    Opened::of(&AcpAgent::new(launch), Arc::new(stage)).await
}

async fn open() -> Opened {
    try_open(launch(&[])).await.expect("the agent opens")
}

async fn check(message: &str, stop: TurnStop, expect: &[&str]) {
    let opened = open().await;
    let (stopped, told) = opened.turn(message).await;
    assert_eq!(told, expect, "{message}");
    assert_eq!(stopped, stop, "{message}");
    opened.conversation.close().await.expect("it closes");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_and_done_arrives_whole_and_in_order() {
    let message = "think Let me see.\nsay First I look.\nrun echo hello; echo oops >&2\nrun exit 3\n\
                   plan look,change\nnoise\nusage\nsay All is done now.";
    check(
        message,
        TurnStop::Finished,
        &[
            "delivered",
            "thought Let me see.",
            "said First I look.",
            "called shell (execute)",
            r#"completed {"command":"echo hello; echo oops >&2"} -> hello
oops Some(0)"#
                .replace("\noops", "\n\noops")
                .as_str(),
            "called shell (execute)",
            r#"failed {"command":"exit 3"} ->  Some(3)"#,
            "planned 2 done 1",
            "said All is done now.",
            "claims Some(10) Some(4)",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_share_one_session() {
    let opened = open().await;
    assert_eq!(opened.conversation.told_name().as_deref(), Some("fake 1.0"));
    let (first, _) = opened.turn("run echo one >> notes.txt").await;
    let (second, told) = opened.turn("run cat notes.txt\nsay Done.").await;
    assert_eq!((first, second), (TurnStop::Finished, TurnStop::Finished));
    assert_eq!(told[2], r#"completed {"command":"cat notes.txt"} -> one Some(0)"#);
    let (_, told) = opened.turn("mode").await;
    assert_eq!(told[1], r#"said {"cwd": "/app", "mode": "default"}"#);
    opened.conversation.close().await.expect("it closes");
    opened.conversation.close().await.expect("closing twice does no harm");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_reach_the_session() {
    let launch = AcpLaunch {
        mode: Some("plan".to_owned()),
        options: vec![("model".to_owned(), "big".to_owned())],
        ..launch(&[])
    };
    let opened = try_open(launch).await.expect("the agent opens");
    let (_, told) = opened.turn("mode").await;
    assert_eq!(told[1], r#"said {"cwd": "/app", "mode": "plan", "model": "big"}"#);
}

/// A server of every kind that the agent takes is told as it is; one of another kind is told to the user.
#[tokio::test(flavor = "multi_thread")]
async fn tool_servers_are_handed_over() {
    let check = async |behaviour: &[&str], transport: ToolTransport, expect: Result<&str, &str>| {
        let stage = Stage::with(&[("fake_acp.py", include_str!("fake_acp.py"))]).await;
        let agent = AcpAgent::new(launch(behaviour));
        let servers = vec![ToolServer { name: "notes".to_owned(), transport }];
        let opened = Opened::with_tool_servers(&agent, Arc::new(stage), servers).await;
        match (opened, expect) {
            (Ok(opened), Ok(servers)) => {
                let (_, told) = opened.turn("mode").await;
                let said =
                    format!(r#"said {{"cwd": "/app", "mode": "default", "servers": {servers}}}"#);
                assert_eq!(told[1], said);
            }
            (Err(AgentFault::NotOpened(why)), Err(expect)) => {
                assert!(why.contains(expect), "{why}")
            }
            (opened, _) => panic!("{:?} instead of {expect:?}", opened.err()),
        }
    };
    let (command, args) = ("/opt/notes".to_owned(), vec!["--all".to_owned()]);
    let stdio = ToolTransport::Stdio { command, args };
    let expect = r#"[{"args": ["--all"], "command": "/opt/notes", "env": [], "name": "notes"}]"#;
    check(&[], stdio, Ok(expect)).await;
    let url = "http://notes:8000/mcp".to_owned();
    let headers: BTreeMap<_, _> = [("Authorization".to_owned(), "Bearer k".to_owned())].into();
    let http = ToolTransport::Http { url: url.clone(), headers: headers.clone() };
    let expect = r#"[{"headers": [{"name": "Authorization", "value": "Bearer k"}], "name": "notes", "type": "http", "url": "http://notes:8000/mcp"}]"#;
    check(&["tools-over-http"], http.clone(), Ok(expect)).await;
    check(&[], http, Err("it takes no tool servers over HTTP, as `notes` is")).await;
    let sse = ToolTransport::Sse { url, headers };
    let expect = "it takes no tool servers over server-sent events, as `notes` is";
    check(&["tools-over-http"], sse, Err(expect)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_words_belong_to_their_turn() {
    let expect = ["delivered", "said Ready.", "said One thing more."];
    check("say Ready.\nlate One thing more.", TurnStop::Finished, &expect).await;
}

/// Once is once, even where the agent offers to ask never again; what it is refused, it does not do.
#[tokio::test(flavor = "multi_thread")]
async fn permissions_are_answered_by_their_kind() {
    for (allow, chosen, expect) in [(true, "yes-once", true), (false, "no-once", false)] {
        let opened = open().await;
        let (observer, mut seen) = opened.observer();
        let prompt = opened.conversation.prompt("ask rm -rf build && touch done.txt", &observer);
        let answered = async {
            loop {
                let observation = seen.recv().await.expect("the turn is observed");
                if let Observation::PermissionRequested(asked) = observation {
                    assert_eq!(asked.class, Some(ActionClass::Delete));
                    assert_eq!(asked.subject.as_deref(), Some("rm -rf build && touch done.txt"));
                    let answer = opened.conversation.answer_permission(asked.request, allow);
                    answer.await.expect("the request waits");
                    let twice = opened.conversation.answer_permission(asked.request, allow).await;
                    assert!(matches!(twice, Err(AgentFault::Channel(_))), "one answer a request");
                    break;
                }
            }
        };
        let (stop, ()) = tokio::join!(prompt, answered);
        assert_eq!(stop, Ok(TurnStop::Finished));
        let mut said = Vec::new();
        while let Ok(observation) = seen.try_recv() {
            said.push(words(&observation));
        }
        assert!(said.contains(&format!("said chosen {chosen}.")), "{said:?}");
        let done = opened.sandbox.get("/app/done.txt").await.expect("it can be read");
        assert_eq!(done.is_some(), expect);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_offered_is_refused() {
    for method in [
        "fs/write_text_file",
        "fs/read_text_file",
        "terminal/create",
        "elicitation/create",
        "_own/thing",
    ] {
        let expect = ["delivered", "said answered -32601."];
        check(&format!("method {method}"), TurnStop::Finished, &expect).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_turn_and_its_requests() {
    for (message, expect) in
        [("hang", TurnStop::Interrupted), ("ask rm x\nhang", TurnStop::Interrupted)]
    {
        let opened = open().await;
        let (observer, mut seen) = opened.observer();
        let prompt = opened.conversation.prompt(message, &observer);
        let interrupted = async {
            while !matches!(
                seen.recv().await.expect("the turn is observed"),
                Observation::Delivered { .. }
            ) {}
            tokio::time::sleep(Duration::from_millis(300)).await;
            opened.conversation.interrupt().await.expect("it can be interrupted");
        };
        let both = async { tokio::join!(prompt, interrupted) };
        let (stop, ()) =
            tokio::time::timeout(Duration::from_secs(20), both).await.expect("it ends");
        assert_eq!(stop, Ok(expect), "{message}");
        let (after, told) = opened.turn("say Here again.").await;
        assert_eq!(after, TurnStop::Finished);
        assert_eq!(told, ["delivered", "said Here again."], "{message}");
    }
}

/// The controller's answer may come when the turn was stopped, or the agent is gone, since it was asked: that is no
/// fault of the world, or an agent that runs out of its time could have it again by asking.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_too_late_is_none() {
    for ends in ["interrupt", "kill"] {
        let opened = open().await;
        let (observer, mut seen) = opened.observer();
        let prompt = opened.conversation.prompt("ask rm x\nhang", &observer);
        let stopped = async {
            let request = loop {
                let observation = seen.recv().await.expect("the turn is observed");
                if let Observation::PermissionRequested(asked) = observation {
                    break asked.request;
                }
            };
            match ends {
                "interrupt" => opened.conversation.interrupt().await.expect("it is interrupted"),
                _ => {
                    let kill = "pkill -KILL -f fake_acp[.]py";
                    let killed = opened.sandbox.exec(&shell(kill)).await.expect("it runs");
                    assert!(killed.is_success(), "{killed:?}");
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
            }
            request
        };
        let (stop, request) = tokio::join!(prompt, stopped);
        let expect = if ends == "interrupt" { TurnStop::Interrupted } else { TurnStop::Crashed };
        assert_eq!(stop, Ok(expect), "{ends}");
        let answered = opened.conversation.answer_permission(request, true).await;
        assert_eq!(answered, Ok(()), "{ends}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_breaks_is_no_fault_of_the_world() {
    let note = "noted the agent exited with 9; at last it said: something went wrong in here";
    check("say Now.\ncrash 9", TurnStop::Crashed, &["delivered", "said Now.", note]).await;
    let note = "noted the agent answered with an error: Internal error (\"overloaded\")";
    check("error overloaded", TurnStop::Crashed, &["delivered", note]).await;
    let long = format!("error {}", "x".repeat(1 << 20));
    let opened = open().await;
    let (_, told) = opened.turn(&long).await;
    assert!(told[1].chars().count() < 2_100, "{} characters", told[1].chars().count());
    check("stop refusal", TurnStop::Refused, &["delivered"]).await;
    check("stop max_tokens", TurnStop::Finished, &["delivered"]).await;
    // What was refused is answered so by some agents; nobody interrupted this one.
    check("stop cancelled", TurnStop::Finished, &["delivered"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn floods_are_cut_off() {
    let opened = open().await;
    let (stop, told) = opened.turn("flood 200001\nsay unheard").await;
    let flag = format!("flag {}", Flag::ChannelOverflow.name());
    assert_eq!(told, ["delivered".to_owned(), flag]);
    assert_eq!(stop, TurnStop::Finished);
    let (stop, told) = opened.turn("endless").await;
    assert_eq!(stop, TurnStop::Crashed, "{told:?}");
}

/// An agent that never returns is killed with its conversation: nothing of it is left in the sandbox.
#[tokio::test(flavor = "multi_thread")]
async fn closing_kills_what_does_not_go() {
    let opened = open().await;
    let (observer, _seen) = opened.observer();
    let prompt = opened.conversation.prompt("run sleep 600 & sleep 600 &\ndeaf", &observer);
    let timed = tokio::time::timeout(Duration::from_secs(2), prompt).await;
    assert!(timed.is_err(), "it does not return");
    opened.conversation.close().await.expect("it closes");
    opened.nothing_lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_open_says_why() {
    let check = async |launch: AcpLaunch, expect: &str| {
        let refused = try_open(launch).await.err().expect("it does not open");
        let AgentFault::NotOpened(why) = &refused else { panic!("{refused:?}") };
        assert!(why.contains(expect), "{why}");
    };
    check(launch(&["dies"]), "the agent exited with 3; at last it said: no key is set").await;
    check(launch(&["other-version"]), "only supports ACP protocol version 1").await;
    let absent = AcpLaunch { argv: vec!["/opt/absent".to_owned()], ..launch(&[]) };
    check(absent, "/opt/absent is not in the sandbox, or cannot be executed there").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_nobody_made_is_not_answered() {
    let opened = open().await;
    let stray = opened.conversation.answer_permission(RequestId(7), true).await;
    assert!(matches!(stray, Err(AgentFault::Channel(_))), "nobody asked for request 7");
}
