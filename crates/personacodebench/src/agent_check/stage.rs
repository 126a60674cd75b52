//! A sandbox with its wire, a gateway to a scripted model and an agent in it ([`Stage`]), driven turn by turn without a benchmark
//! around it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use adapters::{
    models::{
        patience::Patience,
        provider::Provider,
        scripted::{ModelScript, ScriptedModel, Served},
    },
    wire::{
        Egress,
        gateway::{Bounds, Gateway, ModelGateways},
    },
};
use domain::{
    evidence::{Manifest, ModelCall, WireFormat},
    ids::Turn,
    release::Policy,
    session::{Observation, TurnStop},
    usage::PriceTable,
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Observer},
    gateway::{self, GatewayTerms, Gateways as _, HostedPolicy, PORT},
    sandbox::{
        Base, CommandSpec, FileNode, Finished, Limits, Recording, Sandbox, SandboxFault, Sandboxes,
    },
    wire::{InnerPort, Wire, Wires as _},
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A turn may take so long; slow agents need ten seconds.
const TURN_MAX: Duration = Duration::from_secs(120);

/// An agent that is asked to stop has so long, as in a session.
const STOP_MAX: Duration = Duration::from_secs(10);

/// Updates that are older than the end of a turn arrive within this.
const LATE: Duration = Duration::from_millis(300);

/// The model that the agent is told to use; nobody knows it, so nobody has tools of its own for it.
const MODEL: &str = "scripted";

/// An agent at work.
pub(super) struct Stage {
    sandbox: Arc<dyn Sandbox>,
    wire: Box<dyn Wire>,
    gateway: Arc<dyn gateway::Gateway>,
    model: Arc<ScriptedModel>,
    conversation: Box<dyn Conversation>,
    before: Manifest,
    workdir: String,
    turns: u32,
    calls: Vec<ModelCall>,
}

/// When a turn is stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// When it takes too long.
    Late,
    /// As soon as it uses a tool.
    Busy,
    /// After so long.
    After(Duration),
}

/// What a turn was.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// How it ended; none if it did not, even when asked to.
    pub stop: Option<TurnStop>,
    /// The agent's words.
    pub said: String,
    /// Requests for permission, with what they were about.
    pub asked: Vec<String>,
    /// Tool calls that were told.
    pub acted: u32,
    /// Tokens that the agent says it used.
    pub claimed: Option<u64>,
    /// What the driver noted.
    pub noted: String,
    /// From asking it to stop until it did.
    pub stop_ms: Option<u128>,
}

impl Stage {
    /// Opens an agent in a new sandbox.
    pub(super) async fn open(
        sandboxes: &dyn Sandboxes,
        base: &Base,
        limits: &Limits,
        agent: &dyn Agent,
        form: WireFormat,
        script: &str,
    ) -> Result<Self, AgentFault> {
        let made = sandboxes.provision(base, limits, Recording::Processes).await?;
        let sandbox: Arc<dyn Sandbox> = Arc::from(made);
        let script = ModelScript::parse(script).expect("a script of our own is whole");
        let model = Arc::new(ScriptedModel::new(script));
        let (gateway, access) = gateway_to(&model, form, sandbox.clone());
        let (streams, mut arrived) = unbounded_channel();
        let serving = gateway.clone();
        // Ends with the wire, which holds the other end.
        tokio::spawn(async move {
            while let Some(arrival) = arrived.recv().await {
                let arrival: engine::ports::sandbox::ArrivedStream = arrival;
                serving.serve(arrival.stream);
            }
        });
        let inner = vec![InnerPort { port: PORT, streams }];
        let wire = Egress.open(sandbox.as_ref(), &[Policy::Nothing], inner).await?;
        prepare(sandbox.as_ref()).await?;
        let before = manifest(sandbox.as_ref()).await?;
        let brief = Brief {
            workdir: base.workdir.clone(),
            user: None,
            skills_dir: None,
            tool_servers: Vec::new(),
            env: wire.env(),
            model: Some(access),
        };
        let conversation = agent.open(sandbox.clone(), &brief).await?;
        let workdir = base.workdir.clone();
        let calls = Vec::new();
        Ok(Self { sandbox, wire, gateway, model, conversation, before, workdir, turns: 0, calls })
    }

    /// The agent's name and version, if it tells them.
    pub(super) fn told_name(&self) -> Option<String> {
        self.conversation.told_name()
    }

    /// One turn; permission requests are answered so.
    pub(super) async fn turn(
        &mut self,
        message: &str,
        allow: bool,
        stopped: Stopped,
    ) -> Result<Seen, AgentFault> {
        self.turns += 1;
        let turn = Turn(self.turns);
        self.gateway.begin(turn);
        let (sender, mut heard) = unbounded_channel();
        let observer = Observer::new(turn, self.sandbox.clone(), sender);
        let mut seen = Seen::default();
        let deadline = tokio::time::sleep(match stopped {
            Stopped::After(time) => time,
            Stopped::Late | Stopped::Busy => TURN_MAX,
        });
        tokio::pin!(deadline);
        let work = self.conversation.prompt(message, &observer);
        tokio::pin!(work);
        let stop = loop {
            tokio::select! {
                stop = &mut work => break Some(stop?),
                Some(observation) = heard.recv() => {
                    seen.take(&observation);
                    if let Observation::PermissionRequested(permission) = &observation {
                        self.conversation.answer_permission(permission.request, allow).await?;
                    }
                    if stopped == Stopped::Busy && seen.acted > 0 {
                        break None;
                    }
                }
                () = &mut deadline => break None,
            }
        };
        seen.stop = match stop {
            Some(stop) => Some(stop),
            None => {
                let began = std::time::Instant::now();
                self.conversation.interrupt().await?;
                let came = tokio::time::timeout(STOP_MAX, &mut work).await;
                seen.stop_ms = Some(began.elapsed().as_millis());
                came.ok().transpose()?
            }
        };
        drain(&mut heard, &mut seen).await;
        self.calls.extend(self.gateway.take());
        Ok(seen)
    }

    /// A file of the workspace as text; empty if there is none.
    pub(super) async fn read(&self, name: &str) -> Result<String, SandboxFault> {
        let read = self.sandbox.get(&format!("{}/{name}", self.workdir)).await?;
        let node = read.and_then(|mut entries| entries.pop()).map(|entry| entry.node);
        Ok(match node {
            Some(FileNode::File(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            _ => String::new(),
        })
    }

    /// Paths that are not as they were before the agent was opened, the named files of the workspace aside.
    pub(super) async fn traces(&self, expected: &[&str]) -> Result<Vec<String>, SandboxFault> {
        let now = manifest(self.sandbox.as_ref()).await?;
        let is_expected = |path: &str| {
            let below = path.strip_prefix(self.workdir.as_str()).unwrap_or(path);
            expected.contains(&below.trim_start_matches('/'))
        };
        let is_as_before = |path: &str, entry| {
            self.before.entries.get(path).is_some_and(|old| old.same_content(entry))
        };
        let traces = now
            .entries
            .iter()
            .filter(|(path, entry)| !is_expected(path) && !is_as_before(path, *entry));
        Ok(traces.map(|(path, _)| path.clone()).collect())
    }

    /// The calls of the model so far, and what the model told of them.
    pub(super) fn calls(&self) -> (&[ModelCall], Served) {
        (&self.calls, self.model.served())
    }

    /// Ends the agent; how many processes are left of it.
    pub(super) async fn close(self) -> Result<u32, AgentFault> {
        self.conversation.close().await?;
        self.sandbox.freeze().await?;
        let alive = self.sandbox.capture(Turn(self.turns)).await?.alive;
        self.wire.close().await;
        self.sandbox.end().await?;
        Ok(alive)
    }
}

impl Seen {
    fn take(&mut self, observation: &Observation) {
        match observation {
            Observation::AgentSaid { text, .. } => self.said.push_str(text),
            Observation::AgentActed(_) => self.acted += 1,
            Observation::PermissionRequested(permission) => {
                self.asked.push(permission.subject.clone().unwrap_or_default());
            }
            Observation::UseClaimed(claim) => {
                let told = [claim.input, claim.output];
                let total: u64 = told.into_iter().flatten().sum();
                self.claimed = Some(self.claimed.unwrap_or(0) + total);
            }
            Observation::DriverNoted { text, .. } => self.noted.push_str(text),
            _ => {}
        }
    }
}

async fn drain(heard: &mut UnboundedReceiver<Observation>, seen: &mut Seen) {
    while let Ok(Some(observation)) = tokio::time::timeout(LATE, heard.recv()).await {
        seen.take(&observation);
    }
}

fn gateway_to(
    model: &Arc<ScriptedModel>,
    form: WireFormat,
    sandbox: Arc<dyn Sandbox>,
) -> (Arc<dyn gateway::Gateway>, gateway::ModelAccess) {
    let provider: Arc<dyn Provider> = model.clone();
    let gateway = Gateway {
        providers: BTreeMap::from([(form, provider)]),
        patience: Patience::default(),
        bounds: Bounds::default(),
        prices: PriceTable { prices: Vec::new() },
    };
    let terms = GatewayTerms {
        hosted: HostedPolicy::Shut,
        clock: Arc::new(move || sandbox.now_ms()),
        keep: None,
        heard: Arc::new(|_| {}),
    };
    ModelGateways::new(gateway, Some(MODEL.to_owned())).open(terms)
}

/// A workspace as a person has it: a file, under git where there is git.
async fn prepare(sandbox: &dyn Sandbox) -> Result<(), SandboxFault> {
    let script = "echo '# Notes' > README.md\n\
        command -v git >/dev/null || exit 0\n\
        git init -q && git add -A && \
        git -c user.name=a -c user.email=a@example.org commit -qm first";
    let prepared = run(sandbox, script).await?;
    if !prepared.is_success() {
        let told = String::from_utf8_lossy(&prepared.stderr).into_owned();
        return Err(SandboxFault::Setup(format!("the workspace was not made: {told}")));
    }
    Ok(())
}

async fn run(sandbox: &dyn Sandbox, script: &str) -> Result<Finished, SandboxFault> {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let command = CommandSpec {
        argv,
        cwd: None,
        env: BTreeMap::new(),
        user: None,
        stdin: Vec::new(),
        timeout: Duration::from_secs(60),
        output_max: 4096,
    };
    sandbox.exec(&command).await
}

async fn manifest(sandbox: &dyn Sandbox) -> Result<Manifest, SandboxFault> {
    sandbox.freeze().await?;
    let capture = sandbox.capture(Turn(0)).await;
    sandbox.thaw().await?;
    Ok(capture?.manifest)
}
