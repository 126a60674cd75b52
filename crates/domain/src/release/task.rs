//! The native task as far as the session machine and the plan need it ([`Task`]): what it asks of each phase, and its
//! parts if it has several ([`Step`]).

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use super::{EnvTable, Environment, Healthcheck, Network, Recipe};
use crate::ids::{StepId, TaskId};

/// A native task: statement, limits and environment class. Its files stay with the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id: the folder's name.
    pub id: TaskId,
    /// The instruction, canary lines stripped.
    pub statement: String,
    /// The package that it was published as.
    pub package: Option<Package>,
    /// Where it was taken from, in its author's words.
    pub source: Option<String>,
    /// Where the agent works.
    pub environment: Environment,
    /// What it says of the agent's work.
    pub agent: AgentPhase,
    /// What it says of its verification.
    pub verifier: VerifierPhase,
    /// Environment variables of the reference solution.
    pub solution_env: EnvTable,
    /// Paths that are kept beside the result, in declared order.
    pub artifacts: Vec<Artifact>,
    /// Its steps in order, each with an instruction and a verification of its own; empty means that
    /// the statement is all there is.
    pub steps: Vec<Step>,
    /// How the rewards of its steps make the reward of the task.
    pub reward_strategy: RewardStrategy,
}

/// One step of a task that has several: what the user asks for next, in the same sandbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name: the folder below `steps/`.
    pub name: StepId,
    /// Its instruction, canary lines stripped.
    pub statement: String,
    /// The agent's time limit for it in seconds; none means the task's.
    pub agent_timeout_sec: Option<f64>,
    /// What it says of its verification.
    pub verifier: StepVerifierPhase,
    /// The least reward by key with which the session goes on; a key without a reward falls short
    /// of every number.
    pub min_reward: BTreeMap<String, f64>,
    /// What must be so before the agent works on it.
    pub healthcheck: Option<Healthcheck>,
    /// Paths that are kept beside its result, after the task's.
    pub artifacts: Vec<Artifact>,
    /// What is put into the working directory before it.
    pub placed: StepPlaced,
}

/// What a step says of its verification; what it leaves open is as the task has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepVerifierPhase {
    /// The time limit in seconds; none means the task's.
    pub timeout_sec: Option<f64>,
    /// Environment variables, laid over the task's.
    pub env: EnvTable,
    /// Who runs the tests; none means the task's.
    pub user: Option<String>,
    /// What they may reach; none means what the task's may.
    pub network: Option<Network>,
    /// Where they run; none means where the task's do.
    pub environment: Option<VerifierEnvironment>,
    /// Commands that are run after the task's before artifacts are taken, in order.
    pub collect: Vec<CollectHook>,
    /// What its `tests/` holds to make an environment from.
    pub recipes: BTreeSet<Recipe>,
}

/// What a step brings along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepPlaced {
    /// Nothing.
    #[default]
    Nothing,
    /// The files of its `workdir/`.
    Files,
    /// The files of its `workdir/`, and their `setup.sh` is run there.
    FilesAndSetup,
}

/// How the rewards of steps make the reward of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RewardStrategy {
    /// Key by key the mean over all declared steps; what has no reward counts 0.
    #[default]
    Mean,
    /// That of the last declared step.
    Final,
}

/// The name under which a task was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// `organisation/name`.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// What a task says of the agent's work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentPhase {
    /// The native time limit in seconds; none if the task has none.
    pub timeout_sec: Option<f64>,
    /// Who the agent is inside; none means whom the image names.
    pub user: Option<String>,
    /// What it may reach; none means what the environment may.
    pub network: Option<Network>,
}

/// What a task says of its verification.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifierPhase {
    /// The native time limit in seconds.
    pub timeout_sec: f64,
    /// Environment variables.
    pub env: EnvTable,
    /// Who runs the tests inside; none means whom the image names.
    pub user: Option<String>,
    /// What they may reach; none means what the environment may.
    pub network: Option<Network>,
    /// Where they run.
    pub environment: VerifierEnvironment,
    /// Commands that are run before artifacts are taken, in order.
    pub collect: Vec<CollectHook>,
    /// What `tests/` holds to make an environment from.
    pub recipes: BTreeSet<Recipe>,
}

/// Where a verifier runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum VerifierEnvironment {
    /// In the environment that the agent worked in.
    #[default]
    Shared,
    /// In one of its own, into which artifacts alone are carried.
    Separate {
        /// What the task declares of it; none means as the agent's, made from `tests/`.
        declared: Option<Box<Environment>>,
    },
}

/// A command that is run in the agent's environment before artifacts are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectHook {
    /// A shell's command line.
    pub command: String,
    /// The service in which it runs.
    pub service: String,
    /// Its time limit in seconds.
    pub timeout_sec: f64,
    /// Who runs it; none means whom the image names.
    pub user: Option<String>,
}

/// A path that is kept beside the result, and carried into a separate verifier environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The path inside, absolute or below the working directory.
    pub source: String,
    /// Where it is kept, below the artifacts' folder; none means by its absolute path.
    pub destination: Option<String>,
    /// Globs of what is left out.
    pub exclude: Vec<String>,
    /// The service that holds it.
    pub service: String,
}

/// The service that agent and verifier run in.
pub const MAIN_SERVICE: &str = "main";

impl Task {
    /// A task that says nothing but what is to be done.
    pub fn new(id: TaskId, statement: impl Into<String>) -> Self {
        Self {
            id,
            statement: statement.into(),
            package: None,
            source: None,
            environment: Environment::default(),
            agent: AgentPhase::default(),
            verifier: VerifierPhase::default(),
            solution_env: EnvTable::default(),
            artifacts: Vec::new(),
            steps: Vec::new(),
            reward_strategy: RewardStrategy::default(),
        }
    }

    /// What the agent may reach while it works.
    pub fn agent_network(&self) -> &Network {
        self.agent.network.as_ref().unwrap_or(&self.environment.network)
    }
}

impl Step {
    /// Whether anything is to be done in the sandbox before it is asked for.
    pub fn is_prepared(&self) -> bool {
        self.placed != StepPlaced::Nothing || self.healthcheck.is_some()
    }

    /// A step that says nothing but what is to be done.
    pub fn new(name: StepId, statement: impl Into<String>) -> Self {
        Self {
            name,
            statement: statement.into(),
            agent_timeout_sec: None,
            verifier: StepVerifierPhase::default(),
            min_reward: BTreeMap::new(),
            healthcheck: None,
            artifacts: Vec::new(),
            placed: StepPlaced::Nothing,
        }
    }
}

impl VerifierPhase {
    /// Seconds that a verification takes at the most where a task says nothing.
    pub const TIMEOUT_SEC: f64 = 600.0;
}

impl Default for VerifierPhase {
    fn default() -> Self {
        Self {
            timeout_sec: Self::TIMEOUT_SEC,
            env: EnvTable::default(),
            user: None,
            network: None,
            environment: VerifierEnvironment::Shared,
            collect: Vec::new(),
            recipes: BTreeSet::new(),
        }
    }
}
