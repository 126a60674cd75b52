//! One persona on one task ([`Pair`]) and the whole [`Release`].

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{
    Check, Counterexample, Fact, PermissionEntry, PermissionTable, Persona, Requirement, Task,
    Topic,
};
use crate::ids::{CheckId, Hash, PairId, PersonaId, ReleaseId, RequirementId, SuiteId, TaskId};

/// One persona on one task: the unit of assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Its id: the folder's name.
    pub id: PairId,
    /// The suite that it counts under.
    pub suite: SuiteId,
    /// The persona.
    pub persona: PersonaId,
    /// The task.
    pub task: TaskId,
    /// What a machine must have to run it.
    pub needs: Vec<Need>,
    /// The declared budget; what is none follows from the task and the requirements.
    pub budget: Budget,
    /// When the task counts as completed.
    pub completion: CompletionRule,
    /// Where it can run.
    pub environment: PairEnvironment,
    /// Permissions that lie over the persona's.
    pub permissions: Vec<PermissionEntry>,
    /// Topics that lie over the persona's.
    pub topics: Vec<Topic>,
    /// Facts that lie over the persona's.
    pub knows: Vec<Fact>,
    /// Named checks.
    pub checks: Vec<Check>,
    /// Requirements in declared order.
    pub requirements: Vec<Requirement>,
    /// Scripts that must fail one requirement each, by kind and requirement.
    pub counterexamples: Vec<Counterexample>,
}

/// Something that a machine must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A container image.
    Image,
    /// A Docker engine.
    Docker,
    /// Root.
    Root,
    /// A network.
    Network,
}

/// Declared limits of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Turns; default 4 + 2 × requirements.
    pub turns: Option<u32>,
    /// Agent time in seconds; default the task's (3,600 if none) × (1 + 0.2 × requirements).
    pub agent_time_sec: Option<f64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Cost in millionths of a US dollar.
    pub cost_microusd: Option<u64>,
}

/// When the native reward counts as completed.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletionRule {
    /// Key of the reward.
    pub key: String,
    /// The least value.
    pub at_least: f64,
    /// Where the verifier runs.
    pub verify: VerifyMode,
    /// Paths that are laid over the pristine base for a fresh verification.
    pub paths: Vec<String>,
}

/// Where the native verifier runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VerifyMode {
    /// In a fresh sandbox over the sealed paths.
    #[default]
    Fresh,
    /// In place, with the agent's processes dead and the network cut.
    Live,
}

impl VerifyMode {
    /// Its word in files.
    pub const fn name(self) -> &'static str {
        match self {
            VerifyMode::Fresh => "fresh",
            VerifyMode::Live => "live",
        }
    }
}

/// Where a pair can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairEnvironment {
    /// Sandboxes by name: `local`, `docker`.
    pub sandboxes: Vec<String>,
    /// Host toolchains with their least version, for instance `python3 >= 3.11`.
    pub host: Vec<String>,
}

/// A named, versioned set of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// Its id.
    pub id: ReleaseId,
    /// Its version.
    pub version: String,
    /// The canary string that stands in its files.
    pub canary: String,
    /// Digest over all its files.
    pub digest: Hash,
    /// Whether the lock was present and agreed.
    pub locked: bool,
    /// Personas by id.
    pub personas: BTreeMap<PersonaId, Persona>,
    /// Tasks by id.
    pub tasks: BTreeMap<TaskId, Task>,
    /// Pairs by id.
    pub pairs: BTreeMap<PairId, Pair>,
}

impl Pair {
    /// A check by its name.
    pub fn check(&self, id: &CheckId) -> Option<&Check> {
        self.checks.iter().find(|check| &check.id == id)
    }

    /// A requirement by its id.
    pub fn requirement(&self, id: &RequirementId) -> Option<&Requirement> {
        self.requirements.iter().find(|requirement| &requirement.id == id)
    }
}

/// The persona's permissions with the pair's laid over them.
pub fn merged_permissions(persona: &Persona, pair: &Pair) -> PermissionTable {
    let mut table = persona.permissions.clone();
    for entry in &pair.permissions {
        table.entries.retain(|old| old.class != entry.class);
        table.entries.push(entry.clone());
    }
    table
}

/// The persona's topics with the pair's laid over them.
pub fn merged_topics(persona: &Persona, pair: &Pair) -> Vec<Topic> {
    let mut topics = persona.topics.clone();
    for topic in &pair.topics {
        topics.retain(|old| old.id != topic.id);
        topics.push(topic.clone());
    }
    topics
}

/// The persona's facts with the pair's laid over them.
pub fn merged_facts(persona: &Persona, pair: &Pair) -> Vec<Fact> {
    let mut facts = persona.knows.clone();
    for fact in &pair.knows {
        facts.retain(|old| old.topic != fact.topic);
        facts.push(fact.clone());
    }
    facts
}
