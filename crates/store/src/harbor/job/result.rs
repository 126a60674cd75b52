//! What came of it, as Harbor writes it: [`JobResult`] and [`TrialResult`]. What is unknown is absent.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{TrialConfig, trajectory::is_none};

/// Rewards by key.
pub type Rewards = BTreeMap<String, f64>;

/// `result.json` of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobResult {
    /// Its id.
    pub id: String,
    /// When the run began.
    pub started_at: String,
    /// When the last of its sessions ended.
    #[serde(skip_serializing_if = "is_none")]
    pub updated_at: Option<String>,
    /// The same, once nothing is left to be done.
    #[serde(skip_serializing_if = "is_none")]
    pub finished_at: Option<String>,
    /// Assigned repeats.
    pub n_total_trials: u32,
    /// Figures by Harbor's rules.
    pub stats: JobStats,
}

/// Figures of a job by Harbor's rules: a retried trial is counted once, as its last try.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JobStats {
    /// Trials that have a result.
    pub n_completed_trials: u32,
    /// Those of them with an exception.
    pub n_errored_trials: u32,
    /// Trials at work.
    pub n_running_trials: u32,
    /// Trials that never ran.
    pub n_pending_trials: u32,
    /// Trials that the operator stopped.
    pub n_cancelled_trials: u32,
    /// Tries that are not counted.
    pub n_retries: u32,
    /// By `agent__model__dataset`.
    pub evals: BTreeMap<String, EvalStats>,
    /// Known cost in US dollars.
    #[serde(skip_serializing_if = "is_none")]
    pub cost_usd: Option<f64>,
}

/// Figures of one agent on one dataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EvalStats {
    /// Trials with a reward.
    pub n_trials: u32,
    /// Trials with an exception.
    pub n_errors: u32,
    /// The mean over all that have a result; what has no reward counts 0.
    pub metrics: Vec<BTreeMap<String, f64>>,
    /// Chance that one of k tries succeeds, by k.
    pub pass_at_k: BTreeMap<u32, f64>,
    /// Names of trials by reward key and value.
    pub reward_stats: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Names of trials by type of exception.
    pub exception_stats: BTreeMap<String, Vec<String>>,
}

/// `result.json` of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialResult {
    /// Its id.
    pub id: String,
    /// The pair.
    pub task_name: String,
    /// Its folder's name.
    pub trial_name: String,
    /// Where the session lies within the run.
    pub trial_uri: String,
    /// The pair.
    pub task_id: LocalTask,
    /// The release.
    pub source: String,
    /// The release's digest.
    pub task_checksum: String,
    /// What was asked for.
    pub config: TrialConfig,
    /// Who worked.
    pub agent_info: AgentInfo,
    /// What it used.
    pub agent_result: AgentContext,
    /// The native verifier's rewards, where they count.
    #[serde(skip_serializing_if = "is_none")]
    pub verifier_result: Option<VerifierResult>,
    /// What went wrong.
    #[serde(skip_serializing_if = "is_none")]
    pub exception_info: Option<ExceptionInfo>,
    /// When the attempt began.
    #[serde(skip_serializing_if = "is_none")]
    pub started_at: Option<String>,
    /// When its log ends.
    #[serde(skip_serializing_if = "is_none")]
    pub finished_at: Option<String>,
    /// Making the sandbox.
    #[serde(skip_serializing_if = "is_none")]
    pub environment_setup: Option<Timing>,
    /// Starting the agent.
    #[serde(skip_serializing_if = "is_none")]
    pub agent_setup: Option<Timing>,
    /// From the first message to the end of the last turn.
    #[serde(skip_serializing_if = "is_none")]
    pub agent_execution: Option<Timing>,
    /// The native verifier.
    #[serde(skip_serializing_if = "is_none")]
    pub verifier: Option<Timing>,
    /// Each step of a task that has several, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub step_results: Vec<StepResult>,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepResult {
    /// Its name.
    pub step_name: String,
    /// The native verifier's rewards after it, where they count.
    #[serde(skip_serializing_if = "is_none")]
    pub verifier_result: Option<VerifierResult>,
    /// Why its verifier left no reward.
    #[serde(skip_serializing_if = "is_none")]
    pub exception_info: Option<ExceptionInfo>,
}

/// A task that lies in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalTask {
    /// The folder.
    pub path: String,
}

/// Who worked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// Its version, `unknown` if it told none.
    pub version: String,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "is_none")]
    pub model_info: Option<ModelInfo>,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// Its name without provider.
    pub name: String,
    /// Its provider.
    #[serde(skip_serializing_if = "is_none")]
    pub provider: Option<String>,
}

/// What the agent used. Token counts are the gateway's, and absent unless all of them are known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentContext {
    /// All input, cached input included.
    #[serde(skip_serializing_if = "is_none")]
    pub n_input_tokens: Option<u64>,
    /// The part of the input that was read from a cache.
    #[serde(skip_serializing_if = "is_none")]
    pub n_cache_tokens: Option<u64>,
    /// All output, reasoning included.
    #[serde(skip_serializing_if = "is_none")]
    pub n_output_tokens: Option<u64>,
    /// Cost in US dollars, if all of it is known.
    #[serde(skip_serializing_if = "is_none")]
    pub cost_usd: Option<f64>,
    /// What we say beside.
    pub metadata: Value,
}

/// Rewards that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerifierResult {
    /// By key.
    pub rewards: Rewards,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExceptionInfo {
    /// A name of Harbor's where one fits; ours begin with `Pcb`.
    pub exception_type: String,
    /// Whose it is, and what happened.
    pub exception_message: String,
    /// Nothing: nothing was thrown.
    pub exception_traceback: String,
    /// When the session ended.
    pub occurred_at: String,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// When it began.
    pub started_at: String,
    /// When it ended; absent if it did not.
    #[serde(skip_serializing_if = "is_none")]
    pub finished_at: Option<String>,
}
