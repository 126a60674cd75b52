//! The driver that starts a command for each turn: what the descriptions that ship with the tool say of each agent, and what
//! a turn is, whatever the agent.

use std::{cell::Cell, collections::BTreeMap, sync::Arc, time::Duration};

use adapters::agents::{
    CliAgent, CliDescription, CliLaunch, SHIPPED, placeholders::Fillable, shipped,
};
use domain::{
    fault::Flag,
    ids::RequestId,
    session::{Observation, TurnStop},
};
use engine::ports::agent::AgentFault;
use serde_json::{Value, json};

use crate::{
    opened::{Opened, shell},
    stage::Stage,
};

/// What each agent printed in two turns, in words of our own, what is told of it, and how it was called.
const TRANSCRIPTS: [(&str, &str); 9] = [
    ("aider", include_str!("transcripts/aider.json")),
    ("codex", include_str!("transcripts/codex.json")),
    ("copilot", include_str!("transcripts/copilot.json")),
    ("gemini", include_str!("transcripts/gemini.json")),
    ("goose", include_str!("transcripts/goose.json")),
    ("kimi", include_str!("transcripts/kimi.json")),
    ("opencode", include_str!("transcripts/opencode.json")),
    ("openhands", include_str!("transcripts/openhands.json")),
    ("pi", include_str!("transcripts/pi.json")),
];

fn launch(description: CliDescription) -> CliLaunch {
    let path = Fillable::parse("/opt/fake:/usr/bin:/bin").expect("no placeholder");
    let name = format!("cli:{}", description.name);
    CliLaunch { name, description, env: BTreeMap::from([("PATH".to_owned(), path)]) }
}

/// The agent of a description, which does as its transcript says.
async fn open(
    stage: &Arc<Stage>,
    description: CliDescription,
    transcript: &str,
) -> Result<Opened, AgentFault> {
    let name = description.name.clone();
    let program = concat!("#!/usr/bin/python3\n", include_str!("fake_cli.py"));
    stage.place(&[(&name, program), (&format!("{name}.json"), transcript)]).await;
    Opened::of(&CliAgent::new(launch(description)), stage.clone()).await
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().expect("a list").iter();
    texts.map(|text| text.as_str().expect("a text").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_description_fits_its_agent() {
    assert_eq!(SHIPPED.map(|(name, _)| name), TRANSCRIPTS.map(|(name, _)| name));
    let stage = Arc::new(Stage::with(&[]).await);
    for (name, text) in TRANSCRIPTS {
        let transcript: Value = serde_json::from_str(text).expect("a transcript is JSON");
        let description = shipped(name).expect("it ships");
        let opened = open(&stage, description, text).await.expect(name);
        assert_eq!(opened.conversation.told_name(), Some(format!("{name} {name} 9.9")));
        for (turn, message) in ["One.", "Two."].into_iter().enumerate() {
            let (stop, told) = opened.turn(message).await;
            assert_eq!(told, texts(&transcript["told"][turn]), "{name}, turn {}", turn + 1);
            assert_eq!(stop, TurnStop::Finished, "{name}");
            let asked = format!("cat /var/tmp/{name}.argv.{turn}");
            let argv = opened.sandbox.exec(&shell(&asked)).await.expect("it runs").stdout;
            let argv: Value = serde_json::from_slice(&argv).expect("JSON");
            assert_eq!(texts(&argv), texts(&transcript["argv"][turn]), "{name}, turn {}", turn + 1);
        }
        opened.conversation.close().await.expect("it closes");
    }
}

/// Agents of our own in one sandbox, of whom only texts and failures are told.
struct Rig {
    stage: Arc<Stage>,
    agents: Cell<u32>,
}

impl Rig {
    async fn new() -> Self {
        Self { stage: Arc::new(Stage::with(&[]).await), agents: Cell::new(0) }
    }

    async fn try_open(&self, more: &str, turns: Value) -> Result<Opened, AgentFault> {
        self.agents.set(self.agents.get() + 1);
        let name = format!("'own{}'", self.agents.get());
        let text = format!(
            "name = 'own'\n{more}\n[[event]]\nwhen = {{ '/type' = 'text' }}\nsays = '/text'\n\
             [[event]]\nwhen = {{ '/type' = 'failure' }}\nfails = '/why'"
        );
        let description = CliDescription::read(&text.replace("'own'", &name));
        let transcript = json!({ "turns": turns }).to_string();
        open(&self.stage, description.expect("it makes sense"), &transcript).await
    }

    async fn open(&self, more: &str, turns: Value) -> Opened {
        self.try_open(more, turns).await.expect("it opens")
    }

    async fn check(&self, more: &str, lines: Value, stop: TurnStop, expect: &[&str]) {
        let (stopped, told) = self.open(more, json!([lines])).await.turn("Do it.").await;
        assert_eq!(told, expect, "{more}");
        assert_eq!(stopped, stop, "{more}");
    }
}

const BY_ARGUMENT: &str = "first = ['own', '{prompt}']\nnext = ['own', '{prompt}']";

#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_by_argument_input_or_file() {
    let rig = Rig::new().await;
    let by_input = "prompt = 'stdin'\nfirst = ['own']\nnext = ['own']";
    let expect = ["delivered", "said heard Do it."];
    rig.check(by_input, json!(["!stdin"]), TurnStop::Finished, &expect).await;
    let by_file = format!("prompt = 'file'\n{BY_ARGUMENT}");
    let expect = ["delivered", "said read Do it."];
    rig.check(&by_file, json!(["!file"]), TurnStop::Finished, &expect).await;
    // Nobody answers an agent that reads on.
    let expect = ["delivered", "said heard "];
    rig.check(BY_ARGUMENT, json!(["!stdin"]), TurnStop::Finished, &expect).await;

    let opened = rig.open(BY_ARGUMENT, json!([[], []])).await;
    let (stop, _) = opened.turn("-h is what I type. {session} {prompt}").await;
    assert_eq!(stop, TurnStop::Finished);
    let argv = opened.sandbox.exec(&shell("cat /var/tmp/own4.argv.0")).await.expect("it runs");
    let expect = br#"["\n-h is what I type. {session} {prompt}"]"#;
    assert_eq!(String::from_utf8_lossy(&argv.stdout), String::from_utf8_lossy(expect));
    let (observer, _seen) = opened.observer();
    let long = "x".repeat(200 << 10);
    let refused = opened.conversation.prompt(&long, &observer).await;
    assert!(matches!(&refused, Err(AgentFault::Channel(why)) if why.contains("too long")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_ends_as_its_command_does() {
    let rig = Rig::new().await;
    let said = json!({"type": "text", "text": "Now."});
    let note = "noted the agent exited with 9; at last it said: something went wrong in here";
    let expect = ["delivered", "said Now.", note];
    rig.check(BY_ARGUMENT, json!([said, "!exit 9"]), TurnStop::Crashed, &expect).await;
    let forgiving = format!("finished = [0, 9]\n{BY_ARGUMENT}");
    rig.check(&forgiving, json!([said, "!exit 9"]), TurnStop::Finished, &expect[..2]).await;
    let failure = json!({"type": "failure", "why": "overloaded"});
    let note = "noted the agent says that its turn failed: overloaded";
    rig.check(BY_ARGUMENT, json!([failure]), TurnStop::Crashed, &["delivered", note]).await;
    let flag = format!("flag {}", Flag::ChannelOverflow.name());
    let expect = ["delivered", &flag];
    rig.check(BY_ARGUMENT, json!(["!flood 200001", said]), TurnStop::Finished, &expect).await;
}

/// A server that it leaves running is its user's to find, and holds up no turn.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_running_lives_on() {
    let rig = Rig::new().await;
    let said = json!({"type": "text", "text": "Now."});
    let opened = rig.open(BY_ARGUMENT, json!([["!leave 600", said], [said]])).await;
    let begun = std::time::Instant::now();
    for _ in 0..2 {
        let (stop, told) = opened.turn("Do it.").await;
        assert_eq!(stop, TurnStop::Finished);
        assert_eq!(told, ["delivered", "said Now."]);
        let alive = opened.sandbox.exec(&shell("pgrep -x sleep")).await.expect("it runs");
        assert!(alive.is_success(), "the server lives");
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "nobody waited for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_command() {
    let rig = Rig::new().await;
    for line in ["!sleep 600", "!deaf"] {
        let said = json!({"type": "text", "text": "Here again."});
        let opened = rig.open(BY_ARGUMENT, json!([[line], [said]])).await;
        let (observer, mut seen) = opened.observer();
        let prompt = opened.conversation.prompt("Do it.", &observer);
        let interrupted = async {
            let first = seen.recv().await.expect("the turn is observed");
            assert!(matches!(first, Observation::Delivered { .. }), "{first:?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
            opened.conversation.interrupt().await.expect("it can be interrupted");
        };
        let both = async { tokio::join!(prompt, interrupted).0 };
        let stop = tokio::time::timeout(Duration::from_secs(5), both).await.expect("it ends");
        assert_eq!(stop, Ok(TurnStop::Interrupted), "{line}");
        opened.nothing_lives().await;
        let (after, told) = opened.turn("Go on.").await;
        assert_eq!(
            (after, told),
            (TurnStop::Finished, vec!["delivered".to_owned(), "said Here again.".to_owned()])
        );
    }
}

/// A turn that was given up leaves its command behind, and the next one, or the end, kills it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_does_not_go_on() {
    let rig = Rig::new().await;
    let said = json!({"type": "text", "text": "Here again."});
    let opened = rig.open(BY_ARGUMENT, json!([["!deaf"], [said], ["!deaf"]])).await;
    for give_up in ["next", "close"] {
        let (observer, _seen) = opened.observer();
        let prompt = opened.conversation.prompt("Do it.", &observer);
        let timed = tokio::time::timeout(Duration::from_secs(1), prompt).await;
        assert!(timed.is_err(), "it does not return");
        if give_up == "next" {
            let (stop, told) = opened.turn("Go on.").await;
            assert_eq!((stop, told[1].as_str()), (TurnStop::Finished, "said Here again."));
        } else {
            opened.conversation.close().await.expect("it closes");
        }
        opened.nothing_lives().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_driven_says_why() {
    let rig = Rig::new().await;
    let named = "first = ['own', '{prompt}']\nnext = ['own', '{session}', '{prompt}']\n\
                 session = { at = ['/id'] }";
    let opened = rig.open(named, json!([[], []])).await;
    let (stop, _) = opened.turn("Do it.").await;
    assert_eq!(stop, TurnStop::Finished);
    let (observer, _seen) = opened.observer();
    let refused = opened.conversation.prompt("Go on.", &observer).await;
    assert!(matches!(&refused, Err(AgentFault::Channel(why)) if why.contains("named no session")));
    let stray = opened.conversation.answer_permission(RequestId(1), true).await;
    assert!(matches!(stray, Err(AgentFault::Channel(_))), "nobody asked for request 1");

    let check = async |more: &str, expect: &str| {
        let refused = rig.try_open(more, json!([])).await.err().expect("it does not open");
        let AgentFault::NotOpened(why) = &refused else { panic!("{refused:?}") };
        assert!(why.contains(expect), "{why}");
    };
    let absent = "first = ['absent', '{prompt}']\nnext = ['absent', '{prompt}']";
    check(absent, "absent is not in the sandbox").await;
    check(&format!("version = ['absent']\n{absent}"), "absent is not in the sandbox").await;
    check(&format!("version = ['false']\n{BY_ARGUMENT}"), "false does not run").await;
    let model = "first = ['own', '{model}', '{prompt}']\nnext = ['own', '{prompt}']";
    check(model, "the description of own5: {model} is wanted, and the session has no model").await;
}
