//! Three-valued logic with a fourth thing to know: whether a truth can still change ([`Value`]).

use super::Truth;
use crate::{evidence::Missing, verdict::Verdict};

/// A truth and whether anything that still happens can change it; the unknown is never settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub truth: Truth,
    pub is_settled: bool,
}

impl Value {
    pub(super) const fn settled(truth: Truth) -> Self {
        Self { truth, is_settled: true }
    }

    pub(super) const fn open(truth: Truth) -> Self {
        Self { truth, is_settled: false }
    }

    pub(super) const fn unknown(cause: Missing) -> Self {
        Self::open(Truth::Unknown(cause))
    }

    pub(super) fn not(self) -> Self {
        let truth = match self.truth {
            Truth::True => Truth::False,
            Truth::False => Truth::True,
            unknown => unknown,
        };
        Self { truth, ..self }
    }

    pub(super) fn all(list: impl IntoIterator<Item = Value>) -> Self {
        let tally = Tally::of(list);
        tally.at_least(tally.count)
    }

    pub(super) fn any(list: impl IntoIterator<Item = Value>) -> Self {
        Tally::of(list).at_least(1)
    }

    pub(super) fn at_least(k: u32, list: impl IntoIterator<Item = Value>) -> Self {
        Tally::of(list).at_least(k)
    }

    pub(super) fn verdict(self) -> Verdict {
        match (self.truth, self.is_settled) {
            (Truth::True, _) => Verdict::Met,
            (Truth::False, false) => Verdict::Unmet,
            (Truth::False, true) => Verdict::Violated,
            (Truth::Unknown(cause), _) => Verdict::Undecided(cause),
        }
    }
}

#[derive(Default)]
struct Tally {
    count: u32,
    trues: u32,
    settled_trues: u32,
    falses: u32,
    settled_falses: u32,
    worst: Option<Missing>,
}

impl Tally {
    fn of(list: impl IntoIterator<Item = Value>) -> Self {
        let mut tally = Self::default();
        for value in list {
            tally.count += 1;
            match value.truth {
                Truth::True => {
                    tally.trues += 1;
                    tally.settled_trues += u32::from(value.is_settled);
                }
                Truth::False => {
                    tally.falses += 1;
                    tally.settled_falses += u32::from(value.is_settled);
                }
                Truth::Unknown(cause) => tally.worst = tally.worst.max(Some(cause)),
            }
        }
        tally
    }

    fn at_least(&self, k: u32) -> Value {
        // So many falses can be borne; one more and `k` trues are out of reach.
        let is_out_of_reach = |falses: u32| falses.saturating_add(k) > self.count;
        if self.trues >= k {
            Value { truth: Truth::True, is_settled: self.settled_trues >= k }
        } else if is_out_of_reach(self.falses) {
            Value { truth: Truth::False, is_settled: is_out_of_reach(self.settled_falses) }
        } else {
            Value::unknown(self.worst.unwrap_or(Missing::NotLooked))
        }
    }
}
