//! What a run was made with ([`HeaderContext`]), and what rows must share of it to be compared ([`Aspect`]).

use schemars::JsonSchema;
use serde::Serialize;

use super::RunView;

/// The agent that is a person at a terminal.
const PERSON: &str = "human";

/// Release, protocol and benchmark side of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeaderContext {
    /// Id and version of the release.
    pub release: String,
    /// Digest over its files.
    pub digest: String,
    /// Whether it was locked.
    pub locked: bool,
    /// Protocol version.
    pub protocol: u32,
    /// The arm.
    pub arm: String,
    /// Sandbox kind.
    pub sandbox: String,
    /// Who words the user.
    pub user: String,
    /// Budget multiplier.
    pub budget_multiplier: u32,
    /// Pairs of the plan.
    pub pairs: usize,
    /// Planned repeats of each.
    pub repeats: u32,
    /// What the host could not enforce.
    pub shortfalls: Vec<String>,
    /// Class of the environment: root or not, processors, memory. Only compared.
    #[serde(skip)]
    pub environment: String,
    /// Agent time of every pair in seconds, where it was set by hand. Only compared.
    #[serde(skip)]
    pub interaction_limit_sec: Option<u64>,
    /// Whether a person played the agent. Only compared, and told.
    #[serde(skip)]
    pub is_a_person: bool,
}

/// What rows must share to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Digest over the release's files.
    Release,
    /// Whether it was locked.
    Lock,
    /// Protocol version.
    Protocol,
    /// The arm.
    Arm,
    /// Sandbox kind.
    Sandbox,
    /// Class of the environment.
    Environment,
    /// Who words the user.
    User,
    /// Budget multiplier.
    Budget,
    /// Agent time that was set by hand.
    Limit,
    /// Whether an agent played or a person, who is ranked with none.
    Player,
    /// Pairs and planned repeats.
    Assignments,
}

impl Aspect {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 11] = [
        Self::Release,
        Self::Lock,
        Self::Protocol,
        Self::Arm,
        Self::Sandbox,
        Self::Environment,
        Self::User,
        Self::Budget,
        Self::Limit,
        Self::Player,
        Self::Assignments,
    ];

    /// As it stands in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Release => "release digest",
            Self::Lock => "lock",
            Self::Protocol => "protocol",
            Self::Arm => "arm",
            Self::Sandbox => "sandbox",
            Self::Environment => "environment class",
            Self::User => "user",
            Self::Budget => "budget",
            Self::Limit => "interaction limit",
            Self::Player => "who plays, agent or person",
            Self::Assignments => "assignments",
        }
    }
}

impl HeaderContext {
    /// What the run has of it, as text.
    pub(super) fn of(&self, aspect: Aspect) -> String {
        match aspect {
            Aspect::Release => self.digest.clone(),
            Aspect::Lock => if self.locked { "locked" } else { "unlocked" }.to_owned(),
            Aspect::Protocol => self.protocol.to_string(),
            Aspect::Arm => self.arm.clone(),
            Aspect::Sandbox => self.sandbox.clone(),
            Aspect::Environment => self.environment.clone(),
            Aspect::User => self.user.clone(),
            Aspect::Budget => format!("{}x", self.budget_multiplier),
            Aspect::Limit => self
                .interaction_limit_sec
                .map_or_else(|| "the release's".to_owned(), |seconds| format!("{seconds} s")),
            Aspect::Player => if self.is_a_person { "person" } else { "agent" }.to_owned(),
            Aspect::Assignments => format!("{} × {}", self.pairs, self.repeats),
        }
    }
}

/// The header of a run.
pub(super) fn header(run: &RunView<'_>) -> HeaderContext {
    let plan = run.plan;
    let mut pairs: Vec<_> = plan.specs.iter().map(|spec| &spec.pair).collect();
    pairs.dedup();
    HeaderContext {
        release: format!("{} {}", plan.release, plan.release_version),
        digest: plan.digest.to_string(),
        locked: plan.locked,
        protocol: run.protocol,
        arm: plan.arm.name().to_owned(),
        sandbox: plan.side.sandbox.clone(),
        user: plan.side.user.name().to_owned(),
        budget_multiplier: plan.side.budget_multiplier,
        pairs: pairs.len(),
        repeats: plan.repeats,
        shortfalls: run.shortfalls.clone(),
        environment: run.environment.clone(),
        interaction_limit_sec: run.plan.side.interaction_limit_sec,
        is_a_person: run.plan.configuration.agent.as_str() == PERSON,
    }
}
