//! A session whose agent has a model: its requests leave a local sandbox by the gateway alone, and what they take, cost and
//! suffer reaches the machine.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::{
    models::{
        patience::Patience,
        provider::Provider,
        scripted::{ModelScript, ScriptedModel},
    },
    wire::gateway::{Bounds, Gateway, ModelGateways},
};
use domain::{
    evidence::{Channel, WireFormat},
    fault::{Ending, Flag},
    ids::RequestId,
    plan::Arm,
    session::{Answer, Command, Event, Observation, TurnStop},
    usage::{Price, PriceTable},
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity, Observer},
    gateway::ModelAccess,
    sandbox::{CommandSpec, Sandbox},
};

use crate::{
    fixture::{Ended, Staged},
    local::run,
};

/// An agent that asks its model once a turn, from within its sandbox, and says what it answered.
struct Asker;

struct Asking {
    sandbox: Arc<dyn Sandbox>,
    access: ModelAccess,
}

const PROGRAM: &str = r#"
import json, os, sys, urllib.error, urllib.request
body = {"model": "priced-1", "messages": [{"role": "user", "content": sys.argv[1]}],
        "web_search_options": {}}
asked = urllib.request.Request(os.environ["ADDRESS"] + "/v1/chat/completions",
    json.dumps(body).encode(), {"authorization": "Bearer " + os.environ["TOKEN"]})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    print(json.load(opener.open(asked, timeout=300))["choices"][0]["message"]["content"])
except urllib.error.HTTPError as error:
    print("status", error.code)
"#;

#[async_trait::async_trait]
impl Agent for Asker {
    fn identify(&self) -> Identity {
        Identity {
            name: "asker".to_owned(),
            channels: [Channel::Transcript, Channel::Order, Channel::Resources].into(),
            late_updates_ms: 0,
        }
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        let access = brief.model.clone().expect("the run has a gateway");
        Ok(Box::new(Asking { sandbox, access }))
    }
}

#[async_trait::async_trait]
impl Conversation for Asking {
    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        observer.delivered();
        let ModelAccess { address, token, .. } = self.access.clone();
        let argv = ["python3", "-c", PROGRAM, message].map(str::to_owned);
        let finished = self
            .sandbox
            .exec(&CommandSpec {
                argv: argv.to_vec(),
                cwd: None,
                env: BTreeMap::from([("ADDRESS".into(), address), ("TOKEN".into(), token)]),
                user: None,
                stdin: Vec::new(),
                timeout: Duration::from_secs(300),
                output_max: 10_000,
            })
            .await?;
        let [out, err] = [&finished.stdout, &finished.stderr];
        observer.said(String::from_utf8_lossy(out) + String::from_utf8_lossy(err));
        Ok(TurnStop::Finished)
    }

    async fn answer_permission(&self, request: RequestId, _: bool) -> Result<(), AgentFault> {
        Err(AgentFault::Channel(format!("nobody asked for {request}")))
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        Ok(())
    }

    async fn close(&self) -> Result<(), AgentFault> {
        Ok(())
    }
}

/// A session over a scripted model; its limits are changed by `limit`.
async fn session(script: &str, limit: impl FnOnce(&mut Staged)) -> Option<Ended> {
    let script = ModelScript::parse(script).expect("a script");
    let provider: Arc<dyn Provider> = Arc::new(ScriptedModel::new(script));
    let price = Price {
        model: "priced*".to_owned(),
        input: 1_000_000,
        cached_input: None,
        cache_write: None,
        output: 1_000_000,
    };
    let gateway = Gateway {
        providers: BTreeMap::from([(WireFormat::OpenAiChat, provider)]),
        patience: Patience::default(),
        bounds: Bounds::default(),
        prices: PriceTable { prices: vec![price] },
    };
    let mut staged = Staged::of("tiny", "caretaker--greet", Arm::NoPersona);
    staged.scenario.channels.insert(Channel::Network);
    let gateways = ModelGateways::new(gateway, Some("priced-1".to_owned()));
    staged.with_model = Some((Arc::new(Asker), Arc::new(gateways)));
    limit(&mut staged);
    run(staged).await
}

fn observations(ended: &Ended) -> impl Iterator<Item = &Observation> {
    ended.entries.iter().filter_map(|entry| match &entry.event {
        Event::Observed(observation) => Some(observation),
        _ => None,
    })
}

/// What was cut of a channel, as the fixture keeps it.
fn cut(ended: &Ended, wanted: Channel) -> String {
    observations(ended)
        .filter_map(|observation| match observation {
            Observation::Cut { channel, blob, .. } if *channel == wanted => ended.blobs.get(blob),
            _ => None,
        })
        .cloned()
        .collect()
}

const SAYS: &str = "[[on]]\n[[on.answer]]\nsay = \"It is done.\"\n\
    usage = { input = 1000, output = 200 }\n";

#[tokio::test]
async fn calls_are_used_up_and_cut() {
    let Some(ended) = session(SAYS, |_| {}).await else { return };
    let used = Observation::Used { tokens: Some(1_200), cost_microusd: Some(1_200) };
    assert!(observations(&ended).any(|seen| *seen == used), "{}", ended.story());
    let said = observations(&ended).any(
        |seen| matches!(seen, Observation::AgentSaid { text, .. } if text.contains("It is done.")),
    );
    assert!(said, "{}", ended.story());
    let calls = cut(&ended, Channel::Resources);
    assert!(calls.contains("model_asked: \"priced-1\""), "{calls}");
    assert!(calls.contains("outcome: Answered"), "{calls}");
    // A hosted tool is an attempt to reach something, and the gateway's own port is none.
    let attempts = cut(&ended, Channel::Network);
    assert!(attempts.contains("way: Hosted"), "{attempts}");
    assert!(attempts.contains("host: \"web_search_options\""), "{attempts}");
    assert!(!attempts.contains("port: 3129"), "{attempts}");
    // The exchange is kept.
    assert!(ended.blobs.values().any(|blob| blob.contains("\"path\":\"/chat/completions\"")));
}

#[tokio::test]
async fn the_machine_ends_what_is_over_its_budget_and_blocks_the_wire() {
    let limit = |staged: &mut Staged| staged.scenario.spec.limits.tokens_max = Some(1_000);
    let Some(ended) = session(SAYS, limit).await else { return };
    assert_eq!(ended.outcome.ending, Ending::AgentTokens, "{}", ended.story());
    let blocked = ended
        .entries
        .iter()
        .any(|entry| matches!(&entry.event, Event::Decided(_, Command::BlockWire)));
    assert!(blocked, "{}", ended.story());
}

#[tokio::test]
async fn a_provider_that_does_not_take_the_key_ends_the_session_as_a_fault() {
    let script = "[[on]]\n[[on.answer]]\nfault = { how = { status = { status = 401 } } }";
    let Some(ended) = session(script, |_| {}).await else { return };
    assert_eq!(ended.outcome.ending, Ending::ProviderError, "{}", ended.story());
    assert!(
        ended.session.flags().iter().any(|(flag, _)| *flag == Flag::ProviderError),
        "{}",
        ended.story()
    );
}

#[tokio::test]
async fn the_agents_clock_stands_still_while_a_provider_is_asked_again() {
    let fault = "fault = { times = 1, how = { status = { status = 429, retry_after_sec = 4 } } }";
    let limit = |staged: &mut Staged| staged.scenario.spec.limits.agent_time_ms = 3_500;
    let Some(ended) = session(&format!("{SAYS}{fault}"), limit).await else { return };
    let first = ended.answers().find_map(|answer| match answer {
        Answer::TurnEnded { stop, agent_ms } => Some((*stop, *agent_ms)),
        _ => None,
    });
    let (stop, agent_ms) = first.expect("a turn");
    assert_eq!(stop, TurnStop::Finished, "{}", ended.story());
    assert!(agent_ms < 3_500, "{agent_ms} ms: {}", ended.story());
}
