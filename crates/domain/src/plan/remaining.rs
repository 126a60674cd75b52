//! What of a plan is still to be done ([`Work`]), and which attempt at a repeat is scored.

use alloc::vec::Vec;

use super::{Plan, SessionSpec, UserKind};
use crate::{
    fault::Remedy,
    ids::{Attempt, PairId, Repeat},
    result::SessionResult,
};

/// Re-runs of a repeat after faults, those that are free aside.
pub const RERUNS_MAX: usize = 1;

/// One attempt as it stands on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// The pair.
    pub pair: PairId,
    /// Which repeat.
    pub repeat: Repeat,
    /// Which attempt.
    pub attempt: Attempt,
    /// How it stands.
    pub state: AttemptState,
    /// Whether its end state was sealed.
    pub sealed: bool,
    /// How often it was graded again from its seal.
    pub regrades: u32,
}

/// How an attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptState {
    /// Somebody has a live claim on it.
    Running,
    /// It has no end entry and no live claim.
    Lost,
    /// It ended.
    Ended {
        /// What its counting flags let happen next.
        remedy: Remedy,
        /// Whether a flag of the simulator counts.
        simulator: bool,
    },
}

/// Something to be done for a repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Which session.
    pub spec: SessionSpec,
    /// Which attempt at it.
    pub attempt: Attempt,
    /// What.
    pub kind: WorkKind,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkKind {
    /// Run a new attempt with this user.
    Run {
        /// Who words: the plan's user, or the template after a fault of the simulator.
        user: UserKind,
    },
    /// Repeat the verification of a sealed attempt; the agent is not run again.
    Verify,
}

impl AttemptState {
    /// The state of an attempt that has a result.
    pub fn of(result: &SessionResult) -> Self {
        AttemptState::Ended { remedy: result.remedy(), simulator: result.has_simulator_fault() }
    }
}

/// What is still to be done, in the order of the plan; at most one thing for each repeat at a time.
///
/// A repeat without an attempt is run. After a fault of infra, harness or simulator it is run once
/// more; lost and aborted attempts do not use that up. What was sealed before it was lost or
/// aborted, and what could not be verified, is verified again instead, once. Excluded pairs are
/// never run.
pub fn remaining(plan: &Plan, attempts: &[AttemptRecord]) -> Vec<Work> {
    plan.specs
        .iter()
        .filter(|spec| !plan.excluded.contains(&spec.pair))
        .filter_map(|spec| next_work(plan, spec, attempts))
        .collect()
}

/// Which of the attempts at one repeat is scored: the first without a fault that asks for a re-run,
/// else the last; none if there is none. Results stand in any order.
pub fn scored(attempts: &[SessionResult]) -> Option<&SessionResult> {
    let first_sound = attempts
        .iter()
        .filter(|result| !result.remedy().is_rerun())
        .min_by_key(|result| result.attempt);
    first_sound.or_else(|| attempts.iter().max_by_key(|result| result.attempt))
}

fn next_work(plan: &Plan, spec: &SessionSpec, attempts: &[AttemptRecord]) -> Option<Work> {
    let mut own: Vec<&AttemptRecord> = attempts
        .iter()
        .filter(|record| record.pair == spec.pair && record.repeat == spec.repeat)
        .collect();
    own.sort_by_key(|record| record.attempt);
    let work = |attempt, kind| Some(Work { spec: spec.clone(), attempt, kind });
    let settled = own.iter().any(|record| {
        matches!(
            record.state,
            AttemptState::Running | AttemptState::Ended { remedy: Remedy::Score, .. }
        )
    });
    if settled {
        return None;
    }
    let Some(last) = own.last() else {
        return work(Attempt(1), WorkKind::Run { user: plan.side.user });
    };
    let gradable = last.sealed && last.regrades == 0;
    match last.state {
        AttemptState::Lost
        | AttemptState::Ended { remedy: Remedy::Regrade | Remedy::RerunFree, .. }
            if gradable =>
        {
            return work(last.attempt, WorkKind::Verify);
        }
        AttemptState::Ended { remedy: Remedy::Regrade, .. } => return None,
        _ => {}
    }
    let faults = own
        .iter()
        .filter(|record| matches!(record.state, AttemptState::Ended { remedy: Remedy::Rerun, .. }));
    if faults.count() > RERUNS_MAX {
        return None;
    }
    let simulator_failed = own
        .iter()
        .any(|record| matches!(record.state, AttemptState::Ended { simulator: true, .. }));
    let user = if simulator_failed { UserKind::Template } else { plan.side.user };
    work(Attempt(last.attempt.0 + 1), WorkKind::Run { user })
}
