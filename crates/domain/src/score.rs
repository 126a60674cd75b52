//! The fold of results: census, rates and tables of a run ([`RunScore`]).

use alloc::{string::String, vec::Vec};

use crate::{fault::Flag, result::Class};

/// A count over its denominator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// Out of how many.
    pub of: u32,
}

/// Everything that a table of a run shows.
#[derive(Clone, Debug, PartialEq)]
pub struct RunScore {
    /// Assigned repeats: the denominator.
    pub assigned: u32,
    /// Each class with its count; adds up to `assigned`.
    pub census: Vec<(Class, u32)>,
    /// Joint passes over assigned (arms with a persona).
    pub joint: Option<Rate>,
    /// Completed within budget and valid over assigned (the headline of arms without a persona).
    pub completed_valid: Rate,
    /// Completed over assigned.
    pub completion: Rate,
    /// Personalized over assigned (arms with a persona).
    pub personalization: Option<Rate>,
    /// Native × personalization over all graded sessions, over budget included.
    pub two_by_two: TwoByTwo,
    /// Rows by suite.
    pub suites: Vec<Stratum>,
    /// Rows by persona family.
    pub families: Vec<Stratum>,
    /// Rows by area: requirements, not sessions.
    pub areas: Vec<AreaRow>,
    /// Requirements in all, by outcome.
    pub requirements: RequirementCounts,
    /// Flags with the number of attempts that carry them.
    pub flags: Vec<(Flag, u32)>,
    /// Scored attempts within budget over graded.
    pub within_budget: Rate,
    /// Upper bound of the headline: all non-agent losses pass.
    pub upper_bound: Rate,
    /// Repeats that needed another attempt, by cause.
    pub reruns: Vec<(Flag, u32)>,
    /// Sums of the interaction's load over scored attempts.
    pub load: crate::result::Load,
}

/// Native × personalization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TwoByTwo {
    /// Both.
    pub both: u32,
    /// Completed only.
    pub completed_only: u32,
    /// Personalized only.
    pub personalized_only: u32,
    /// Neither.
    pub neither: u32,
}

/// One row of a table by suite or family.
#[derive(Clone, Debug, PartialEq)]
pub struct Stratum {
    /// Its name.
    pub name: String,
    /// Assigned repeats.
    pub assigned: u32,
    /// Joint passes; without persona: completed within budget and valid.
    pub headline: u32,
    /// Completed.
    pub completed: u32,
    /// Personalized.
    pub personalized: u32,
}

/// One row of the table by area.
#[derive(Clone, Debug, PartialEq)]
pub struct AreaRow {
    /// The area.
    pub area: crate::release::Area,
    /// Requirements by outcome.
    pub counts: RequirementCounts,
}

/// Requirements of all assigned repeats by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequirementCounts {
    /// All assigned.
    pub assigned: u32,
    /// Passed.
    pub passed: u32,
    /// Failed.
    pub failed: u32,
    /// Never told.
    pub not_delivered: u32,
    /// Did not apply.
    pub vacuous: u32,
    /// Could not be told.
    pub undecided: u32,
    /// Of sessions that were not graded or not run.
    pub not_graded: u32,
}
