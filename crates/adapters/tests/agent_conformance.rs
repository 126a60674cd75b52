//! What every implementer of the agent port promises, asked of each agent that ships with the tool.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::{
    agents::{ScriptedAgent, Solution},
    clock::VirtualClock,
    sandboxes::simulated::{FaultPlan, SimulatedSandboxes},
};
use domain::{
    evidence::Channel,
    ids::{Hash, RequestId, Turn},
    release::{Script, ScriptBlock, ScriptStep, ScriptWhen},
    session::{Observation, TurnStop},
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Observer},
    clock::{Clock, within},
    sandbox::{
        BaseSpec, FileEntry, FileNode, Image, Limits, Network, Recording, Sandbox, Sandboxes,
    },
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Runs the whole suite on one agent. `hangs` says whether its first turn never ends by itself.
async fn check(agent: &dyn Agent, hangs: bool) {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let driven = clock.clone();
    driven.drive(Box::pin(suite(agent, hangs, clock.clone()))).await;
}

async fn suite(agent: &dyn Agent, hangs: bool, clock: Arc<dyn Clock>) {
    let identity = agent.identify();
    assert_eq!(identity, agent.identify(), "an identity is asked for more than once");
    assert!(!identity.name.is_empty());
    assert!(identity.channels.contains(&Channel::Transcript), "what it says must be seen");

    let sandbox = sandbox(clock.clone()).await;
    let brief = Brief {
        workdir: "/app".to_owned(),
        user: None,
        skills_dir: None,
        tool_servers: Vec::new(),
        env: BTreeMap::new(),
        model: None,
    };
    let conversation = agent.open(sandbox.clone(), &brief).await.expect("it opens");

    let stray = conversation.answer_permission(RequestId(7), true).await;
    assert!(matches!(stray, Err(AgentFault::Channel(_))), "nobody asked for request 7");

    let (observer, mut seen) = observing(1, sandbox.clone());
    let work = conversation.prompt("Hello, please do the work.", &observer);
    let hour = Duration::from_secs(3_600);
    let first = if hangs {
        let interrupted = async {
            clock.sleep(hour).await;
            conversation.interrupt().await.expect("it can be interrupted");
            std::future::pending::<()>().await
        };
        tokio::select! {
            stop = within(clock.as_ref(), 2 * hour, work) => stop,
            () = interrupted => None,
        }
        .expect("an interrupted turn returns soon")
    } else {
        within(clock.as_ref(), hour, work).await.expect("a turn ends")
    };
    let expected = if hangs { TurnStop::Interrupted } else { TurnStop::Finished };
    assert_eq!(first, Ok(expected));
    delivered_first(&mut seen, Turn(1));

    let (observer, mut seen) = observing(2, sandbox.clone());
    let work = conversation.prompt("There is more to it.", &observer);
    let second = within(clock.as_ref(), hour, work).await.expect("a second turn ends");
    assert_eq!(second, Ok(TurnStop::Finished), "a conversation goes on after an interrupt");
    delivered_first(&mut seen, Turn(2));

    conversation.close().await.expect("it closes");
    conversation.close().await.expect("closing twice does no harm");
    assert!(
        sandbox.get("/solution").await.expect("it can be read").is_none(),
        "a solution stands in the sandbox only as long as it runs"
    );
}

/// The delivery is told exactly once and before all else, with the turn and a time of the sandbox.
fn delivered_first(seen: &mut UnboundedReceiver<Observation>, turn: Turn) {
    let mut count = 0;
    let mut last_ms = i64::MIN;
    while let Ok(observation) = seen.try_recv() {
        let (of, at_ms) = match &observation {
            Observation::Delivered { turn, at_ms } => (*turn, *at_ms),
            Observation::AgentSaid { turn, at_ms, .. } => (*turn, *at_ms),
            Observation::AgentActed(activity) => (activity.turn, activity.at_ms),
            other => panic!("a scripted agent does not tell {other:?}"),
        };
        assert_eq!(of, turn);
        assert!(at_ms >= last_ms, "time runs backwards at {observation:?}");
        last_ms = at_ms;
        let is_delivery = matches!(observation, Observation::Delivered { .. });
        assert_eq!(is_delivery, count == 0, "{observation:?} at place {count}");
        count += 1;
    }
    assert!(count > 0, "nothing was told");
}

fn observing(turn: u32, sandbox: Arc<dyn Sandbox>) -> (Observer, UnboundedReceiver<Observation>) {
    let (sender, receiver) = unbounded_channel();
    (Observer::new(Turn(turn), sandbox, sender), receiver)
}

async fn sandbox(clock: Arc<dyn Clock>) -> Arc<dyn Sandbox> {
    let sandboxes = SimulatedSandboxes::new(clock, FaultPlan::default());
    let limits = Limits {
        memory_mb: None,
        processes_max: None,
        disk_mb: None,
        cpus: None,
        gpus: 0,
        network: Network::Off,
    };
    let spec = BaseSpec {
        digest: Hash::new("base"),
        image: Image::None,
        environment: Vec::new(),
        workdir: "/app".to_owned(),
        env: BTreeMap::new(),
        toolchains: Vec::new(),
        setup_timeout: Duration::from_secs(1),
        limits: limits.clone(),
    };
    let base = sandboxes.materialise(&spec).await.expect("an empty base");
    let made = sandboxes.provision(&base, &limits, Recording::Processes).await;
    Arc::from(made.expect("a sandbox"))
}

fn solution() -> Solution {
    let node = FileNode::File(b"write /app/result.txt right\n".to_vec());
    let files = vec![FileEntry { path: "solve.sh".to_owned(), node, mode: 0o644 }];
    Solution { files, env: BTreeMap::new() }
}

fn script(opening: Vec<ScriptStep>) -> Script {
    let block = |when, steps| ScriptBlock { when, steps };
    let rest = vec![ScriptStep::Say("It is done.".to_owned())];
    Script { blocks: vec![block(ScriptWhen::Opening, opening), block(ScriptWhen::Otherwise, rest)] }
}

#[tokio::test]
async fn oracle_keeps_the_contract() {
    let steps = vec![
        ScriptStep::Run("echo hello".to_owned()),
        ScriptStep::Write { path: "notes.md".to_owned(), text: "words\n".to_owned() },
        ScriptStep::Ask("Which format?".to_owned()),
    ];
    check(&ScriptedAgent::of_pair("oracle", script(steps), solution()), false).await;
}

#[tokio::test]
async fn eager_keeps_the_contract() {
    check(&ScriptedAgent::eager(solution()), false).await;
}

#[tokio::test]
async fn nop_keeps_the_contract() {
    check(&ScriptedAgent::nop(), false).await;
}

#[tokio::test]
async fn a_hanging_script_keeps_the_contract() {
    check(&ScriptedAgent::of_script("hangs", script(vec![ScriptStep::Hang])), true).await;
    let sleeps = vec![ScriptStep::Run("sleep 7000".to_owned())];
    check(&ScriptedAgent::of_script("sleeps", script(sleeps)), true).await;
}

/// A pair's script runs the solution in its first turn, or where it has the step `solve`.
#[tokio::test]
async fn the_solution_runs_where_the_script_says() {
    let say = |words: &str| ScriptStep::Say(words.to_owned());
    let waits = Script {
        blocks: vec![
            ScriptBlock { when: ScriptWhen::Opening, steps: vec![say("First a plan.")] },
            ScriptBlock { when: ScriptWhen::Otherwise, steps: vec![ScriptStep::Solve] },
        ],
    };
    for (script, solved_after) in [(script(vec![say("It is done.")]), 1), (waits, 2)] {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
        let agent = ScriptedAgent::of_pair("oracle", script, solution());
        let turns = async {
            let sandbox = sandbox(clock.clone()).await;
            let brief = Brief {
                workdir: "/app".to_owned(),
                user: None,
                skills_dir: None,
                tool_servers: Vec::new(),
                env: BTreeMap::new(),
                model: None,
            };
            let conversation = agent.open(sandbox.clone(), &brief).await.expect("it opens");
            for turn in 1..=2 {
                let (observer, _seen) = observing(turn, sandbox.clone());
                conversation.prompt("Go on.", &observer).await.expect("a turn ends");
                let result = sandbox.get("/app/result.txt").await.expect("it can be read");
                assert_eq!(result.is_some(), turn >= solved_after, "after turn {turn}");
            }
        };
        clock.drive(Box::pin(turns)).await;
    }
}
