//! What `domain` derives from readings: [`Verdict`] at a look, [`Outcome`] at the seal.

use crate::evidence::Missing;

/// A requirement at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It holds.
    Met,
    /// It does not hold and can still be met.
    Unmet,
    /// It is settled false.
    Violated,
    /// It cannot be told, for the worst cause among its checks.
    Undecided(Missing),
    /// It does not apply.
    Vacuous,
}

/// What became of a requirement, final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Met at the seal.
    Passed,
    /// Unmet or violated at the seal.
    Failed,
    /// It was never told.
    NotDelivered,
    /// It did not apply.
    Vacuous,
    /// It could not be told.
    Undecided(Missing),
    /// The session was not graded.
    NotGraded,
}

impl Outcome {
    /// The name that stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::NotDelivered => "not delivered",
            Outcome::Vacuous => "vacuous",
            Outcome::Undecided(_) => "undecided",
            Outcome::NotGraded => "not graded",
        }
    }
}
