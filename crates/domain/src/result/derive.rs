//! From what a log holds ([`SessionFacts`]) to the formula: completed, personalized, valid, joint,
//! class.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Class, Load, RequirementResult, SessionResult, StepResult, session_result::mandatory_undecided,
};
use crate::{
    evidence::Missing,
    fault::{Effect, Ending, Flag, Owner},
    ids::{Attempt, FamilyId, PairId, PersonaId, Repeat, SuiteId},
    release::CompletionRule,
    session::CompletionOutcome,
    verdict::{Outcome, Verdict},
};

/// Everything that the formula needs to know of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFacts {
    /// The pair.
    pub pair: PairId,
    /// The suite it counts under.
    pub suite: SuiteId,
    /// Who spoke.
    pub persona: PersonaId,
    /// Family of the pair's persona.
    pub family: FamilyId,
    /// Which repeat.
    pub repeat: Repeat,
    /// Which attempt.
    pub attempt: Attempt,
    /// Whether personalization is graded in the arm.
    pub has_persona: bool,
    /// How it ended.
    pub ending: Ending,
    /// Flags that were seen, with a word on each.
    pub flags: Vec<(Flag, String)>,
    /// What the native verifier left; of a task that has steps, what their rewards come to. None if
    /// it did not run to its end.
    pub completion: Option<CompletionOutcome>,
    /// Each step of a task that has several, in order.
    pub steps: Vec<StepResult>,
    /// Programs that ran beside the tests; none if these ran where nothing of the agent could.
    pub survivors: Option<Vec<String>>,
    /// When the task counts as completed.
    pub rule: CompletionRule,
    /// Each requirement; its outcome is derived anew.
    pub requirements: Vec<RequirementResult>,
    /// Load of the interaction.
    pub load: Load,
}

impl SessionFacts {
    /// The result by the published formula.
    pub fn derive(self) -> SessionResult {
        // What is decided otherwise on replay has no verdicts that anybody could derive again.
        let replays = !self.flags.iter().any(|(flag, _)| *flag == Flag::ReplayMismatch);
        let graded = self.ending.is_graded() && replays;
        let mut requirements = self.requirements;
        for requirement in &mut requirements {
            requirement.outcome = outcome(graded, requirement);
        }
        let completed = match &self.completion {
            Some(outcome) if graded => Some(is_completed(outcome, &self.rule)),
            _ => None,
        };
        let personalized = (graded && self.has_persona).then(|| {
            requirements
                .iter()
                .filter(|requirement| requirement.mandatory)
                .all(|requirement| requirement.outcome == Outcome::Passed)
        });
        let flags = flags(self.ending, self.flags, &requirements);
        let within_budget = self.ending.effect() != Effect::GradeOverBudget;
        let mut result = SessionResult {
            pair: self.pair,
            suite: self.suite,
            persona: self.persona,
            family: self.family,
            repeat: self.repeat,
            attempt: self.attempt,
            ending: self.ending,
            flags,
            completion: self.completion,
            steps: self.steps,
            survivors: self.survivors,
            completed,
            personalized,
            within_budget,
            valid: false,
            joint: None,
            class: Class::Neither,
            requirements,
            load: self.load,
        };
        result.valid = result.counting_flags().count() == 0;
        let passed = completed == Some(true)
            && (personalized == Some(true) || !self.has_persona)
            && within_budget
            && result.valid;
        result.joint = self.has_persona.then_some(passed);
        result.class = class(&result, passed, self.has_persona);
        result
    }
}

/// The first class that applies.
fn class(result: &SessionResult, passed: bool, has_persona: bool) -> Class {
    let owned_by =
        |owners: &[Owner]| result.counting_flags().any(|flag| owners.contains(&flag.owner()));
    if owned_by(&[Owner::Infra]) {
        Class::Infra
    } else if owned_by(&[Owner::Harness, Owner::Simulator, Owner::Judge]) {
        Class::Invalid
    } else if owned_by(&[Owner::Agent]) {
        Class::Disqualified
    } else if passed {
        Class::JointPass
    } else if !result.within_budget {
        Class::OverBudget
    } else if !has_persona {
        Class::Neither
    } else if result.ending.owner() == Owner::Agent {
        Class::AgentStopped
    } else if mandatory_undecided(&result.requirements) {
        Class::Undecided
    } else {
        match (result.completed, result.personalized) {
            (Some(true), _) => Class::CompletionOnly,
            (_, Some(true)) => Class::PersonalizationOnly,
            _ => Class::Neither,
        }
    }
}

fn outcome(graded: bool, requirement: &RequirementResult) -> Outcome {
    if !graded {
        return Outcome::NotGraded;
    }
    if requirement.delivered.is_none() {
        return Outcome::NotDelivered;
    }
    match requirement.sealed {
        Some(Verdict::Met) => Outcome::Passed,
        Some(Verdict::Unmet | Verdict::Violated) => Outcome::Failed,
        Some(Verdict::Vacuous) => Outcome::Vacuous,
        Some(Verdict::Undecided(cause)) => Outcome::Undecided(cause),
        None => Outcome::Undecided(Missing::NotLooked),
    }
}

/// Fails closed: a missing, broken or contradictory reward completes nothing.
fn is_completed(outcome: &CompletionOutcome, rule: &CompletionRule) -> bool {
    match outcome {
        CompletionOutcome::Rewards(rewards) => {
            rewards.iter().any(|(key, value)| key == &rule.key && *value >= rule.at_least)
        }
        CompletionOutcome::NoReward
        | CompletionOutcome::BadReward(_)
        | CompletionOutcome::Contradictory(_)
        | CompletionOutcome::TimedOut => false,
    }
}

/// What was seen, what the ending sets, and what the requirements leave open: each flag once, in
/// order.
fn flags(
    ending: Ending,
    seen: Vec<(Flag, String)>,
    requirements: &[RequirementResult],
) -> Vec<(Flag, String)> {
    let mut flags = seen;
    // A base that could not be made is why nothing could be prepared: one cause, counted once.
    let is_explained = ending == Ending::PreparationFailed
        && flags.iter().any(|(flag, _)| *flag == Flag::MaterialiseFailed);
    if let Some(flag) = ending.flag().filter(|_| !is_explained) {
        flags.push((flag, format!("the session ended as {}", ending.name())));
    }
    for requirement in requirements {
        match requirement.outcome {
            Outcome::NotDelivered if ending.is_normal() => {
                flags.push((Flag::NotDelivered, requirement.id.to_string()));
            }
            Outcome::Undecided(cause) if requirement.mandatory => {
                flags.push((undecided_flag(cause), requirement.id.to_string()));
            }
            _ => {}
        }
    }
    flags.sort_by_key(|(flag, _)| *flag);
    flags.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same && kept.1 != later.1 {
            kept.1.push_str("; ");
            kept.1.push_str(&later.1);
        }
        same
    });
    flags
}

fn undecided_flag(cause: Missing) -> Flag {
    match cause {
        Missing::OrderUnknown => Flag::OrderUnknown,
        Missing::JudgeSplit | Missing::JudgeAbsent => Flag::JudgeUndecided,
        Missing::NotLooked | Missing::ChannelMissing => Flag::EvidenceMissing,
    }
}
