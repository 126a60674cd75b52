//! The drivers of Claude Code's control protocol and of this tool's own: the same is told of both, whatever their lines
//! look like.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::agents::{ClaudeStreamAgent, NdjsonAgent, ProgramLaunch};
use domain::{
    fault::Flag,
    ids::RequestId,
    release::ActionClass,
    session::{Observation, TurnStop},
};
use engine::ports::agent::AgentFault;

use crate::{
    opened::{Opened, words},
    stage::Stage,
};

const DIALECTS: [&str; 2] = ["claude", "ndjson"];

/// A sandbox that holds the agent; several may be opened in it, one after the other.
async fn stage() -> Arc<Stage> {
    Arc::new(Stage::with(&[("fake_stream.py", include_str!("fake_stream.py"))]).await)
}

async fn try_open(
    stage: &Arc<Stage>,
    dialect: &str,
    behaviour: &[&str],
) -> Result<Opened, AgentFault> {
    let program = ["/usr/bin/python3", "/opt/fake/fake_stream.py", dialect];
    let argv = program.iter().chain(behaviour).map(|&argument| argument.to_owned()).collect();
    launched(stage, dialect, argv).await
}

async fn launched(
    stage: &Arc<Stage>,
    dialect: &str,
    argv: Vec<String>,
) -> Result<Opened, AgentFault> {
    let launch = ProgramLaunch { name: "fake".to_owned(), argv, env: BTreeMap::new() };
    match dialect {
        "claude" => Opened::of(&ClaudeStreamAgent::new(launch), stage.clone()).await,
        _ => Opened::of(&NdjsonAgent::new(launch), stage.clone()).await,
    }
}

async fn open(stage: &Arc<Stage>, dialect: &str) -> Opened {
    try_open(stage, dialect, &[]).await.expect("the agent opens")
}

impl Opened {
    async fn check(&self, message: &str, stop: TurnStop, expect: &[&str]) {
        let (stopped, told) = self.turn(message).await;
        assert_eq!(told, expect, "{message}");
        assert_eq!(stopped, stop, "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_and_done_arrives_whole_and_in_order() {
    let message = "think Let me see.\nsay First I look.\nrun echo hello; echo oops >&2\nrun exit 3\n\
                   plan look,change\nusage\nsay All is done now.";
    let stage = stage().await;
    for (dialect, name, code) in [
        ("claude", "Bash", ("None", "None")),
        ("ndjson", "echo hello; echo oops >&2", ("Some(0)", "Some(3)")),
    ] {
        let opened = open(&stage, dialect).await;
        let (stop, told) = opened.turn(message).await;
        let second = if dialect == "claude" { "Bash" } else { "exit 3" };
        let mut expect = vec![
            "delivered".to_owned(),
            "thought Let me see.".to_owned(),
            "said First I look.".to_owned(),
            format!("called {name} (execute)"),
            format!("completed  -> hello\n\noops {}", code.0),
            format!("called {second} (execute)"),
            format!("failed  ->  {}", code.1),
        ];
        expect.extend((dialect == "claude").then(|| "called TodoWrite (think)".to_owned()));
        expect.extend(
            ["planned 2 done 1", "said All is done now.", "claims Some(10) Some(4)"]
                .map(str::to_owned),
        );
        assert_eq!(told, expect, "{dialect}");
        assert_eq!(stop, TurnStop::Finished, "{dialect}");
        // One session, whose turns follow each other.
        let (stop, told) = opened.turn("run ls\nusage").await;
        assert_eq!(
            (stop, told[2].as_str()),
            (TurnStop::Finished, format!("completed  ->  {}", code.0).as_str())
        );
        opened.check("late", TurnStop::Finished, &late(dialect)).await;
        opened.conversation.close().await.expect("it closes");
        opened.conversation.close().await.expect("closing twice does no harm");
        opened.nothing_lives().await;
    }
}

/// What claude tells at each end of a turn stands between.
fn late(dialect: &str) -> Vec<&'static str> {
    match dialect {
        "claude" => vec!["delivered", "claims None None", "said One thing more."],
        _ => vec!["delivered", "said One thing more."],
    }
}

/// Figures of a session are not told as those of a turn.
#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_a_turn_is_told_once() {
    let opened = open(&stage().await, "claude").await;
    for turn in 1..=2 {
        let (observer, mut seen) = opened.observer();
        opened.conversation.prompt("usage", &observer).await.expect("the turn ends");
        let claim = loop {
            if let Observation::UseClaimed(claim) = seen.recv().await.expect("a claim") {
                break claim;
            }
        };
        assert_eq!(claim.cost_microusd, Some(250_000), "turn {turn}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_are_answered_and_what_is_refused_is_not_done() {
    let stage = stage().await;
    for dialect in DIALECTS {
        let opened = open(&stage, dialect).await;
        for allow in [true, false] {
            let (observer, mut seen) = opened.observer();
            let message = format!("ask rm -rf build && touch {allow}.txt");
            let prompt = opened.conversation.prompt(&message, &observer);
            let answered = async {
                let asked = loop {
                    let observation = seen.recv().await.expect("the turn is observed");
                    if let Observation::PermissionRequested(asked) = observation {
                        break asked;
                    }
                };
                assert_eq!(asked.class, Some(ActionClass::Delete), "{dialect}");
                let subject = format!("rm -rf build && touch {allow}.txt");
                assert_eq!(asked.subject, Some(subject), "{dialect}");
                let answer = opened.conversation.answer_permission(asked.request, allow);
                answer.await.expect("the request waits");
                let twice = opened.conversation.answer_permission(asked.request, allow).await;
                assert!(matches!(twice, Err(AgentFault::Channel(_))), "one answer a request");
            };
            let (stop, ()) = tokio::join!(prompt, answered);
            assert_eq!(stop, Ok(TurnStop::Finished), "{dialect}");
            let mut said = Vec::new();
            while let Ok(observation) = seen.try_recv() {
                said.push(words(&observation));
            }
            let expect = format!("said allowed {}.", if allow { "True" } else { "False" });
            assert!(said.contains(&expect), "{dialect}: {said:?}");
            let done = opened.sandbox.get(&format!("/app/{allow}.txt")).await.expect("read");
            assert_eq!(done.is_some(), allow, "{dialect}");
        }
        let stray = opened.conversation.answer_permission(RequestId(77), true).await;
        assert!(matches!(stray, Err(AgentFault::Channel(_))), "nobody asked for request 77");
    }
}

/// A question to the user in the middle of a turn has no place: it is told so and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn questions_wait_for_the_end_of_the_turn() {
    let opened = open(&stage().await, "claude").await;
    let told = "said The user cannot answer here. Ask when you end your turn.";
    let expect = ["delivered", told, "claims None None"];
    opened.check("question Which one?", TurnStop::Finished, &expect).await;
    let request =
        r#"raw {"type":"control_request","request_id":"h1","request":{"subtype":"hook_callback"}}"#;
    let (stop, told) = opened.turn(request).await;
    assert_eq!((stop, told.len()), (TurnStop::Finished, 2), "what is not offered is refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_turn_and_its_requests() {
    let stage = stage().await;
    for dialect in DIALECTS {
        let opened = open(&stage, dialect).await;
        for message in ["hang", "ask rm x\nhang"] {
            let (observer, mut seen) = opened.observer();
            let prompt = opened.conversation.prompt(message, &observer);
            let interrupted = async {
                let mut request = None;
                loop {
                    match seen.recv().await.expect("the turn is observed") {
                        Observation::PermissionRequested(asked) => request = Some(asked.request),
                        Observation::Delivered { .. } if message == "hang" => {}
                        _ => continue,
                    }
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
                opened.conversation.interrupt().await.expect("it can be interrupted");
                // What the controller says now comes too late, and is no fault.
                if let Some(request) = request {
                    let late = opened.conversation.answer_permission(request, true).await;
                    assert_eq!(late, Ok(()), "{dialect}");
                }
            };
            let both = async { tokio::join!(prompt, interrupted).0 };
            let stop = tokio::time::timeout(Duration::from_secs(20), both).await.expect("it ends");
            assert_eq!(stop, Ok(TurnStop::Interrupted), "{dialect}: {message}");
            let (after, told) = opened.turn("say Here again.").await;
            assert_eq!(after, TurnStop::Finished, "{dialect}");
            assert_eq!(told[1], "said Here again.", "{dialect}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_breaks_is_no_fault_of_the_world() {
    let stage = stage().await;
    for dialect in DIALECTS {
        let opened = open(&stage, dialect).await;
        let claims = if dialect == "claude" { vec!["claims None None"] } else { vec![] };
        let said = |lines: &[&'static str]| [&["delivered"][..], &claims[..], lines].concat();
        let note = "noted the agent answered with an error: overloaded";
        opened.check("error overloaded", TurnStop::Crashed, &said(&[note])).await;
        opened.check("stop refused", TurnStop::Refused, &said(&[])).await;
        let note = "noted the agent exited with 9; at last it said: something went wrong in here";
        opened
            .check("say Now.\ncrash 9", TurnStop::Crashed, &["delivered", "said Now.", note])
            .await;
        // It is gone for good.
        let (stop, _) = opened.turn("say Again.").await;
        assert_eq!(stop, TurnStop::Crashed, "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn floods_are_cut_off() {
    let stage = stage().await;
    for dialect in DIALECTS {
        let opened = open(&stage, dialect).await;
        let flag = format!("flag {}", Flag::ChannelOverflow.name());
        let (stop, told) = opened.turn("flood 200001\nsay unheard").await;
        assert_eq!(told, ["delivered".to_owned(), flag], "{dialect}");
        assert_eq!(stop, TurnStop::Finished, "{dialect}");
        let (stop, told) = opened.turn("say heard").await;
        assert_eq!((stop, told[1].as_str()), (TurnStop::Finished, "said heard"), "{dialect}");
        let (stop, told) = opened.turn("endless").await;
        assert_eq!(stop, TurnStop::Crashed, "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_part_of_the_protocol_is_refused() {
    let stage = stage().await;
    let check = async |line: &str, expect: &str| {
        let opened = open(&stage, "ndjson").await;
        let (stop, told) = opened.turn(&format!("raw {line}")).await;
        assert_eq!(stop, TurnStop::Crashed, "{line}");
        let last = told.last().expect("something is told");
        assert!(last.contains(expect), "{line}: {last}");
    };
    check(r#"{"type":"dance"}"#, "unknown variant `dance`, expected one of `hello`, `said`").await;
    check(r#"{"type":"said","text":"a","tone":"b"}"#, "unknown field `tone`").await;
    check("words", "expected value").await;
    check(r#"{"type":"hello","version":1}"#, "`hello` is said once").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_open_says_why() {
    let stage = stage().await;
    let check = async |dialect: &str, behaviour: &str, expect: &str| {
        let refused =
            try_open(&stage, dialect, &[behaviour]).await.err().expect("it does not open");
        let AgentFault::NotOpened(why) = &refused else { panic!("{refused:?}") };
        assert!(why.contains(expect), "{why}");
    };
    check("claude", "refuses", "no key is set").await;
    check("ndjson", "refuses", "it speaks version 7 of the protocol, and not 1").await;
    for dialect in DIALECTS {
        check(dialect, "dies", "the agent exited with 3; at last it said: no key is set").await;
        let refused = launched(&stage, dialect, vec!["/opt/absent".to_owned()]).await;
        let refused = refused.err().expect("it does not open").to_string();
        assert!(refused.contains("/opt/absent is not in the sandbox"), "{refused}");
    }
}

/// The bridge that ships as an example, around a stand-in of its library.
#[tokio::test(flavor = "multi_thread")]
async fn the_bridge_of_mini_swe_agent_speaks_the_protocol() {
    let bridge = include_str!("../../../../examples/ndjson/mini_swe_agent.py");
    let programs =
        [("mini_stand_in.py", include_str!("mini_stand_in.py")), ("mini_swe_agent.py", bridge)];
    let stage = Arc::new(Stage::with(&programs).await);
    let argv = [
        "/usr/bin/python3",
        "/opt/fake/mini_stand_in.py",
        "/opt/fake/mini_swe_agent.py",
        "openai/m",
        "environment.timeout=7",
    ];
    let argv = argv.map(str::to_owned).to_vec();
    let opened = launched(&stage, "ndjson", argv).await.expect("the bridge opens");
    assert_eq!(opened.conversation.told_name().as_deref(), Some("mini-swe-agent 2.4.6"));
    let expect = [
        "delivered",
        "called echo one > notes.txt (execute)",
        "completed  ->  Some(0)",
        "called exit 3 (execute)",
        "failed  ->  Some(3)",
        "said Shall I go on?",
        "claims Some(200) Some(80)",
    ];
    let message = "two echo one > notes.txt | exit 3\nwords Shall I go on?";
    opened.check(message, TurnStop::Finished, &expect).await;
    let submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat notes.txt";
    let expect = [
        "delivered",
        &format!("called {submit} (execute)"),
        "completed  ->  None",
        "said one",
        "claims Some(200) Some(80)",
    ];
    opened.check(&format!("odd\nrun {submit}"), TurnStop::Finished, &expect).await;
    let note = "noted the agent answered with an error: ConnectionError: no provider";
    opened.check("break", TurnStop::Crashed, &["delivered", note]).await;
    let (observer, mut seen) = opened.observer();
    let prompt = opened.conversation.prompt("run sleep 2\nrun touch late.txt", &observer);
    let interrupted = async {
        while !words(&seen.recv().await.expect("the turn is observed")).starts_with("called") {}
        opened.conversation.interrupt().await.expect("it can be interrupted");
    };
    let (stop, ()) = tokio::join!(prompt, interrupted);
    assert_eq!(stop, Ok(TurnStop::Interrupted));
    assert!(opened.sandbox.get("/app/late.txt").await.expect("read").is_none());
}
