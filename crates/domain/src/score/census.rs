//! The [`Census`]: every assigned repeat in exactly one class; it cannot exist otherwise.

use alloc::{collections::BTreeMap, vec::Vec};

use thiserror::Error;

use crate::{
    ids::{PairId, Repeat},
    result::Class,
};

/// Counts by class that add up to the assigned repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    assigned: u32,
    entries: Vec<(Class, u32)>,
}

/// Why there is no score.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ScoreError {
    /// A total is not the sum of its parts.
    #[error("{table}: the total of {figure} is {total}, but its parts add up to {parts}")]
    Sum {
        /// The table.
        table: &'static str,
        /// The figure.
        figure: &'static str,
        /// The total.
        total: u32,
        /// The sum of the parts.
        parts: u64,
    },
    /// A result that nobody assigned.
    #[error("the result of pair {pair}, repeat {repeat} was not assigned")]
    NotAssigned {
        /// Its pair.
        pair: PairId,
        /// Its repeat.
        repeat: Repeat,
    },
    /// The plan assigns a repeat twice.
    #[error("the plan assigns pair {pair}, repeat {repeat} twice")]
    AssignedTwice {
        /// The pair.
        pair: PairId,
        /// The repeat.
        repeat: Repeat,
    },
    /// The plan names a pair that the release lacks.
    #[error("the release has no pair {0} with its persona")]
    UnknownPair(PairId),
}

impl Census {
    /// Counts by class; a class may stand more than once or not at all.
    ///
    /// # Errors
    ///
    /// [`ScoreError::Sum`] if the classes do not add up to `assigned`.
    pub fn new(
        assigned: u32,
        counts: impl IntoIterator<Item = (Class, u32)>,
    ) -> Result<Census, ScoreError> {
        let mut by_class: BTreeMap<Class, u64> = BTreeMap::new();
        for (class, count) in counts {
            *by_class.entry(class).or_default() += u64::from(count);
        }
        let parts = by_class.values().sum();
        if u64::from(assigned) != parts {
            return Err(ScoreError::Sum {
                table: "census",
                figure: "assigned",
                total: assigned,
                parts,
            });
        }
        let count = |class| by_class.get(&class).map_or(0, |count| *count as u32);
        let entries = Class::ALL.into_iter().map(|class| (class, count(class))).collect();
        Ok(Census { assigned, entries })
    }

    /// Assigned repeats.
    pub fn assigned(&self) -> u32 {
        self.assigned
    }

    /// Every class with its count, in order, zeros included.
    pub fn entries(&self) -> &[(Class, u32)] {
        &self.entries
    }

    /// The count of a class.
    pub fn count(&self, class: Class) -> u32 {
        self.entries.iter().find(|entry| entry.0 == class).map_or(0, |entry| entry.1)
    }
}

/// Whether a total is the sum of its parts; for tables of ours and of others.
///
/// # Errors
///
/// [`ScoreError::Sum`] if it is not.
pub fn adds_up(
    table: &'static str,
    figure: &'static str,
    total: u32,
    parts: impl IntoIterator<Item = u32>,
) -> Result<(), ScoreError> {
    let parts = parts.into_iter().map(u64::from).sum();
    if u64::from(total) == parts {
        Ok(())
    } else {
        Err(ScoreError::Sum { table, figure, total, parts })
    }
}
