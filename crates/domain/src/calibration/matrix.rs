//! All sessions of a calibration side by side ([`Matrix`]).

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::{
    Breach, CalibrationAgent, Shown, Subject, agents, completion::unsteady, parts::unbroken, rules,
};
use crate::{
    ids::{PairId, RequirementId, TaskId},
    plan::{Arm, excluded_from_opening},
    release::{Pair, Release},
    result::Class,
    verdict::Outcome,
};

/// What was asked for, and what every session showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration<'a> {
    /// The release.
    pub release: &'a Release,
    /// The pairs that are calibrated, in order.
    pub pairs: Vec<&'a Pair>,
    /// In these arms.
    pub arms: Vec<Arm>,
    /// What the sessions showed, in any order.
    pub shown: Vec<Shown>,
    /// What was found without a session: of the tasks' bases.
    pub admission: Vec<Breach>,
}

/// Who showed what, and everything that is not as it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The columns.
    pub arms: Vec<Arm>,
    /// The rows by pair.
    pub pairs: Vec<PairRows>,
    /// Pairs that the opening arm leaves out, with the requirements that keep them out.
    pub excluded: Vec<(PairId, Vec<RequirementId>)>,
    /// Sessions that were looked at.
    pub sessions: u32,
    /// What is not as it must be, in order.
    pub breaches: Vec<Breach>,
}

/// The rows of one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRows {
    /// Which.
    pub pair: PairId,
    /// An agent each.
    pub rows: Vec<Row>,
}

/// One agent on one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Who.
    pub agent: CalibrationAgent,
    /// What it showed in each arm.
    pub cells: Vec<Cell>,
}

/// One agent on one pair in one arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What was shown; of several repeats the first that is not as it must be.
    pub state: CellState,
    /// Whether every repeat is as it must be.
    pub is_right: bool,
}

/// What a cell of the matrix shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellState {
    /// The agent has no place in the arm.
    NoPlace,
    /// The arm leaves the pair out.
    Excluded,
    /// There is no session.
    Missing,
    /// A session.
    Shown {
        /// Its class.
        class: Class,
        /// Whether the task was completed; none if ungraded.
        completed: Option<bool>,
        /// Requirements that did not pass.
        failed: Vec<(RequirementId, Outcome)>,
    },
}

impl Calibration<'_> {
    /// Judges all of it.
    pub fn matrix(&self) -> Matrix {
        let mut breaches = self.admission.clone();
        let mut pairs = Vec::new();
        for pair in &self.pairs {
            let own: Vec<&Shown> =
                self.shown.iter().filter(|shown| shown.result.pair == pair.id).collect();
            pairs.push(self.rows(pair, &own, &mut breaches));
            breaches.extend(unbroken(pair, &own));
        }
        for (task, own) in self.by_task() {
            breaches.extend(unsteady(task, &own));
        }
        breaches.sort();
        breaches.dedup();
        let excluded = self
            .pairs
            .iter()
            .filter(|pair| self.is_excluded(pair, Arm::Opening))
            .map(|pair| {
                (pair.id.clone(), excluded_from_opening(pair).into_iter().cloned().collect())
            })
            .collect();
        let sessions = u32::try_from(self.shown.len()).unwrap_or(u32::MAX);
        Matrix { arms: self.arms.clone(), pairs, excluded, sessions, breaches }
    }

    fn rows(&self, pair: &Pair, shown: &[&Shown], breaches: &mut Vec<Breach>) -> PairRows {
        let mut everybody: Vec<CalibrationAgent> = Vec::new();
        for arm in &self.arms {
            for agent in agents(pair, *arm) {
                if !everybody.contains(&agent) {
                    everybody.push(agent);
                }
            }
        }
        let rows = everybody.into_iter().map(|agent| {
            let cells = self.arms.iter().map(|arm| {
                let cell = self.cell(pair, *arm, &agent, shown);
                breaches.extend(cell.1);
                cell.0
            });
            Row { cells: cells.collect(), agent }
        });
        PairRows { pair: pair.id.clone(), rows: rows.collect() }
    }

    fn cell(
        &self,
        pair: &Pair,
        arm: Arm,
        agent: &CalibrationAgent,
        shown: &[&Shown],
    ) -> (Cell, Vec<Breach>) {
        let plain = |state| (Cell { state, is_right: true }, Vec::new());
        if !agents(pair, arm).contains(agent) {
            return plain(CellState::NoPlace);
        }
        if self.is_excluded(pair, arm) {
            return plain(CellState::Excluded);
        }
        let own = shown.iter().filter(|one| one.arm == arm && &one.agent == agent);
        let judged: Vec<(&Shown, Vec<Breach>)> =
            own.map(|one| (*one, rules::breaches(pair, one))).collect();
        let first_wrong = judged.iter().find(|(_, breaches)| !breaches.is_empty());
        let Some((telling, _)) = first_wrong.or(judged.first()) else {
            let cell = Cell { state: CellState::Missing, is_right: false };
            return (cell, [missing(pair, arm, agent)].into());
        };
        let failed = telling.result.requirements.iter();
        let state = CellState::Shown {
            class: telling.result.class,
            completed: telling.result.completed,
            failed: failed
                .filter(|one| one.outcome != Outcome::Passed)
                .map(|one| (one.id.clone(), one.outcome))
                .collect(),
        };
        let cell = Cell { state, is_right: first_wrong.is_none() };
        (cell, judged.into_iter().flat_map(|(_, breaches)| breaches).collect())
    }

    fn is_excluded(&self, pair: &Pair, arm: Arm) -> bool {
        arm == Arm::Opening && self.arms.contains(&arm) && !excluded_from_opening(pair).is_empty()
    }

    fn by_task(&self) -> BTreeMap<&TaskId, Vec<&Shown>> {
        let mut tasks: BTreeMap<&TaskId, Vec<&Shown>> = BTreeMap::new();
        for pair in &self.pairs {
            let own = self.shown.iter().filter(|shown| shown.result.pair == pair.id);
            tasks.entry(&pair.task).or_default().extend(own);
        }
        tasks
    }
}

fn missing(pair: &Pair, arm: Arm, agent: &CalibrationAgent) -> Breach {
    let remedy = match agent {
        CalibrationAgent::Oracle => {
            format!("see that `pairs/{}/oracle.toml` is there, and calibrate again", pair.id)
        }
        _ => String::from("calibrate again; `pcb resume` finishes what was interrupted"),
    };
    Breach {
        subject: Subject::Pair(pair.id.clone()),
        arm: Some(arm),
        agent: Some(agent.clone()),
        requirement: None,
        expected: String::from("a session"),
        found: String::from("none"),
        remedy,
    }
}
