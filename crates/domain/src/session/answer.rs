//! What came back of a command: [`Answer`]; it must match the open command.

use alloc::{string::String, vec::Vec};

use crate::{
    acceptance::Reading,
    fault::{Ending, Flag},
    ids::{CheckId, Hash, TopicId},
};

/// The answer to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To `PrepareSandbox`.
    SandboxReady,
    /// To `OpenAgent`: the agent's own name and version if it told one.
    AgentOpened {
        /// Name and version.
        identity: String,
    },
    /// To `Word`.
    Worded {
        /// The text.
        text: String,
        /// Who worded it.
        by: Wordsmith,
        /// Recorded model exchange.
        exchange: Option<Hash>,
    },
    /// To `Prompt`: the agent returned control.
    TurnEnded {
        /// How.
        stop: TurnStop,
        /// Agent time of the turn.
        agent_ms: u64,
    },
    /// To `AnswerPermission`.
    PermissionAnswered,
    /// To `BlockWire`.
    WireBlocked,
    /// To `Interrupt`.
    Interrupted,
    /// To `Freeze`.
    Frozen,
    /// To `Capture`.
    Captured {
        /// Hash of the manifest's blob.
        manifest: Hash,
        /// Paths that changed since the capture before.
        changed: u32,
        /// Programs started since the capture before.
        processes: u32,
        /// More events than the cap.
        overflow: bool,
        /// A limit of the sandbox was breached; which, in words.
        limit_hit: Option<String>,
        /// Share of the declared processors that the agent got while it wanted them, in percent, if
        /// counted.
        cpu_share_percent: Option<u32>,
    },
    /// To `Interpret`: a label for each open question about no known topic, in order.
    Interpreted {
        /// Labels.
        topics: Vec<Option<TopicId>>,
    },
    /// To `Check`.
    Read {
        /// Readings in the order of the request.
        readings: Vec<(CheckId, Reading)>,
    },
    /// To `VerifyStep`.
    StepVerified {
        /// What the verifier left.
        report: CompletionReport,
        /// Interpreter, loader, runner or test configuration that the agent left otherwise than
        /// base and steps have them.
        verifier_tools_changed: Vec<String>,
    },
    /// To `PlaceStep`.
    StepPlaced {
        /// Hash of the blob of the manifest that the next turn begins with.
        manifest: Hash,
        /// Paths that changed by it.
        changed: u32,
    },
    /// To `Seal`.
    Sealed {
        /// Digest of the sealed state.
        digest: Hash,
        /// Interpreter, loader, runner or test configuration that differ from the base, and from
        /// what steps brought along.
        verifier_tools_changed: Vec<String>,
    },
    /// To `VerifyCompletion`.
    CompletionVerified(CompletionReport),
    /// To `End`.
    Closed,
    /// The command could not be carried out for a reason that the flag's owner answers for.
    Failed {
        /// The reason.
        flag: Flag,
        /// How the session ends by it; none if it can go on (verification).
        ending: Option<Ending>,
        /// In words.
        detail: String,
    },
}

/// Who worded a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wordsmith {
    /// The pure template.
    Template,
    /// A model.
    Model,
    /// A person.
    Human,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TurnStop {
    /// The agent returned control.
    Finished,
    /// It was interrupted.
    Interrupted,
    /// Its model refused.
    Refused,
    /// It crashed by its own fault.
    Crashed,
    /// The deadline of the turn passed.
    DeadlinePassed,
    /// A limit of the sandbox ended it.
    LimitBreached,
}

/// What the native verifier left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionReport {
    /// The outcome.
    pub outcome: CompletionOutcome,
    /// Time that it took.
    pub took_ms: u64,
    /// Blob of the verifier's output.
    pub output: Option<Hash>,
    /// Blob of what was kept beside the result; none if the task left nothing there.
    pub artifacts: Option<Hash>,
    /// Programs that ran beside the tests; none if these ran where nothing of the agent could.
    pub survivors: Option<Vec<String>>,
}

/// Four ways not to pass that are told apart, and the rewards.
#[derive(Clone, Debug, PartialEq)]
pub enum CompletionOutcome {
    /// Rewards by key, all finite.
    Rewards(Vec<(String, f64)>),
    /// No reward file.
    NoReward,
    /// A reward file that cannot be read as one; why.
    BadReward(String),
    /// Both reward files, and they contradict each other.
    Contradictory(String),
    /// The verifier's time ran out.
    TimedOut,
}
