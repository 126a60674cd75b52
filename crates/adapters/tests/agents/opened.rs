//! An agent that was opened in a sandbox of its own, and what is told of its turns, in short words.

use std::{collections::BTreeMap, sync::Arc, sync::atomic::AtomicU32, time::Duration};

use domain::{
    ids::Turn,
    session::{Observation, PlanState, ToolOutcome, TurnStop},
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Observer, ToolServer},
    gateway::ModelAccess,
    sandbox::{CommandSpec, Sandbox},
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::stage::Stage;

/// An agent in a sandbox of its own.
pub struct Opened {
    pub sandbox: Arc<dyn Sandbox>,
    pub conversation: Box<dyn Conversation>,
    turns: AtomicU32,
    _stage: Arc<Stage>,
}

impl Opened {
    /// The agent, opened in that sandbox.
    pub async fn of(agent: &dyn Agent, stage: Arc<Stage>) -> Result<Self, AgentFault> {
        Self::with(agent, stage, Vec::new(), None).await
    }

    /// The same with servers of tools that it is to use.
    pub async fn with_tool_servers(
        agent: &dyn Agent,
        stage: Arc<Stage>,
        tool_servers: Vec<ToolServer>,
    ) -> Result<Self, AgentFault> {
        Self::with(agent, stage, tool_servers, None).await
    }

    /// The same with a way to a model.
    pub async fn with_model(
        agent: &dyn Agent,
        stage: Arc<Stage>,
        model: Option<ModelAccess>,
    ) -> Result<Self, AgentFault> {
        Self::with(agent, stage, Vec::new(), model).await
    }

    async fn with(
        agent: &dyn Agent,
        stage: Arc<Stage>,
        tool_servers: Vec<ToolServer>,
        model: Option<ModelAccess>,
    ) -> Result<Self, AgentFault> {
        let sandbox = stage.sandbox.clone();
        let brief = Brief {
            workdir: "/app".to_owned(),
            user: None,
            skills_dir: None,
            tool_servers,
            env: BTreeMap::new(),
            model,
        };
        let conversation = agent.open(sandbox.clone(), &brief).await?;
        Ok(Self { sandbox, conversation, turns: 0.into(), _stage: stage })
    }

    /// Waits until every process of the sandbox is gone.
    pub async fn nothing_lives(&self) {
        // A kill is sent, not awaited; what is frozen in between dies when it thaws.
        let mut alive = u32::MAX;
        for _ in 0..50 {
            self.sandbox.freeze().await.expect("it freezes");
            alive = self.sandbox.capture(Turn(1)).await.expect("it is captured").alive;
            self.sandbox.thaw().await.expect("it thaws");
            if alive == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(alive, 0);
    }

    /// Who observes the next turn, and what it will have been told.
    pub fn observer(&self) -> (Observer, UnboundedReceiver<Observation>) {
        let turn = self.turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let (sender, seen) = unbounded_channel();
        (Observer::new(Turn(turn), self.sandbox.clone(), sender), seen)
    }

    /// One turn, and what was seen until late updates can be no more.
    pub async fn turn(&self, message: &str) -> (TurnStop, Vec<String>) {
        let (observer, mut seen) = self.observer();
        let prompt = self.conversation.prompt(message, &observer);
        let stop = tokio::time::timeout(Duration::from_secs(60), prompt).await;
        let stop = stop.expect("the turn ends").expect("nothing of the world broke");
        tokio::time::sleep(Duration::from_millis(400)).await;
        let mut told = Vec::new();
        while let Ok(observation) = seen.try_recv() {
            told.push(words(&observation));
        }
        (stop, told)
    }
}

/// An observation without its times.
pub fn words(observation: &Observation) -> String {
    match observation {
        Observation::Delivered { .. } => "delivered".to_owned(),
        Observation::AgentSaid { text, .. } => format!("said {text}"),
        Observation::AgentThought { text, .. } => format!("thought {}", text.shown),
        Observation::AgentActed(activity) => {
            let kind = activity.kind.map_or("?", |kind| kind.name());
            format!("called {} ({kind})", activity.title)
        }
        Observation::ToolReturned(result) => {
            let input = result.input.as_ref().map_or("", |input| &input.shown);
            let output = result.output.as_ref().map_or("", |output| &output.shown);
            let outcome = match result.outcome {
                ToolOutcome::Completed => "completed",
                ToolOutcome::Failed => "failed",
            };
            format!("{outcome} {input} -> {} {:?}", output.trim(), result.exit_code)
        }
        Observation::AgentPlanned { entries, .. } => {
            let done = entries.iter().filter(|entry| entry.state == PlanState::Done).count();
            format!("planned {} done {done}", entries.len())
        }
        Observation::UseClaimed(claim) => format!("claims {:?} {:?}", claim.input, claim.cached),
        Observation::DriverNoted { text, .. } => format!("noted {text}"),
        Observation::Flagged { flag, .. } => format!("flag {}", flag.name()),
        other => format!("{other:?}"),
    }
}

/// A command for a shell of the sandbox.
pub fn shell(code: &str) -> CommandSpec {
    CommandSpec {
        argv: ["sh", "-c", code].map(str::to_owned).to_vec(),
        cwd: None,
        env: BTreeMap::new(),
        user: None,
        stdin: Vec::new(),
        timeout: Duration::from_secs(20),
        output_max: 1 << 10,
    }
}
