//! The reference agent: a model that a script speaks for, asked through a gateway, with a shell in a real sandbox.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use adapters::{
    agents::LoopAgent,
    models::{
        patience::Patience,
        provider::Provider,
        scripted::{ModelScript, ScriptedModel},
    },
    wire::gateway::{Bounds, Gateway, ModelGateways},
};
use domain::{
    evidence::{ModelCall, WireFormat},
    ids::Turn,
    session::TurnStop,
    usage::PriceTable,
};
use engine::ports::{
    agent::AgentFault,
    gateway::{GatewayTerms, Gateways, HostedPolicy},
};

use crate::{opened::Opened, stage::Stage};

const SCRIPT: &str = r#"
[[on]]
user = "first"
[[on.answer]]
say = "I look first."
run = ["echo one > notes.txt; echo made; echo oops >&2", "exit 3"]
[[on.answer]]
say = "Shall I go on?"

[[on]]
user = "second"
[[on.answer]]
run = ["cat notes.txt"]
[[on.answer]]
say = "It says one."

[[on]]
user = "long"
[[on.answer]]
run = ["sleep 600", "touch late.txt"]

[[on]]
user = "again"
[[on.answer]]
say = "Here again."
"#;

/// The agent over a script that speaks this form, and the calls that its gateway hears.
async fn open(form: WireFormat) -> (Opened, Arc<Mutex<Vec<ModelCall>>>) {
    let script = ModelScript::parse(SCRIPT).expect("a script");
    let provider: Arc<dyn Provider> = Arc::new(ScriptedModel::new(script));
    let gateway = Gateway {
        providers: BTreeMap::from([(form, provider)]),
        patience: Patience::default(),
        bounds: Bounds::default(),
        prices: PriceTable::default(),
    };
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let terms = GatewayTerms {
        hosted: HostedPolicy::Shut,
        clock: Arc::new(|| 0),
        keep: None,
        heard: Arc::new(move |call: &ModelCall| hears.lock().expect("held").push(call.clone())),
    };
    let gateways = ModelGateways::new(gateway, Some("m-1".to_owned()));
    let (session, access) = gateways.open(terms);
    session.begin(Turn(1));
    let stage = Arc::new(Stage::with(&[]).await);
    let opened = Opened::with_model(&LoopAgent, stage, Some(access)).await;
    (opened.expect("it opens"), heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_works_with_a_shell_until_it_only_speaks() {
    for form in WireFormat::ALL {
        let (opened, heard) = open(form).await;
        assert_eq!(opened.conversation.told_name().as_deref(), Some("loop m-1"));
        let (stop, told) = opened.turn("The first thing.").await;
        let expect = [
            "delivered",
            "said I look first.",
            "called echo one > notes.txt; echo made; echo oops >&2 (execute)",
            "completed  -> made\noops Some(0)",
            "called exit 3 (execute)",
            "failed  ->  Some(3)",
            "said Shall I go on?",
        ];
        assert_eq!((stop, told), (TurnStop::Finished, expect.map(str::to_owned).to_vec()));
        let (stop, told) = opened.turn("The second thing.").await;
        let expect = [
            "delivered",
            "called cat notes.txt (execute)",
            "completed  -> one Some(0)",
            "said It says one.",
        ];
        assert_eq!((stop, told), (TurnStop::Finished, expect.map(str::to_owned).to_vec()));
        let heard = heard.lock().expect("held");
        assert_eq!(heard.len(), 4, "each request is the gateway's");
        assert!(heard.iter().all(|call| call.tokens.total().is_some_and(|tokens| tokens > 0)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_leaves_a_history_that_goes_on() {
    let (opened, _) = open(WireFormat::OpenAiChat).await;
    let (observer, mut seen) = opened.observer();
    let prompt = opened.conversation.prompt("A long one.", &observer);
    let interrupted = async {
        while !crate::opened::words(&seen.recv().await.expect("observed")).starts_with("called") {}
        opened.conversation.interrupt().await.expect("it can be interrupted");
    };
    let both = async { tokio::join!(prompt, interrupted).0 };
    let stop = tokio::time::timeout(Duration::from_secs(20), both).await.expect("it ends");
    assert_eq!(stop, Ok(TurnStop::Interrupted));
    let (stop, told) = opened.turn("Are you there again?").await;
    assert_eq!((stop, told[1].as_str()), (TurnStop::Finished, "said Here again."));
    assert!(opened.sandbox.get("/app/late.txt").await.expect("read").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_it_does_not_open() {
    let opened = Opened::of(&LoopAgent, Arc::new(Stage::with(&[]).await)).await;
    let refused = opened.err().expect("it does not open");
    assert!(matches!(&refused, AgentFault::NotOpened(why) if why.contains("needs a model")));
}
