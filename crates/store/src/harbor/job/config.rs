//! What was asked for, as Harbor writes it: [`JobConfig`] and [`TrialConfig`]. Keys that are absent have Harbor's defaults.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// `config.json` of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobConfig {
    /// Its name.
    pub job_name: String,
    /// Tries at each task: planned repeats.
    pub n_attempts: u32,
    /// Sessions at once.
    pub n_concurrent_trials: u32,
    /// Factor on the agent's time.
    pub agent_timeout_multiplier: f64,
    /// Where sessions run.
    pub environment: EnvironmentConfig,
    /// The one agent.
    pub agents: Vec<AgentConfig>,
    /// The release.
    pub datasets: Vec<DatasetConfig>,
}

/// What Harbor calls a dataset is the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatasetConfig {
    /// Its name, as that of a folder.
    pub path: String,
}

/// `config.json` of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialConfig {
    /// What is to be done.
    pub task: TaskConfig,
    /// The trial's name, which is its folder's.
    pub trial_name: String,
    /// See [`JobConfig::agent_timeout_multiplier`].
    pub agent_timeout_multiplier: f64,
    /// By whom.
    pub agent: AgentConfig,
    /// Where.
    pub environment: EnvironmentConfig,
    /// The job's id.
    pub job_id: String,
}

/// What Harbor calls a task is its unit of assignment, and so a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskConfig {
    /// The pair's folder within the release.
    pub path: String,
    /// The release.
    pub source: String,
}

/// The agent as asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentConfig {
    /// Its name.
    pub name: String,
    /// `provider/model`, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// Effort and settings.
    pub kwargs: BTreeMap<String, Value>,
}

/// Where sessions run: a kind that Harbor has, or the name of one that it has not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvironmentConfig {
    /// Harbor's kind.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Stands for a kind of ours; nothing can be imported from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_path: Option<String>,
}

impl EnvironmentConfig {
    /// The sandbox of that name.
    pub fn of_sandbox(name: &str) -> Self {
        match name {
            "docker" | "podman" => Self { kind: Some(name.to_owned()), import_path: None },
            other => Self { kind: None, import_path: Some(format!("personacodebench:{other}")) },
        }
    }
}
