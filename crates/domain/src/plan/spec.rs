//! What a plan is made of: arm, configuration, the benchmark's side and the decided sessions
//! ([`Plan`]).

use alloc::{string::String, vec::Vec};

use crate::ids::{AgentName, Hash, PairId, ReleaseId, Repeat};

/// Version of controller, checks, session note and prompts; two rows compare only with equal
/// protocol.
pub const PROTOCOL: u32 = 1;

/// What an arm changes; the machine is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arm {
    /// Requirements emerge turn by turn.
    #[default]
    Progressive,
    /// Every requirement is told in the first message.
    Opening,
    /// A neutral user without requirements.
    NoPersona,
    /// As `NoPersona`, with content-free requests to check once more.
    NeutralTurns,
}

impl Arm {
    /// All arms.
    pub const ALL: [Arm; 4] = [Arm::Progressive, Arm::Opening, Arm::NoPersona, Arm::NeutralTurns];

    /// The name that stands on the command line, in files and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Arm::Progressive => "progressive",
            Arm::Opening => "opening",
            Arm::NoPersona => "no-persona",
            Arm::NeutralTurns => "neutral-turns",
        }
    }

    /// The arm of that name.
    pub fn parse(name: &str) -> Option<Arm> {
        Arm::ALL.into_iter().find(|arm| arm.name() == name)
    }

    /// Whether personalization is graded.
    pub fn has_persona(self) -> bool {
        matches!(self, Arm::Progressive | Arm::Opening)
    }
}

/// Agent, model, effort and settings as asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Configuration {
    /// The agent: a built-in name or the path of a script.
    pub agent: AgentName,
    /// The model if one was named.
    pub model: Option<String>,
    /// The effort if one was named; unset is not "none".
    pub effort: Option<String>,
    /// Further settings in order of their keys.
    pub settings: Vec<(String, String)>,
}

/// Who words the user's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UserKind {
    /// The pure template.
    #[default]
    Template,
    /// A language model, reviewed.
    Model,
    /// A person, reviewed.
    Human,
}

impl UserKind {
    /// The name that stands on the command line, in files and in reports.
    pub fn name(self) -> &'static str {
        match self {
            UserKind::Template => "template",
            UserKind::Model => "model",
            UserKind::Human => "human",
        }
    }
}

/// The benchmark's own side of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkSide {
    /// Who words.
    pub user: UserKind,
    /// Name of the sandbox kind: `simulated`, `local`, `docker`.
    pub sandbox: String,
    /// Multiplies seconds, tokens and cost, never turns or patience: 1, 2 or 3.
    pub budget_multiplier: u32,
    /// Replaces the agent time of every pair before the multiplier; makes a custom row.
    pub interaction_limit_sec: Option<u64>,
    /// Sessions at once.
    pub jobs: u32,
}

/// A whole run, decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The release.
    pub release: ReleaseId,
    /// Its version.
    pub release_version: String,
    /// Its digest.
    pub digest: Hash,
    /// Whether it was locked.
    pub locked: bool,
    /// The configuration asked for.
    pub configuration: Configuration,
    /// The arm.
    pub arm: Arm,
    /// The benchmark's side.
    pub side: BenchmarkSide,
    /// Seed of all drawing.
    pub seed: u64,
    /// Planned repeats of each pair.
    pub repeats: u32,
    /// Every assigned repeat in order of pair and repeat, those of excluded pairs included: the
    /// denominator.
    pub specs: Vec<SessionSpec>,
    /// Pairs that the arm excludes; they are never run and stay in the denominator.
    pub excluded: Vec<PairId>,
}

/// One assigned repeat, decided: what execution still needs beside the release.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionSpec {
    /// The pair.
    pub pair: PairId,
    /// Which repeat.
    pub repeat: Repeat,
    /// Drawn once; utterances are chosen by it.
    pub draw: u64,
    /// Budgets and watchdogs, multiplied and resolved.
    pub limits: SessionLimits,
    /// Agent time of each step of a task that has several, multiplied.
    pub steps_agent_ms: Vec<u64>,
}

/// Numbers that end a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Turns.
    pub turns_max: u32,
    /// Agent time of the whole session.
    pub agent_time_ms: u64,
    /// Wall time of the interaction: agent time + 3,600 s, and what verifying and placing steps
    /// may take.
    pub wall_time_ms: u64,
    /// Tokens.
    pub tokens_max: Option<u64>,
    /// Cost in millionths of a US dollar.
    pub cost_microusd_max: Option<u64>,
    /// Preparation watchdog: 7,200 s.
    pub preparation_ms: u64,
    /// Verification watchdog: max(900, verifier timeout + 600) s.
    pub verification_ms: u64,
}
