//! Written forms of a plan: what a run was asked for, and each assigned repeat.

use super::{
    wire::wire,
    words::{Arm, UserKind},
};

wire! {
    struct Configuration = domain::plan::Configuration {
        agent: String,
        model: Option<String>,
        effort: Option<String>,
        settings: Vec<(String, String)>,
    }

    struct BenchmarkSide = domain::plan::BenchmarkSide {
        user: UserKind,
        sandbox: String,
        budget_multiplier: u32,
        interaction_limit_sec: Option<u64>,
        jobs: u32,
    }

    struct SessionSpec = domain::plan::SessionSpec {
        pair: String,
        repeat: u32,
        draw: u64,
        limits: SessionLimits,
    }

    struct SessionLimits = domain::plan::SessionLimits {
        turns_max: u32,
        agent_time_ms: u64,
        wall_time_ms: u64,
        tokens_max: Option<u64>,
        cost_microusd_max: Option<u64>,
        preparation_ms: u64,
        verification_ms: u64,
    }
}

/// Everything of a plan but its specs, which stand in a file of their own.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanHead {
    pub(crate) release: String,
    pub(crate) release_version: String,
    pub(crate) digest: String,
    pub(crate) locked: bool,
    pub(crate) configuration: Configuration,
    pub(crate) arm: Arm,
    pub(crate) side: BenchmarkSide,
    pub(crate) seed: u64,
    pub(crate) repeats: u32,
    pub(crate) excluded: Vec<String>,
}
