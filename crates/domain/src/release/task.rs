//! The native task as far as the session machine and the plan need it ([`Task`]), and its parts if it has several
//! ([`Step`]).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use crate::ids::{StepId, TaskId};

/// A native task: statement, limits and environment class. Its files stay with the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id: the folder's name.
    pub id: TaskId,
    /// The instruction, canary lines stripped.
    pub statement: String,
    /// Absolute working directory inside the sandbox.
    pub workdir: String,
    /// Environment variables of the sandbox.
    pub env: BTreeMap<String, String>,
    /// The native agent time limit in seconds; none if the task has none.
    pub agent_timeout_sec: Option<f64>,
    /// The native verifier's time limit in seconds.
    pub verifier_timeout_sec: f64,
    /// Environment variables of the verifier.
    pub verifier_env: BTreeMap<String, String>,
    /// Time limit of the environment's setup in seconds.
    pub build_timeout_sec: f64,
    /// Processors.
    pub cpus: f64,
    /// Memory in MiB.
    pub memory_mb: Option<u64>,
    /// Disk in MiB.
    pub storage_mb: Option<u64>,
    /// Environment variables of the reference solution.
    pub solution_env: BTreeMap<String, String>,
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
    /// The verifier's time limit for it in seconds; none means the task's.
    pub verifier_timeout_sec: Option<f64>,
    /// Environment variables of its verifier, laid over the task's.
    pub verifier_env: BTreeMap<String, String>,
    /// Who runs its verifier; none means the task's.
    pub verifier_user: Option<String>,
    /// The least reward by key with which the session goes on; a key without a reward falls short
    /// of every number.
    pub min_reward: BTreeMap<String, f64>,
    /// What is put into the working directory before it.
    pub placed: StepPlaced,
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
