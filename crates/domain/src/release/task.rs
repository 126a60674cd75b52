//! The native task as far as the session machine and the plan need it ([`Task`]).

use alloc::{collections::BTreeMap, string::String};

use crate::ids::TaskId;

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
}
