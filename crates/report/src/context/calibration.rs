//! A calibration as view data ([`CalibrationContext`]): the matrix, and what is not as it must be.

use domain::{
    calibration::{Breach, Cell, CellState, Matrix, Subject},
    release::Release,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::Table;

/// What a calibration shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalibrationContext {
    /// Id of the release.
    pub release: String,
    /// Its version.
    pub version: String,
    /// Its digest.
    pub digest: String,
    /// The columns.
    pub arms: Vec<String>,
    /// The rows by pair.
    pub pairs: Vec<CalibratedPair>,
    /// Pairs that the opening arm leaves out; they stay in its denominator.
    pub excluded_from_opening: Vec<ExcludedPair>,
    /// Sessions that were looked at.
    pub sessions: u32,
    /// Time from the first session to the matrix in milliseconds; none if nothing was run.
    pub took_ms: Option<u64>,
    /// Whether everything is as it must be.
    pub is_clean: bool,
    /// What is not.
    pub breaches: Vec<BreachLine>,
}

/// One pair of a calibration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalibratedPair {
    /// Its id.
    pub pair: String,
    /// An agent each.
    pub agents: Vec<CalibratedAgent>,
}

/// One agent on one pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalibratedAgent {
    /// As it is called.
    pub agent: String,
    /// In the order of the arms.
    pub cells: Vec<CalibratedCell>,
}

/// One agent on one pair in one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CalibratedCell {
    /// The arm.
    pub arm: String,
    /// What it showed, in words; empty if it has no place there.
    pub shown: String,
    /// Its class of the census; none without a session.
    pub class: Option<String>,
    /// Whether the task was completed.
    pub completed: Option<bool>,
    /// Requirements that did not pass.
    pub failed: Vec<String>,
    /// Whether it is as it must be.
    pub is_right: bool,
}

/// A pair that the opening arm leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExcludedPair {
    /// Its id.
    pub pair: String,
    /// Requirements that keep it out.
    pub requirements: Vec<String>,
}

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BreachLine {
    /// Where, in words.
    pub place: String,
    /// The pair, if it is about one.
    pub pair: Option<String>,
    /// The task, if it is about one.
    pub task: Option<String>,
    /// The arm.
    pub arm: Option<String>,
    /// Who showed it.
    pub agent: Option<String>,
    /// The requirement.
    pub requirement: Option<String>,
    /// How it must be.
    pub expected: String,
    /// How it is.
    pub found: String,
    /// What to do.
    pub remedy: String,
    /// The command that tells the session in which it was found, if it was found in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
}

/// What recorded sessions say now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RereadingContext {
    /// Sessions that were read again.
    pub sessions: u32,
    /// Whether all say what they said.
    pub is_same: bool,
    /// Where they do not.
    pub differences: Vec<BreachLine>,
}

/// View data of a re-reading.
pub fn rereading(sessions: u32, differences: &[Breach]) -> RereadingContext {
    let is_same = differences.is_empty();
    RereadingContext {
        sessions,
        is_same,
        differences: differences.iter().map(|one| line(one, None)).collect(),
    }
}

/// View data of a matrix; `show` gives the command that tells the session of a breach.
pub fn calibration(
    release: &Release,
    matrix: &Matrix,
    took_ms: Option<u64>,
    show: impl Fn(&Breach) -> Option<String>,
) -> CalibrationContext {
    let arms: Vec<String> = matrix.arms.iter().map(|arm| arm.name().to_owned()).collect();
    let pairs = matrix.pairs.iter().map(|rows| CalibratedPair {
        pair: rows.pair.to_string(),
        agents: rows
            .rows
            .iter()
            .map(|row| CalibratedAgent {
                agent: row.agent.name(),
                cells: arms.iter().zip(&row.cells).map(|(arm, one)| cell(arm, one)).collect(),
            })
            .collect(),
    });
    let excluded = matrix.excluded.iter().map(|(pair, requirements)| ExcludedPair {
        pair: pair.to_string(),
        requirements: requirements.iter().map(ToString::to_string).collect(),
    });
    CalibrationContext {
        release: release.id.to_string(),
        version: release.version.clone(),
        digest: release.digest.to_string(),
        pairs: pairs.collect(),
        arms,
        excluded_from_opening: excluded.collect(),
        sessions: matrix.sessions,
        took_ms,
        is_clean: matrix.breaches.is_empty(),
        breaches: matrix.breaches.iter().map(|breach| line(breach, show(breach))).collect(),
    }
}

/// The matrix as a plain table.
pub(crate) fn matrix_table(context: &CalibrationContext) -> Table {
    let mut rows = Vec::new();
    for pair in &context.pairs {
        rows.push(vec![pair.pair.clone()]);
        for agent in &pair.agents {
            let mark = |cell: &CalibratedCell| match cell.is_right {
                true => cell.shown.clone(),
                false => format!("✗ {}", cell.shown),
            };
            let cells = agent.cells.iter().map(mark);
            rows.push(std::iter::once(format!("  {}", agent.agent)).chain(cells).collect());
        }
    }
    let mut head = vec!["pair and agent".to_owned()];
    head.extend(context.arms.iter().cloned());
    for row in &mut rows {
        row.resize(head.len(), String::new());
    }
    let mut notes = Vec::new();
    let out = &context.excluded_from_opening;
    if !out.is_empty() {
        let names: Vec<String> = out
            .iter()
            .map(|one| format!("{} ({})", one.pair, one.requirements.join(", ")))
            .collect();
        notes.push(format!(
            "the opening arm leaves out {} of {} pairs: {}",
            out.len(),
            context.pairs.len(),
            names.join("; ")
        ));
    }
    notes.push(effort(context));
    let title = format!("Calibration of {} {}", context.release, context.version);
    Table { title, head, rows, notes }
}

fn effort(context: &CalibrationContext) -> String {
    let sessions = counted(context.sessions);
    match context.took_ms {
        Some(ms) => format!("{sessions} in {}.{} s", ms / 1_000, ms % 1_000 / 100),
        None => sessions,
    }
}

/// So many sessions, in words.
pub(crate) fn counted(sessions: u32) -> String {
    if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") }
}

fn cell(arm: &str, cell: &Cell) -> CalibratedCell {
    let mut shown = CalibratedCell {
        arm: arm.to_owned(),
        shown: String::new(),
        class: None,
        completed: None,
        failed: Vec::new(),
        is_right: cell.is_right,
    };
    match &cell.state {
        CellState::NoPlace => {}
        CellState::Excluded => shown.shown = "left out".to_owned(),
        CellState::Missing => shown.shown = "no session".to_owned(),
        CellState::Shown { class, completed, failed } => {
            shown.class = Some(class.name().to_owned());
            shown.completed = *completed;
            shown.failed = failed.iter().map(|(id, _)| id.to_string()).collect();
            let names: Vec<String> = failed
                .iter()
                .map(|(id, outcome)| match outcome.name() {
                    "failed" => id.to_string(),
                    other => format!("{id} ({other})"),
                })
                .collect();
            let task = match completed {
                Some(true) if names.is_empty() => class.name(),
                Some(true) => "completed",
                Some(false) => "not completed",
                None => class.name(),
            };
            shown.shown = match names.is_empty() {
                true => task.to_owned(),
                false => format!("{task}, fails {}", names.join(", ")),
            };
        }
    }
    shown
}

fn line(breach: &Breach, show: Option<String>) -> BreachLine {
    let (pair, task) = match &breach.subject {
        Subject::Pair(pair) => (Some(pair.to_string()), None),
        Subject::Task(task) => (None, Some(task.to_string())),
    };
    BreachLine {
        place: breach.place().to_string(),
        pair,
        task,
        arm: breach.arm.map(|arm| arm.name().to_owned()),
        agent: breach.agent.as_ref().map(|agent| agent.name()),
        requirement: breach.requirement.as_ref().map(ToString::to_string),
        expected: breach.expected.clone(),
        found: breach.found.clone(),
        remedy: breach.remedy.clone(),
        show,
    }
}
