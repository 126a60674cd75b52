//! What an export says beside Harbor's own keys: [`SessionExtra`] of a conversation, [`StepExtra`] of its steps,
//! [`JobFacts`] of the job. Its version is [`EXTRA_FORMAT`].

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::{
    model_use::{ModelStory, ModelUse},
    story::{EventStory, FlagStory, LaneStep, RanProgram, ReachedHost, ReadingStory},
};

/// The version of this shape; keys may be added to it.
pub const EXTRA_FORMAT: u32 = 1;

/// Who an export is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Those who may know the release.
    #[default]
    Full,
    /// Anybody: what was never told to an agent is left out.
    Public,
}

/// `extra.pcb` of a trajectory: what the session was and came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SessionExtra {
    /// [`EXTRA_FORMAT`].
    pub format: u32,
    /// Who it is for.
    pub audience: Audience,
    /// The pair.
    pub pair: String,
    /// Which repeat.
    pub repeat: u32,
    /// Which attempt.
    pub attempt: u32,
    /// Whether it is the attempt that is scored.
    pub scored: bool,
    /// The native task.
    pub task: String,
    /// The suite.
    pub suite: String,
    /// Who spoke.
    pub persona: String,
    /// Who that is, in one line.
    pub role: String,
    /// The arm.
    pub arm: String,
    /// Who worded.
    pub user: String,
    /// The attempt's log, as a path within the run's folder.
    pub log: String,
    /// Why the log was not read to its end or is not to be trusted; absent if it was and is.
    pub log_fault: Option<String>,
    /// How the session ended.
    pub ending: String,
    /// Who answers for that.
    pub ending_owner: String,
    /// Its class of the census.
    pub class: String,
    /// Whether the task counts as completed; absent if ungraded.
    pub completed: Option<bool>,
    /// Whether every mandatory requirement passed; absent if ungraded or without persona.
    pub personalized: Option<bool>,
    /// All of it; absent without persona.
    pub joint: Option<bool>,
    /// Its field of completion × personalization: `both`, `completed_only`, `personalized_only`, `neither`; absent where
    /// one of them is.
    pub two_by_two: Option<String>,
    /// Whether the budget was kept.
    pub within_budget: bool,
    /// Whether no flag counts.
    pub valid: bool,
    /// Validity flags.
    pub flags: Vec<FlagStory>,
    /// What the native verifier left, in words; absent if it did not run.
    pub completion: Option<String>,
    /// What the pair asks of it.
    pub completion_rule: String,
    /// The way of each requirement from hidden to verdict.
    pub requirements: Vec<RequirementExtra>,
    /// What the checks read at the seal.
    pub seal: Vec<ReadingStory>,
    /// The user's words on work that was taken: stored, never sent.
    pub closing_words: Option<String>,
    /// What it took.
    pub load: LoadExtra,
    /// What the agent asked of its model, by the gateway; absent if it had none or asked nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_use: Option<ModelUse>,
}

/// What a session took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadExtra {
    /// Turns that the agent ended, and how many it could have had.
    pub turns: u32,
    /// See `turns`.
    pub turns_max: u32,
    /// Agent time.
    pub agent_ms: u64,
    /// Agent time allowed.
    pub agent_max_ms: u64,
    /// Tokens of all kinds together; absent if nobody counted.
    pub tokens: Option<u64>,
    /// Known cost in millionths of a US dollar.
    pub cost_microusd: Option<u64>,
    /// Reports of use without a price: with one the cost is a lower bound.
    pub unpriced: u32,
    /// Requirements delivered.
    pub delivered: u32,
    /// Corrections delivered.
    pub corrections: u32,
    /// Hand-offs refused.
    pub refusals: u32,
    /// Nudges.
    pub nudges: u32,
    /// Open questions of the agent.
    pub questions: u32,
    /// Permission requests.
    pub permission_requests: u32,
    /// Words that the user had to read.
    pub words_read: u32,
}

/// One requirement of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequirementExtra {
    /// Which.
    pub id: String,
    /// Its area.
    pub area: String,
    /// Whether personalization needs it.
    pub mandatory: bool,
    /// Its public text. This key and the next five are absent from a public export if it was never told.
    pub text: Option<String>,
    /// Why this person wants it.
    pub because: Option<String>,
    /// When it is told.
    pub told_when: Option<String>,
    /// When it is met.
    pub met_if: Option<String>,
    /// What must hold for it to apply; absent if it always does.
    pub applies_if: Option<String>,
    /// Checks that its acceptance rests on.
    pub checks: Option<Vec<String>>,
    /// The turn that its telling opened.
    pub delivered: Option<u32>,
    /// Corrections delivered.
    pub corrections: u32,
    /// Its state at the start, at the end of each turn, and at the seal.
    pub lane: Vec<Moment>,
    /// Its verdict at the seal; absent if it was never told or nothing was sealed.
    pub sealed: Option<String>,
    /// What became of it.
    pub outcome: String,
}

/// A requirement at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Moment {
    /// `start`, `turn 3` or `seal`.
    pub moment: String,
    /// What happened or stood then, in order.
    pub steps: Vec<LaneStep>,
}

/// `extra.pcb` of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct StepExtra {
    /// The turn that it is part of; 0 before the first.
    pub turn: u32,
    /// File and line of the run where it begins.
    pub line: Option<String>,
    /// What the user's message conveys; on the step that opens a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageExtra>,
    /// What the turn came to; on the last step of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_end: Option<TurnEndExtra>,
}

/// What a message of the user conveys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MessageExtra {
    /// Whether it reached the agent: what did not was never disclosed, and is no step of the user.
    pub delivered: bool,
    /// Who worded it.
    pub worded_by: Option<String>,
    /// What it does, in the order in which it is said.
    pub acts: Vec<ActExtra>,
    /// Permissions that it gave.
    pub granted: Vec<String>,
    /// Its text if it did not reach the agent; absent from a public export if it tells a requirement.
    pub undelivered_text: Option<String>,
}

/// One act of speech.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActExtra {
    /// `open`, `grant`, `refuse`, `answer`, `defer`, `dont_know`, `correct`, `tell`, `acknowledge`, `nudge`,
    /// `check_again` or `continue`.
    pub act: String,
    /// The requirement that it tells or corrects.
    pub requirement: Option<String>,
    /// The class of action that it grants or refuses.
    pub class: Option<String>,
    /// What it answers about.
    pub topic: Option<String>,
    /// How precise a correction is.
    pub level: Option<String>,
}

/// What a turn came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnEndExtra {
    /// How it ended and what it was taken for; absent if it did not come to an end.
    pub ended: Option<String>,
    /// Agent time.
    pub agent_ms: Option<u64>,
    /// Classes of action that the agent asked for.
    pub asked_for: Vec<String>,
    /// Permission requests, flags, watchdogs.
    pub events: Vec<EventStory>,
    /// What the agent asked of its model, by the gateway; absent if it asked nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelStory>,
    /// Programs that were run, whether or not the agent told of them.
    pub programs: Vec<RanProgram>,
    /// How many more.
    pub programs_more: usize,
    /// What they tried to reach over the network.
    pub reached: Vec<ReachedHost>,
    /// How many more.
    pub reached_more: usize,
    /// Files that changed, git's own aside.
    pub changed: Vec<ChangedPath>,
    /// How many more.
    pub changed_more: usize,
    /// Files of git's own that changed.
    pub changed_git: usize,
    /// What the checks read.
    pub readings: Vec<ReadingStory>,
    /// Where each requirement stands.
    pub requirements: Vec<RequirementMoment>,
}

/// A file that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedPath {
    /// Created, modified, deleted.
    pub what: String,
    /// Absolute path inside the sandbox.
    pub path: String,
}

/// Where a requirement stands at the end of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequirementMoment {
    /// Which.
    pub id: String,
    /// What happened or stood then, in order.
    pub steps: Vec<LaneStep>,
}

/// `job` of the marker `pcb.json`: the run by our own rules.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobFacts {
    /// [`EXTRA_FORMAT`].
    pub format: u32,
    /// Who the export is for.
    pub audience: Audience,
    /// The program that ran the run.
    pub tool: String,
    /// The protocol.
    pub protocol: u32,
    /// The run's folder, with the group's before it.
    pub run: String,
    /// The release.
    pub release: String,
    /// Its version.
    pub release_version: String,
    /// Its digest.
    pub digest: String,
    /// Whether it was locked.
    pub locked: bool,
    /// The arm.
    pub arm: String,
    /// The agent, model and effort asked for.
    pub configuration: String,
    /// Who words.
    pub user: String,
    /// Kind of sandbox.
    pub sandbox: String,
    /// Assigned repeats: the denominator of every rate.
    pub assigned: u32,
    /// Assigned repeats by class; they add up to `assigned`.
    pub census: Vec<ClassCount>,
    /// Completed.
    pub completed: u32,
    /// Personalized; absent without persona.
    pub personalized: Option<u32>,
    /// Joint passes; absent without persona.
    pub joint: Option<u32>,
    /// Completion × personalization over graded sessions.
    pub two_by_two: TwoByTwoCount,
    /// Every assigned repeat.
    pub repeats: Vec<RepeatFacts>,
}

/// A class of the census.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClassCount {
    /// Its name.
    pub class: String,
    /// Assigned repeats in it.
    pub count: u32,
}

/// Completion × personalization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TwoByTwoCount {
    /// Both.
    pub both: u32,
    /// Completed only.
    pub completed_only: u32,
    /// Personalized only.
    pub personalized_only: u32,
    /// Neither.
    pub neither: u32,
}

/// An assigned repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RepeatFacts {
    /// The pair.
    pub pair: String,
    /// Which repeat.
    pub repeat: u32,
    /// Its class of the census.
    pub class: String,
    /// Its attempts in order, or the one trial that says that it never ran.
    pub trials: Vec<TrialFacts>,
}

/// A trial of a repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrialFacts {
    /// Its folder.
    pub trial: String,
    /// Whether it is the one that is scored.
    pub scored: bool,
    /// Why it has no result: `not run`, `excluded by the arm` or `still running`; absent if it has one.
    pub without_result: Option<String>,
}
