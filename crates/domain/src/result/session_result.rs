//! What one attempt came to ([`SessionResult`]), requirement by requirement, with its one [`Class`]
//! of the census.

use alloc::{string::String, vec::Vec};

use crate::{
    fault::{Ending, Flag, Owner, Remedy, Weight},
    ids::{Attempt, FamilyId, PairId, PersonaId, Repeat, RequirementId, StepId, SuiteId, Turn},
    release::Area,
    session::CompletionOutcome,
    verdict::{Outcome, Verdict},
};

/// What one attempt came to; derived, never stored as truth.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionResult {
    /// The pair.
    pub pair: PairId,
    /// The suite it counts under.
    pub suite: SuiteId,
    /// Who spoke: the pair's persona, or the neutral one.
    pub persona: PersonaId,
    /// Family of the pair's persona.
    pub family: FamilyId,
    /// Which repeat.
    pub repeat: Repeat,
    /// Which attempt.
    pub attempt: Attempt,
    /// How it ended.
    pub ending: Ending,
    /// Flags with a word on each, in order of their table.
    pub flags: Vec<(Flag, String)>,
    /// What the native verifier left; of a task that has steps, what their rewards come to. None if
    /// it did not run.
    pub completion: Option<CompletionOutcome>,
    /// Each step of a task that has several, in order.
    pub steps: Vec<StepResult>,
    /// Programs that ran beside the tests; none if these ran where nothing of the agent could.
    pub survivors: Option<Vec<String>>,
    /// Whether the task counts as completed; none if ungraded.
    pub completed: Option<bool>,
    /// Whether every mandatory requirement passed; none if ungraded or the arm has no persona.
    pub personalized: Option<bool>,
    /// Whether the declared budget was kept.
    pub within_budget: bool,
    /// Whether no flag counts, whoever owns it.
    pub valid: bool,
    /// All of it; none where the arm has no persona.
    pub joint: Option<bool>,
    /// Its one class of the census.
    pub class: Class,
    /// Each requirement.
    pub requirements: Vec<RequirementResult>,
    /// Load of the interaction.
    pub load: Load,
}

impl SessionResult {
    /// The flags that take validity away. One that merely leaves a requirement undecided counts
    /// only if that decides the joint pass: some mandatory requirement is undecided, no other one
    /// failed, and completion passed or is unknown.
    pub fn counting_flags(&self) -> impl Iterator<Item = Flag> + '_ {
        let decisive = self.undecided_decides();
        self.flags.iter().map(|(flag, _)| *flag).filter(move |flag| match flag.weight() {
            Weight::Always => true,
            Weight::IfDecisive => decisive,
        })
    }

    /// What happens next: the greatest remedy of the flags that count.
    pub fn remedy(&self) -> Remedy {
        self.counting_flags().map(Flag::remedy).max().unwrap_or(Remedy::Score)
    }

    /// Whether a flag of the simulator counts.
    pub fn has_simulator_fault(&self) -> bool {
        self.counting_flags().any(|flag| flag.owner() == Owner::Simulator)
    }

    fn undecided_decides(&self) -> bool {
        self.completed != Some(false) && mandatory_undecided(&self.requirements)
    }
}

/// Whether some mandatory requirement is undecided and none failed, so that personalization is
/// open.
pub(super) fn mandatory_undecided(requirements: &[RequirementResult]) -> bool {
    let mut mandatory = requirements.iter().filter(|requirement| requirement.mandatory);
    let is_open = |outcome: Outcome| matches!(outcome, Outcome::Undecided(_));
    mandatory.clone().any(|requirement| is_open(requirement.outcome))
        && mandatory.all(|requirement| {
            requirement.outcome == Outcome::Passed || is_open(requirement.outcome)
        })
}

/// What became of one step of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// Which.
    pub step: StepId,
    /// What its verifier left; none if it was not reached or could not be verified.
    pub outcome: Option<CompletionOutcome>,
}

/// What became of one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementResult {
    /// Which.
    pub id: RequirementId,
    /// Its area.
    pub area: Area,
    /// Whether personalization needs it.
    pub mandatory: bool,
    /// The turn that its telling opened.
    pub delivered: Option<Turn>,
    /// Corrections delivered.
    pub corrections: u32,
    /// Verdicts at the turns at which it was looked at after its telling.
    pub online: Vec<(Turn, Verdict)>,
    /// Verdict at the seal.
    pub sealed: Option<Verdict>,
    /// Final.
    pub outcome: Outcome,
    /// Checks that read otherwise at the last turn than at the seal.
    pub disagreements: u32,
}

/// The one class of the census that a repeat is in; the first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Never executed.
    NotRun,
    /// A fault of the world.
    Infra,
    /// A fault of harness, simulator or judge.
    Invalid,
    /// An agent's flag disqualifies it.
    Disqualified,
    /// Completed, personalized, within budget, valid. Without persona: completed, within budget,
    /// valid.
    JointPass,
    /// A budget was exceeded.
    OverBudget,
    /// The agent stopped by itself before the hand-off was accepted, and did not pass.
    AgentStopped,
    /// A mandatory requirement could not be decided.
    Undecided,
    /// Completed only.
    CompletionOnly,
    /// Personalized only.
    PersonalizationOnly,
    /// Neither. Without persona: not completed.
    Neither,
}

impl Class {
    /// All classes in the order of the census.
    pub const ALL: [Class; 11] = [
        Class::NotRun,
        Class::Infra,
        Class::Invalid,
        Class::Disqualified,
        Class::JointPass,
        Class::OverBudget,
        Class::AgentStopped,
        Class::Undecided,
        Class::CompletionOnly,
        Class::PersonalizationOnly,
        Class::Neither,
    ];

    /// Whether the session counts in conditional tables: it ran, and no flag takes it away.
    pub fn is_graded(self) -> bool {
        !self.is_lost_by_others() && self != Class::Disqualified
    }

    /// Whether the repeat was lost without the agent's doing.
    pub fn is_lost_by_others(self) -> bool {
        matches!(self, Class::NotRun | Class::Infra | Class::Invalid)
    }

    /// The name that stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::NotRun => "not run",
            Class::Infra => "infra",
            Class::Invalid => "invalid",
            Class::Disqualified => "disqualified",
            Class::JointPass => "joint pass",
            Class::OverBudget => "over budget",
            Class::AgentStopped => "agent stopped",
            Class::Undecided => "undecided",
            Class::CompletionOnly => "completion only",
            Class::PersonalizationOnly => "personalization only",
            Class::Neither => "neither",
        }
    }
}

/// Load of the interaction and resources used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Turns that the agent ended.
    pub turns: u32,
    /// Agent time in milliseconds.
    pub agent_ms: u64,
    /// Tokens; none if nobody counted.
    pub tokens: Option<u64>,
    /// Known cost in millionths of a US dollar.
    pub cost_microusd: Option<u64>,
    /// Reports of use without a price.
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
    /// Permission requests, in words or inside turns.
    pub permission_requests: u32,
    /// Those of them that were made inside a turn, by an agent that waits for the answer.
    pub requests_inside: u32,
    /// Words that the user had to read.
    pub words_read: u32,
    /// Wordings that came from the template after rejected tries.
    pub template_fallbacks: u32,
}

impl Load {
    /// Adds another session's load; what nobody counted there adds nothing here.
    pub fn add(&mut self, other: &Load) {
        self.turns += other.turns;
        self.agent_ms += other.agent_ms;
        self.tokens = sum(self.tokens, other.tokens);
        self.cost_microusd = sum(self.cost_microusd, other.cost_microusd);
        self.unpriced += other.unpriced;
        self.delivered += other.delivered;
        self.corrections += other.corrections;
        self.refusals += other.refusals;
        self.nudges += other.nudges;
        self.questions += other.questions;
        self.permission_requests += other.permission_requests;
        self.requests_inside += other.requests_inside;
        self.words_read += other.words_read;
        self.template_fallbacks += other.template_fallbacks;
    }
}

fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (None, None) => None,
        _ => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
    }
}
