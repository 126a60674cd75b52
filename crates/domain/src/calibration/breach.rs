//! One thing that is not as it must be ([`Breach`]).

use alloc::string::String;
use core::fmt;

use super::CalibrationAgent;
use crate::{
    ids::{PairId, RequirementId, TaskId},
    plan::Arm,
};

/// What is not as it must be, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// What it is about.
    pub subject: Subject,
    /// In which arm; none if it is about no single one.
    pub arm: Option<Arm>,
    /// Who showed it.
    pub agent: Option<CalibrationAgent>,
    /// Which requirement.
    pub requirement: Option<RequirementId>,
    /// How it must be: a lower-case fragment.
    pub expected: String,
    /// How it is: a lower-case fragment.
    pub found: String,
    /// What to do about it: a lower-case fragment.
    pub remedy: String,
}

/// What a breach is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A pair.
    Pair(PairId),
    /// A task, whoever asks for it.
    Task(TaskId),
}

impl Breach {
    /// Where it was found, in words: subject, arm, agent and requirement as far as they are known.
    pub fn place(&self) -> impl fmt::Display + '_ {
        Place(self)
    }
}

struct Place<'a>(&'a Breach);

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let breach = self.0;
        match &breach.subject {
            Subject::Pair(pair) => write!(formatter, "{pair}")?,
            Subject::Task(task) => write!(formatter, "task {task}")?,
        }
        if let Some(arm) = breach.arm {
            write!(formatter, " · {}", arm.name())?;
        }
        if let Some(agent) = &breach.agent {
            write!(formatter, " · {}", agent.name())?;
        }
        let is_said = |requirement: &RequirementId| matches!(&breach.agent, Some(CalibrationAgent::Counterexample(own, _)) if own == requirement);
        match &breach.requirement {
            Some(requirement) if !is_said(requirement) => write!(formatter, " · {requirement}"),
            _ => Ok(()),
        }
    }
}
