//! Written forms of a plan: what a run was asked for, and each assigned repeat.

use super::{
    wire::wire,
    words::{Arm, UserKind},
};

wire! {
    /// Agent, model, effort and settings as asked for.
    struct Configuration = domain::plan::Configuration {
        /// The agent: a built-in name or the path of a script.
        agent: String,
        /// The model if one was named.
        model: Option<String>,
        /// The effort if one was named; unset is not "none".
        effort: Option<String>,
        /// Further settings in order of their keys.
        settings: Vec<(String, String)>,
    }

    /// The benchmark's own side of a run.
    struct BenchmarkSide = domain::plan::BenchmarkSide {
        /// Who words.
        user: UserKind,
        /// Name of the sandbox kind: `simulated`, `local`, `docker`.
        sandbox: String,
        /// Multiplies seconds, tokens and cost, never turns or patience: 1, 2 or 3.
        budget_multiplier: u32,
        /// Replaces the agent time of every pair before the multiplier; makes a custom row.
        interaction_limit_sec: Option<u64>,
        /// Sessions at once.
        jobs: u32,
    }

    /// One assigned repeat, decided: what execution still needs beside the release.
    struct SessionSpec = domain::plan::SessionSpec {
        /// The pair.
        pair: String,
        /// Which repeat.
        repeat: u32,
        /// Drawn once; utterances are chosen by it.
        draw: u64,
        /// Budgets and watchdogs, multiplied and resolved.
        limits: SessionLimits,
        /// Agent time of each step of a task that has several, multiplied.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps_agent_ms: Vec<u64>,
    }

    /// Numbers that end a session.
    struct SessionLimits = domain::plan::SessionLimits {
        /// Turns.
        turns_max: u32,
        /// Agent time of the whole session.
        agent_time_ms: u64,
        /// Wall time of the interaction: agent time + 3,600 s, and what verifying and placing steps may
        /// take.
        wall_time_ms: u64,
        /// Tokens.
        tokens_max: Option<u64>,
        /// Cost in millionths of a US dollar.
        cost_microusd_max: Option<u64>,
        /// Preparation watchdog: 7,200 s.
        preparation_ms: u64,
        /// Verification watchdog: max(900, verifier timeout + 600) s.
        verification_ms: u64,
    }
}

/// Everything of a plan but its specs, which stand in a file of their own.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanHead {
    /// Id of the release.
    pub(crate) release: String,
    /// Its version.
    pub(crate) release_version: String,
    /// BLAKE3 over the lines of its lock.
    pub(crate) digest: String,
    /// Whether it was locked.
    pub(crate) locked: bool,
    /// The agent as asked for.
    pub(crate) configuration: Configuration,
    /// What was varied about the user.
    pub(crate) arm: Arm,
    /// The benchmark's side.
    pub(crate) side: BenchmarkSide,
    /// Seed of all drawing.
    pub(crate) seed: u64,
    /// Planned repeats of each pair.
    pub(crate) repeats: u32,
    /// Pairs that the arm leaves out; they count all the same.
    pub(crate) excluded: Vec<String>,
}
