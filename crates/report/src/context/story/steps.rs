//! The steps of a session whose task has several: what each asked for and what its verifier left ([`StepStory`]).

use domain::{
    release::{RewardStrategy, Step},
    session::{Answer, Command, CompletionOutcome, CompletionReport, Event, Scenario},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ArtifactStory, StorySources, artifacts::artifacts};
use crate::context::words;

/// One step of a task that has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepStory {
    /// Its name.
    pub step: String,
    /// The least rewards with which the session goes on after it; absent if any will do.
    pub least: Option<String>,
    /// The rewards, why there are none, or that it was not reached.
    pub outcome: String,
    /// How long its verification took; absent if it was not verified.
    pub took_ms: Option<u64>,
    /// What its verifier printed.
    pub output: Option<String>,
    /// Where that lies, as a path within the run's folder.
    pub output_place: Option<String>,
    /// What was kept beside its result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactStory>,
    /// File and line of what its verifier left.
    pub line: Option<String>,
}

/// Each step in order.
pub(super) fn steps(sources: &StorySources<'_>) -> Vec<StepStory> {
    let steps = &sources.scenario.steps;
    let mut told: Vec<StepStory> = steps.iter().map(not_reached).collect();
    let mut turn = 0;
    for (at, entry) in sources.entries.iter().enumerate() {
        let report = match &entry.event {
            Event::Decided(_, Command::Prompt { turn: opened, .. }) => {
                turn = opened.0 as usize;
                if let Some(step) = told.get_mut(turn.saturating_sub(1)) {
                    step.outcome = "not verified".to_owned();
                }
                continue;
            }
            Event::Answered(_, Answer::StepVerified { report, .. }) => report,
            Event::Answered(_, Answer::CompletionVerified(report)) => report,
            _ => continue,
        };
        if let Some(step) = told.get_mut(turn.saturating_sub(1)) {
            verified(step, report, sources);
            step.line = Some(sources.places.line(at));
        }
    }
    told
}

/// How the rewards of the steps make the task's, in words; none if the task has no steps.
pub(super) fn together(scenario: &Scenario) -> Option<String> {
    let count = scenario.steps.len();
    match (count, scenario.reward_strategy) {
        (0, _) => None,
        (_, RewardStrategy::Mean) => Some(format!("mean of all {count} steps")),
        (_, RewardStrategy::Final) => Some(format!("the last of {count} steps")),
    }
}

/// What a step's verifier left, as an event between two turns.
pub(super) fn verified_words(outcome: &CompletionOutcome) -> String {
    format!("the step was verified on a copy: {}", words::completion(outcome))
}

fn not_reached(step: &Step) -> StepStory {
    let least = step.min_reward.iter().map(|(key, least)| format!("{key} of at least {least}"));
    let least = least.collect::<Vec<_>>().join(", ");
    StepStory {
        step: step.name.to_string(),
        least: (!least.is_empty()).then_some(least),
        outcome: "not reached".to_owned(),
        took_ms: None,
        output: None,
        output_place: None,
        artifacts: Vec::new(),
        line: None,
    }
}

fn verified(step: &mut StepStory, report: &CompletionReport, sources: &StorySources<'_>) {
    let CompletionReport { outcome, took_ms, output, .. } = report;
    let bytes = output.as_ref().and_then(|hash| sources.payloads.bytes(hash));
    step.outcome = words::completion(outcome);
    step.took_ms = Some(*took_ms);
    step.output = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    step.artifacts = artifacts(report, sources);
    step.output_place = output.as_ref().and_then(|hash| sources.payloads.place(hash));
}
