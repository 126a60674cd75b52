//! Everything that a table of a run shows ([`RunScore`]), whose totals are the sums of their parts.

use alloc::{string::String, vec::Vec};

use super::{Census, ScoreError, adds_up};
use crate::{fault::Flag, release::Area, result::Load, verdict::Outcome};

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
    pub census: Census,
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
    /// Upper bound of the headline: all losses that are not the agent's pass.
    pub upper_bound: Rate,
    /// Repeats that got another attempt, by cause.
    pub reruns: Vec<(Flag, u32)>,
    /// Sums of the interaction's load over scored attempts.
    pub load: Load,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    pub area: Area,
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

type Figure = fn(&Stratum) -> u32;

impl RunScore {
    /// The arm's headline: joint passes, without persona what was completed within budget and
    /// valid.
    pub fn headline(&self) -> Rate {
        self.joint.unwrap_or(self.completed_valid)
    }

    /// Whether every total is the sum of its parts.
    ///
    /// # Errors
    ///
    /// The first total that is not. Whoever prints a score that came from elsewhere asks this
    /// before.
    pub fn check_sums(&self) -> Result<(), ScoreError> {
        adds_up(
            "census",
            "assigned",
            self.assigned,
            self.census.entries().iter().map(|row| row.1),
        )?;
        for (table, rows) in [("suites", &self.suites), ("families", &self.families)] {
            let mut figures = alloc::vec![
                ("assigned", self.assigned, (|row| row.assigned) as Figure),
                ("headline", self.headline().count, |row| row.headline),
                ("completed", self.completion.count, |row| row.completed),
            ];
            if let Some(personalization) = self.personalization {
                figures.push(("personalized", personalization.count, |row| row.personalized));
            }
            for (figure, total, of) in figures {
                adds_up(table, figure, total, rows.iter().map(of))?;
            }
        }
        self.requirements.check_sum("requirements")?;
        let total = self.requirements.columns();
        for (place, (figure, value)) in total.into_iter().enumerate() {
            let parts = self.areas.iter().map(|row| row.counts.columns()[place].1);
            adds_up("areas", figure, value, parts)?;
        }
        Ok(())
    }
}

impl TwoByTwo {
    /// All graded sessions.
    pub fn graded(&self) -> u32 {
        self.both + self.completed_only + self.personalized_only + self.neither
    }
}

impl RequirementCounts {
    /// Counts one requirement with its outcome.
    pub fn add(&mut self, outcome: Outcome) {
        self.assigned += 1;
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::NotDelivered => self.not_delivered += 1,
            Outcome::Vacuous => self.vacuous += 1,
            Outcome::Undecided(_) => self.undecided += 1,
            Outcome::NotGraded => self.not_graded += 1,
        }
    }

    fn check_sum(&self, table: &'static str) -> Result<(), ScoreError> {
        let parts = self.columns().into_iter().skip(1).map(|(_, count)| count);
        adds_up(table, "assigned", self.assigned, parts)
    }

    fn columns(&self) -> [(&'static str, u32); 7] {
        [
            ("assigned", self.assigned),
            ("passed", self.passed),
            ("failed", self.failed),
            ("not delivered", self.not_delivered),
            ("vacuous", self.vacuous),
            ("undecided", self.undecided),
            ("not graded", self.not_graded),
        ]
    }
}
