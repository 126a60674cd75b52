//! Disclosure conditions as pure functions of history ([`first_turn`]): a leaf means "has happened
//! by the end of this turn".

use super::{Grant, Ledger, TurnKind, TurnRecord};
use crate::{
    ids::{RequirementId, Turn},
    plan::SessionLimits,
    release::{AfterTelling, BudgetKind, Condition, Requirement},
    verdict::Verdict,
};

/// Everything that a condition may look at.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    /// Requirements in declared order.
    pub requirements: &'a [Requirement],
    /// What was told and corrected when.
    pub ledger: &'a Ledger,
    /// Turns that have ended, in order.
    pub records: &'a [TurnRecord],
    /// Grants that were given.
    pub grants: &'a [Grant],
    /// The budgets that shares are of.
    pub limits: &'a SessionLimits,
}

/// The first turn by whose end the condition of the requirement holds; turn 0 stands for the
/// opening.
pub fn first_turn(
    condition: &Condition,
    requirement: &Requirement,
    history: &History<'_>,
) -> Option<Turn> {
    Scope { requirement, history, after: None }.first(condition)
}

/// A condition's view of history; `then` narrows it to what happens after its first part.
#[derive(Clone, Copy)]
struct Scope<'a> {
    requirement: &'a Requirement,
    history: &'a History<'a>,
    after: Option<Turn>,
}

impl Scope<'_> {
    fn first(&self, condition: &Condition) -> Option<Turn> {
        self.turns().find(|turn| self.holds_by(condition, *turn))
    }

    /// Turns in view, the opening included unless something has to come before.
    fn turns(&self) -> impl Iterator<Item = Turn> + use<> {
        let from = self.after.map_or(0, |turn| turn.0 + 1);
        let last = self.history.records.last().map_or(0, |record| record.turn.0);
        (from..=last).map(Turn)
    }

    fn holds_by(&self, condition: &Condition, by: Turn) -> bool {
        match condition {
            Condition::All(list) => list.iter().all(|inner| self.holds_by(inner, by)),
            Condition::Any(list) => list.iter().any(|inner| self.holds_by(inner, by)),
            // Nothing has failed to happen before the agent's first turn is over.
            Condition::Not(inner) => by > Turn::BASE && !self.holds_by(inner, by),
            Condition::Then { first, next, within_turns } => {
                let Some(start) = self.first(first) else { return false };
                let later = Scope { after: Some(start), ..*self };
                later.first(next).is_some_and(|end| {
                    end <= by && within_turns.is_none_or(|turns| end.0 - start.0 <= turns)
                })
            }
            leaf => {
                self.turns().take_while(|turn| *turn <= by).any(|turn| self.happens(leaf, turn))
            }
        }
    }

    /// Whether a leaf happens in the turn itself.
    fn happens(&self, leaf: &Condition, turn: Turn) -> bool {
        let record = self.record(turn);
        match leaf {
            Condition::AtOpening => turn == Turn::BASE,
            Condition::AfterTurn(n) => turn.0 == *n,
            Condition::AfterShare { of, percent } => {
                self.share(*of, turn) >= u64::from(*percent)
                    && (turn == Turn::BASE
                        || self.share(*of, Turn(turn.0 - 1)) < u64::from(*percent))
            }
            Condition::Asked => record.is_some_and(|record| self.asks(record)),
            Condition::Holds(check) => {
                record.is_some_and(|record| record.checks_held.contains(check))
            }
            Condition::Requirement { id, is } => self.fate(id, *is, turn),
            Condition::Violated { id, times } => {
                let now = self.breaches(id, turn);
                let before =
                    if turn == Turn::BASE { 0 } else { self.breaches(id, Turn(turn.0 - 1)) };
                now >= *times && now > before
            }
            Condition::Claims(claim) => {
                record.is_some_and(|record| record.interpretation.claims.contains(claim))
            }
            Condition::AtHandoff => record.is_some_and(|record| record.kind == TurnKind::Handoff),
            Condition::AfterFeedback { id, times } => {
                self.history.ledger.entry(id).is_some_and(|entry| {
                    let so_far = entry.raised.iter().filter(|raised| **raised <= turn).count();
                    entry.raised.contains(&turn) && so_far as u64 >= u64::from(*times)
                })
            }
            Condition::Silent(n) => record
                .is_some_and(|record| record.kind == TurnKind::Idle && record.idle_in_a_row >= *n),
            Condition::Granted(class) => {
                self.history.grants.iter().any(|grant| grant.class == *class && grant.from == turn)
            }
            Condition::All(_) | Condition::Any(_) | Condition::Not(_) | Condition::Then { .. } => {
                false
            }
        }
    }

    fn record(&self, turn: Turn) -> Option<&TurnRecord> {
        self.history.records.iter().find(|record| record.turn == turn)
    }

    fn asks(&self, record: &TurnRecord) -> bool {
        let of_topic = self
            .requirement
            .topic
            .as_ref()
            .is_some_and(|topic| record.topics_asked.contains(topic));
        let of_class =
            self.requirement.class.is_some_and(|class| record.classes_asked.contains(&class));
        of_topic || of_class
    }

    fn place(&self, id: &RequirementId) -> Option<usize> {
        self.history.requirements.iter().position(|requirement| &requirement.id == id)
    }

    fn breaches(&self, id: &RequirementId, turn: Turn) -> u32 {
        let count = self.place(id).zip(self.record(turn));
        count.and_then(|(at, record)| record.breaches.get(at).copied()).unwrap_or(0)
    }

    fn fate(&self, id: &RequirementId, is: AfterTelling, turn: Turn) -> bool {
        let is_told = self.history.ledger.told(id) == Some(turn);
        let verdict = self
            .place(id)
            .zip(self.record(turn))
            .and_then(|(at, record)| record.verdicts.get(at).copied().flatten());
        match is {
            AfterTelling::Told => is_told,
            AfterTelling::Met => verdict == Some(Verdict::Met),
            AfterTelling::Violated => verdict == Some(Verdict::Violated),
            AfterTelling::Any => is_told || verdict.is_some(),
        }
    }

    /// Percent of a budget used by the end of a turn; an unset budget is never used.
    fn share(&self, of: BudgetKind, turn: Turn) -> u64 {
        let limits = self.history.limits;
        let used = self.record(turn).map(|record| record.used).unwrap_or_default();
        let (used, max) = match of {
            BudgetKind::Turns => (u64::from(turn.0), Some(u64::from(limits.turns_max))),
            BudgetKind::AgentTime => (used.agent_ms, Some(limits.agent_time_ms)),
            BudgetKind::Tokens => (used.tokens.unwrap_or(0), limits.tokens_max),
            BudgetKind::Cost => (used.cost_microusd.unwrap_or(0), limits.cost_microusd_max),
        };
        max.map_or(0, |max| used.saturating_mul(100) / max.max(1))
    }
}
