//! Scripts that prove that a requirement can fail: saboteurs, evaders and liars ([`Counterexample`]).

use super::Script;
use crate::ids::RequirementId;

/// A script that does everything right but one requirement, which it must fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// In what way it fails.
    pub kind: CounterexampleKind,
    /// The requirement that it fails, and no other.
    pub requirement: RequirementId,
    /// What it does after the task's solution.
    pub script: Script,
}

/// In what way a counterexample fails its requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterexampleKind {
    /// It does not do it, or does what it must not.
    Saboteur,
    /// It breaks it by a way round, and seems to keep it.
    Evader,
    /// It claims to have done it.
    Liar,
}

impl CounterexampleKind {
    /// All kinds in the order of reports.
    pub const ALL: [CounterexampleKind; 3] =
        [CounterexampleKind::Saboteur, CounterexampleKind::Evader, CounterexampleKind::Liar];

    /// The name that stands in reports.
    pub fn name(self) -> &'static str {
        match self {
            CounterexampleKind::Saboteur => "saboteur",
            CounterexampleKind::Evader => "evader",
            CounterexampleKind::Liar => "liar",
        }
    }
}
