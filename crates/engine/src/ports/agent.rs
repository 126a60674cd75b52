//! The agent under test: [`Agent`] opens a [`Conversation`] in a sandbox; what it does meanwhile goes to an [`Observer`].
//!
//! Contract. A conversation lives as long as its session; turns alternate strictly. `prompt` returns when the
//! agent returns control: however that is, it is an outcome ([`TurnStop`]); an [`AgentFault`] means that the
//! world, not the agent, broke. A driver calls [`Observer::delivered`] once the whole message is written and
//! flushed, before anything that follows from it. `interrupt` makes a running `prompt` return soon; the engine
//! drops it if it does not. Dropping a conversation must not leave anything running outside the sandbox.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    evidence::{ChannelSet, Permission},
    fault::Flag,
    ids::{RequestId, Turn},
    release::ActionClass,
    session::{
        Excerpt, Observation, PlanEntry, ToolActivity, ToolKind, ToolOutcome, ToolReturn, TurnStop,
        UseClaim,
    },
};
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;

use super::{
    gateway::ModelAccess,
    sandbox::{Sandbox, SandboxFault},
};

/// Why the world, not the agent, broke a turn or an opening.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AgentFault {
    /// The agent could not be started.
    #[error("agent could not be opened: {0}")]
    NotOpened(String),
    /// The provider of its model failed beyond the retry policy.
    #[error("provider failed: {0}")]
    Provider(String),
    /// The driver's own channel to the agent broke.
    #[error("channel to the agent broke: {0}")]
    Channel(String),
    /// The sandbox broke under it.
    #[error(transparent)]
    Sandbox(#[from] SandboxFault),
}

/// Who an agent is and what its driver gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name and version as the agent tells them.
    pub name: String,
    /// Evidence channels that the driver gives.
    pub channels: ChannelSet,
    /// For how long updates may still arrive after a turn has returned, in milliseconds.
    pub late_updates_ms: u64,
}

/// What an agent is opened with, the sandbox aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Absolute working directory inside the sandbox.
    pub workdir: String,
    /// Who the agent is inside, as Docker writes users; none means the base's own.
    pub user: Option<String>,
    /// Absolute directory inside with skills that the task wants the agent to use; each has a folder of its own.
    pub skills_dir: Option<String>,
    /// Servers of tools that the task wants the agent to use.
    pub tool_servers: Vec<ToolServer>,
    /// Variables for everything that the agent runs: by them it finds the wire.
    pub env: BTreeMap<String, String>,
    /// How it reaches its model; none if the run has no gateway.
    pub model: Option<ModelAccess>,
}

/// A server of tools (Model Context Protocol) as it is reached from inside the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: ToolTransport,
}

/// How a server of tools is reached, with what variables of the host stood for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolTransport {
    /// Server-sent events at an address.
    Sse {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// Streamable HTTP at an address.
    Http {
        /// The address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// The standard streams of a program that the agent starts.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
}

/// What an agent does with the servers of tools that its brief names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolServers {
    /// Its driver hands them over.
    Handed,
    /// It plays what is written down, and calls no tools of its own accord.
    Unneeded,
    /// Its driver has no way to hand them over.
    #[default]
    Refused,
}

/// An agent under test.
#[async_trait::async_trait]
pub trait Agent: Send + Sync {
    /// Who it is; asked before any sandbox exists.
    fn identify(&self) -> Identity;

    /// What it does with servers of tools; a task that names some is not given to an agent that refuses them.
    fn tool_servers(&self) -> ToolServers {
        ToolServers::Refused
    }

    /// Starts it in a sandbox.
    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault>;
}

/// One opened agent.
#[async_trait::async_trait]
pub trait Conversation: Send + Sync {
    /// Name and version as the opened agent tells them; none if it told nothing.
    fn told_name(&self) -> Option<String> {
        None
    }

    /// Delivers a message and lets the agent work until it returns control.
    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault>;

    /// Answers a permission request of the running turn: allow once or reject once. Who asks in words alone makes none.
    async fn answer_permission(&self, request: RequestId, _: bool) -> Result<(), AgentFault> {
        Err(AgentFault::Channel(format!("request {request} was never made")))
    }

    /// Asks the agent to stop the running turn.
    async fn interrupt(&self) -> Result<(), AgentFault>;

    /// Ends the agent's driver and everything it started.
    async fn close(&self) -> Result<(), AgentFault>;
}

/// A tool call as a driver tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The agent's own name of the call, if its return will be told.
    pub id: Option<String>,
    /// The tool or command in short.
    pub title: String,
    /// What kind of tool it is, if the agent says.
    pub kind: Option<ToolKind>,
    /// What the tool was given, as the agent writes it, whole.
    pub input: Option<String>,
}

/// What came of a tool call, as a driver tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The agent's own name of the call.
    pub id: String,
    /// Whether the tool says that it worked.
    pub outcome: ToolOutcome,
    /// What it was given, if that was told only now.
    pub input: Option<String>,
    /// What it gave back, whole.
    pub output: Option<String>,
    /// The exit code of its command, if it ran one and told.
    pub exit_code: Option<i32>,
}

/// Where a driver tells what it sees; stamps each piece with turn and kernel time of the sandbox.
#[derive(Clone)]
pub struct Observer {
    turn: Turn,
    sandbox: Arc<dyn Sandbox>,
    sender: UnboundedSender<Observation>,
}

impl Observer {
    /// An observer of one turn; what it is told arrives at the other end of `sender`.
    pub fn new(
        turn: Turn,
        sandbox: Arc<dyn Sandbox>,
        sender: UnboundedSender<Observation>,
    ) -> Self {
        Self { turn, sandbox, sender }
    }

    /// The turn that is observed.
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// The message is fully written and flushed to the agent.
    pub fn delivered(&self) {
        self.send(Observation::Delivered { turn: self.turn, at_ms: self.sandbox.now_ms() });
    }

    /// The agent wrote a block of text.
    pub fn said(&self, text: impl Into<String>) {
        self.said_at(self.now_ms(), text);
    }

    /// The agent wrote a block of text that was whole at this moment.
    pub fn said_at(&self, at_ms: i64, text: impl Into<String>) {
        self.send(Observation::AgentSaid { turn: self.turn, at_ms, text: text.into() });
    }

    /// Now, on the clock of the sandbox.
    pub fn now_ms(&self) -> i64 {
        self.sandbox.now_ms()
    }

    /// The agent used a tool; `title` says in short which.
    pub fn acted(&self, title: impl Into<String>) {
        self.called(ToolCall { title: title.into(), ..ToolCall::default() });
    }

    /// The agent called a tool.
    pub fn called(&self, call: ToolCall) {
        let ToolCall { id, title, kind, input } = call;
        self.send(Observation::AgentActed(ToolActivity {
            turn: self.turn,
            at_ms: self.now_ms(),
            title,
            call: id,
            kind,
            input: input.map(Excerpt::of),
        }));
    }

    /// A tool that was called came back.
    pub fn returned(&self, result: ToolResult) {
        let ToolResult { id, outcome, input, output, exit_code } = result;
        self.send(Observation::ToolReturned(ToolReturn {
            turn: self.turn,
            at_ms: self.now_ms(),
            call: id,
            outcome,
            input: input.map(Excerpt::of),
            output: output.map(Excerpt::of),
            exit_code,
        }));
    }

    /// The agent thought aloud.
    pub fn thought(&self, text: impl Into<String>) {
        let (at_ms, text) = (self.now_ms(), Excerpt::of(text));
        self.send(Observation::AgentThought { turn: self.turn, at_ms, text });
    }

    /// The agent's plan, whole, as it now is.
    pub fn planned(&self, entries: Vec<PlanEntry>) {
        self.send(Observation::AgentPlanned { turn: self.turn, at_ms: self.now_ms(), entries });
    }

    /// What the agent itself counts; the turn is the observer's. It stays the agent's account: budgets and scores count
    /// what the gateway saw, and a driver has no way to add to that.
    pub fn claims(&self, claim: UseClaim) {
        self.send(Observation::UseClaimed(UseClaim { turn: self.turn, ..claim }));
    }

    /// The agent asks for permission and waits for [`Conversation::answer_permission`].
    pub fn asks(&self, request: RequestId, class: Option<ActionClass>, subject: Option<String>) {
        let at_ms = self.sandbox.now_ms();
        let permission = Permission { request, turn: self.turn, at_ms, class, subject };
        self.send(Observation::PermissionRequested(permission));
    }

    /// What the driver has to say of the agent: how its process ended, an error that it answered with.
    pub fn noted(&self, text: impl Into<String>) {
        let (at_ms, text) = (self.now_ms(), text.into());
        self.send(Observation::DriverNoted { turn: self.turn, at_ms, text });
    }

    /// Something that sets a flag and ends nothing by itself.
    pub fn flagged(&self, flag: Flag, detail: impl Into<String>) {
        self.send(Observation::Flagged { flag, detail: detail.into() });
    }

    fn send(&self, observation: Observation) {
        // The receiver is gone only after the session's end; what comes then has no place any more.
        let _ = self.sender.send(observation);
    }
}
