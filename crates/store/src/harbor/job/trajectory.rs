//! A conversation in the Agent Trajectory Interchange Format ([`Trajectory`]), version 1.8. The format knows no key beside
//! its own but `extra`; what is unknown is absent.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The version that is written.
pub const VERSION: &str = "ATIF-v1.8";

/// One conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trajectory {
    /// [`VERSION`].
    pub schema_version: String,
    /// The attempt's id.
    pub session_id: String,
    /// The same: one document tells one attempt.
    pub trajectory_id: String,
    /// Who worked.
    pub agent: Agent,
    /// At least one, numbered from 1 without gaps.
    pub steps: Vec<Step>,
    /// For people.
    #[serde(skip_serializing_if = "is_none")]
    pub notes: Option<String>,
    /// Sums.
    pub final_metrics: FinalMetrics,
    /// What we say beside.
    pub extra: Extra,
}

/// Who worked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its version, `unknown` if it told none.
    pub version: String,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "is_none")]
    pub model_name: Option<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// From 1.
    pub step_id: u32,
    /// When it began.
    #[serde(skip_serializing_if = "is_none")]
    pub timestamp: Option<String>,
    /// Whose it is.
    pub source: Source,
    /// What was said.
    pub message: String,
    /// What the agent thought aloud before.
    #[serde(skip_serializing_if = "is_none")]
    pub reasoning_content: Option<String>,
    /// Tools that the agent said it used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What the tools gave back, as the agent tells it.
    #[serde(skip_serializing_if = "is_none")]
    pub observation: Option<ToolResults>,
    /// What was used.
    #[serde(skip_serializing_if = "is_none")]
    pub metrics: Option<Metrics>,
    /// What we say beside.
    pub extra: Extra,
}

/// Whose a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Nobody's in the conversation.
    System,
    /// The user's.
    User,
    /// The agent's.
    Agent,
}

/// One use of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCall {
    /// Unique in the document.
    pub tool_call_id: String,
    /// The tool or command in short, as the agent names it.
    pub function_name: String,
    /// Empty where the agent told none.
    pub arguments: BTreeMap<String, Value>,
    /// What we say beside.
    pub extra: Extra,
}

/// What the tools of a step gave back.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolResults {
    /// In the order in which they came back.
    pub results: Vec<ToolResult>,
}

/// What one tool gave back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolResult {
    /// The call's id in this step.
    pub source_call_id: String,
    /// What it gave back; empty if nothing was told.
    pub content: String,
}

/// What a step used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// All input, cached input included; absent unless all of it is known.
    #[serde(skip_serializing_if = "is_none")]
    pub prompt_tokens: Option<u64>,
    /// All output, reasoning included; absent unless all of it is known.
    #[serde(skip_serializing_if = "is_none")]
    pub completion_tokens: Option<u64>,
    /// The part of the input that was read from a cache.
    #[serde(skip_serializing_if = "is_none")]
    pub cached_tokens: Option<u64>,
    /// In US dollars, if all of it is known.
    #[serde(skip_serializing_if = "is_none")]
    pub cost_usd: Option<f64>,
    /// What we say beside.
    pub extra: Extra,
}

/// Sums.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FinalMetrics {
    /// All input, cached input included; absent unless all of it is known.
    #[serde(skip_serializing_if = "is_none")]
    pub total_prompt_tokens: Option<u64>,
    /// All output, reasoning included; absent unless all of it is known.
    #[serde(skip_serializing_if = "is_none")]
    pub total_completion_tokens: Option<u64>,
    /// The part of the input that was read from a cache.
    #[serde(skip_serializing_if = "is_none")]
    pub total_cached_tokens: Option<u64>,
    /// In US dollars, if all of it is known.
    #[serde(skip_serializing_if = "is_none")]
    pub total_cost_usd: Option<f64>,
    /// Steps of the document.
    pub total_steps: u32,
    /// What we say beside.
    pub extra: Extra,
}

/// Everything of ours under one key, so that nobody else's is met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Extra {
    /// In the shape that `pcb schema` prints.
    pub pcb: Value,
}

pub(super) fn is_none<T>(value: &Option<T>) -> bool {
    value.is_none()
}
