//! What has become of each requirement ([`Ledger`]): hidden, due, planned, delivered.
//!
//! Counters are lists of turns, so that a delivery that never reached the agent can be taken back.

use alloc::{vec, vec::Vec};

use crate::{
    ids::{RequirementId, Turn},
    release::Requirement,
};

/// One entry for each requirement, in declared order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    entries: Vec<LedgerEntry>,
}

/// The fate of one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Which.
    pub requirement: RequirementId,
    /// The turn at whose end it became due; turn 0 means from the opening on.
    pub due: Option<Turn>,
    /// The turn that the message which is to tell it opens.
    pub planned: Option<Turn>,
    /// The turn that its telling opened.
    pub told: Option<Turn>,
    /// The turns that corrections of it opened.
    pub raised: Vec<Turn>,
}

/// How far a requirement has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Its condition has not held yet.
    Hidden,
    /// It may be told.
    Due,
    /// A message that tells it is being worded or delivered.
    Planned,
    /// It was delivered.
    Delivered,
}

impl LedgerEntry {
    /// How far it has come.
    pub fn stage(&self) -> Stage {
        match (self.told, self.planned, self.due) {
            (Some(_), _, _) => Stage::Delivered,
            (None, Some(_), _) => Stage::Planned,
            (None, None, Some(_)) => Stage::Due,
            (None, None, None) => Stage::Hidden,
        }
    }
}

impl Ledger {
    /// A ledger in which everything is hidden.
    pub fn new(requirements: &[Requirement]) -> Self {
        let entries = requirements.iter().map(|requirement| LedgerEntry {
            requirement: requirement.id.clone(),
            due: None,
            planned: None,
            told: None,
            raised: vec![],
        });
        Self { entries: entries.collect() }
    }

    /// All entries in declared order.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The entry of a requirement.
    pub fn entry(&self, id: &RequirementId) -> Option<&LedgerEntry> {
        self.entries.iter().find(|entry| &entry.requirement == id)
    }

    /// The turn that the telling of a requirement opened.
    pub fn told(&self, id: &RequirementId) -> Option<Turn> {
        self.entry(id)?.told
    }

    /// Whether every requirement was told.
    pub fn all_told(&self) -> bool {
        self.entries.iter().all(|entry| entry.told.is_some())
    }

    /// Places of the untold ones in declared order.
    pub(super) fn untold(&self) -> impl Iterator<Item = usize> + '_ {
        self.entries.iter().enumerate().filter(|(_, entry)| entry.told.is_none()).map(|(at, _)| at)
    }

    /// Due latches: only the first turn counts.
    pub(super) fn mark_due(&mut self, at: usize, turn: Turn) {
        self.entries[at].due.get_or_insert(turn);
    }

    pub(super) fn mark_planned(&mut self, id: &RequirementId, turn: Turn) {
        if let Some(entry) = self.entry_mut(id) {
            entry.planned = Some(turn);
        }
    }

    pub(super) fn mark_told(&mut self, id: &RequirementId, turn: Turn) {
        if let Some(entry) = self.entry_mut(id) {
            entry.told.get_or_insert(turn);
        }
    }

    pub(super) fn mark_raised(&mut self, id: &RequirementId, turn: Turn) {
        if let Some(entry) = self.entry_mut(id) {
            entry.raised.push(turn);
        }
    }

    /// Takes back what the message that opened the turn did.
    pub(super) fn withdraw(&mut self, turn: Turn) {
        for entry in &mut self.entries {
            entry.told = entry.told.filter(|told| *told != turn);
            entry.raised.retain(|raised| *raised != turn);
        }
    }

    fn entry_mut(&mut self, id: &RequirementId) -> Option<&mut LedgerEntry> {
        self.entries.iter_mut().find(|entry| &entry.requirement == id)
    }
}
