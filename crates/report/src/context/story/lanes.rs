//! The way of each requirement ([`Lane`]): hidden, due, planned, delivered, a verdict at each look, the sealed
//! verdict.

use domain::{
    controller::LedgerEntry,
    ids::Turn,
    result::{RequirementResult, SessionResult},
    session::{Scenario, Session},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::words;

/// The way of one requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lane {
    /// Which.
    pub id: String,
    /// Its area.
    pub area: String,
    /// Whether personalization needs it.
    pub mandatory: bool,
    /// Its public text.
    pub text: String,
    /// Why this person wants it.
    pub because: String,
    /// When it is told.
    pub told_when: String,
    /// When it is met.
    pub met_if: String,
    /// What must hold for it to apply; absent if it always does.
    pub applies_if: Option<String>,
    /// Checks that its acceptance rests on.
    pub checks: Vec<String>,
    /// From hidden to verdict in one line.
    pub path: String,
    /// Its state before the first turn, at the end of each turn, and at the seal.
    pub cells: Vec<LaneCell>,
    /// What became of it.
    pub outcome: String,
}

/// A requirement at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaneCell {
    /// `start`, `turn 3` or `seal`.
    pub moment: String,
    /// What happened or stood then, in order.
    pub steps: Vec<LaneStep>,
}

/// One step of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaneStep {
    /// What it is.
    pub stage: Stage,
    /// In words.
    pub words: String,
}

/// A stage of a requirement, its verdicts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Its condition has not held yet.
    Hidden,
    /// It may be told.
    Due,
    /// A message that was to tell it never arrived.
    Planned,
    /// The message that tells it was delivered.
    Delivered,
    /// It was corrected.
    Corrected,
    /// Told and not looked at.
    Waiting,
    /// Verdict: it holds.
    Met,
    /// Verdict: it does not hold and still can.
    Unmet,
    /// Verdict: it cannot hold any more.
    Violated,
    /// Verdict: it cannot be told.
    Undecided,
    /// Verdict: it does not apply.
    Vacuous,
}

pub(super) fn lanes(
    scenario: &Scenario,
    result: &SessionResult,
    session: &Session,
    turns: usize,
) -> Vec<Lane> {
    let lanes = result.requirements.iter().map(|requirement| {
        let declared = scenario.requirements.iter().find(|known| known.id == requirement.id);
        let entry = session.ledger().entry(&requirement.id);
        let mut checks: Vec<String> = Vec::new();
        for check in declared.iter().flat_map(|declared| declared.pass.checks()) {
            if !checks.iter().any(|known| known == check.as_str()) {
                checks.push(check.to_string());
            }
        }
        Lane {
            id: requirement.id.to_string(),
            area: requirement.area.name().to_owned(),
            mandatory: requirement.mandatory,
            text: declared.map_or_else(String::new, |known| known.text.trim().to_owned()),
            because: declared.map_or_else(String::new, |known| known.because.clone()),
            told_when: declared.map_or_else(String::new, |known| words::told_when(&known.tell)),
            met_if: declared.map_or_else(String::new, |known| words::acceptance(&known.pass.holds)),
            applies_if: declared
                .and_then(|known| known.pass.applies_if.as_ref())
                .map(words::acceptance),
            checks,
            path: path(requirement, entry),
            cells: cells(requirement, entry, turns),
            outcome: requirement.outcome.name().to_owned(),
        }
    });
    lanes.collect()
}

fn path(requirement: &RequirementResult, entry: Option<&LedgerEntry>) -> String {
    let mut path = "hidden".to_owned();
    match entry.and_then(|entry| entry.due) {
        Some(Turn::BASE) => path.push_str(" → due at the opening"),
        Some(turn) => path.push_str(&format!(" → due after turn {turn}")),
        None => {}
    }
    match (requirement.delivered, entry.and_then(|entry| entry.planned)) {
        (Some(turn), _) => path.push_str(&format!(" → planned and told in turn {turn}")),
        (None, Some(turn)) => path.push_str(&format!(" → planned for turn {turn}, never told")),
        (None, None) => {}
    }
    for (turn, verdict) in &requirement.online {
        path.push_str(&format!(" → turn {turn}: {}", words::verdict(*verdict)));
    }
    if requirement.corrections > 0 {
        let noun = if requirement.corrections == 1 { "correction" } else { "corrections" };
        path.push_str(&format!(" ({} {noun})", requirement.corrections));
    }
    if let Some(verdict) = requirement.sealed {
        path.push_str(&format!(" → seal: {}", words::verdict(verdict)));
    }
    path
}

fn cells(
    requirement: &RequirementResult,
    entry: Option<&LedgerEntry>,
    turns: usize,
) -> Vec<LaneCell> {
    let due = entry.and_then(|entry| entry.due);
    let planned = entry.and_then(|entry| entry.planned);
    let raised: &[Turn] = entry.map_or(&[], |entry| &entry.raised);
    let waiting = |turn: Turn| match due {
        Some(due) if due <= turn => step(Stage::Due, "due"),
        _ => step(Stage::Hidden, "hidden"),
    };
    let mut cells = vec![LaneCell { moment: "start".to_owned(), steps: vec![waiting(Turn::BASE)] }];
    for turn in (1..).take(turns).map(Turn) {
        let mut steps = Vec::new();
        match requirement.delivered {
            Some(told) if told <= turn => {
                if told == turn {
                    steps.push(step(Stage::Delivered, "told"));
                }
                if raised.contains(&turn) {
                    steps.push(step(Stage::Corrected, "corrected"));
                }
                match requirement.online.iter().find(|(at, _)| *at == turn) {
                    Some((_, verdict)) => steps.push(judged(*verdict)),
                    None => steps.push(step(Stage::Waiting, "no verdict")),
                }
            }
            _ => {
                if planned == Some(turn) {
                    steps.push(step(Stage::Planned, "planned, not delivered"));
                } else {
                    steps.push(waiting(turn));
                }
            }
        }
        cells.push(LaneCell { moment: format!("turn {turn}"), steps });
    }
    let sealed = match requirement.sealed {
        Some(verdict) => judged(verdict),
        None if requirement.delivered.is_none() => step(Stage::Hidden, "never told"),
        None => step(Stage::Waiting, "not sealed"),
    };
    cells.push(LaneCell { moment: "seal".to_owned(), steps: vec![sealed] });
    cells
}

fn judged(verdict: Verdict) -> LaneStep {
    let stage = match verdict {
        Verdict::Met => Stage::Met,
        Verdict::Unmet => Stage::Unmet,
        Verdict::Violated => Stage::Violated,
        Verdict::Undecided(_) => Stage::Undecided,
        Verdict::Vacuous => Stage::Vacuous,
    };
    LaneStep { stage, words: words::verdict(verdict) }
}

fn step(stage: Stage, words: &str) -> LaneStep {
    LaneStep { stage, words: words.to_owned() }
}

#[cfg(test)]
mod tests {
    use domain::{evidence::Missing, ids::RequirementId, release::Area, verdict::Outcome};

    use super::*;

    struct Fate {
        due: Option<u32>,
        planned: Option<u32>,
        told: Option<u32>,
        raised: &'static [u32],
        online: &'static [(u32, Verdict)],
        sealed: Option<Verdict>,
    }

    fn check(fate: &Fate, turns: usize, expect: (&str, &str)) {
        let requirement = RequirementResult {
            id: RequirementId::new("r"),
            area: Area::Delivery,
            mandatory: true,
            delivered: fate.told.map(Turn),
            corrections: fate.raised.len() as u32,
            online: fate.online.iter().map(|(turn, verdict)| (Turn(*turn), *verdict)).collect(),
            sealed: fate.sealed,
            outcome: Outcome::NotGraded,
            disagreements: 0,
        };
        let entry = LedgerEntry {
            requirement: RequirementId::new("r"),
            due: fate.due.map(Turn),
            planned: fate.planned.map(Turn),
            told: fate.told.map(Turn),
            raised: fate.raised.iter().copied().map(Turn).collect(),
        };
        let shown: Vec<String> = cells(&requirement, Some(&entry), turns)
            .into_iter()
            .map(|cell| {
                let steps: Vec<String> = cell.steps.into_iter().map(|step| step.words).collect();
                steps.join("+")
            })
            .collect();
        assert_eq!(shown.join(" | "), expect.0);
        assert_eq!(path(&requirement, Some(&entry)), expect.1);
    }

    #[test]
    fn a_lane_goes_from_hidden_to_the_seal() {
        check(
            &Fate {
                due: Some(1),
                planned: Some(2),
                told: Some(2),
                raised: &[3],
                online: &[(2, Verdict::Unmet), (3, Verdict::Met)],
                sealed: Some(Verdict::Met),
            },
            3,
            (
                "hidden | due | told+unmet | corrected+met | met",
                "hidden → due after turn 1 → planned and told in turn 2 → turn 2: unmet → turn 3: met \
                 (1 correction) → seal: met",
            ),
        );
        let never =
            Fate { due: None, planned: None, told: None, raised: &[], online: &[], sealed: None };
        check(&never, 2, ("hidden | hidden | hidden | never told", "hidden"));
        check(
            &Fate { due: Some(0), planned: Some(1), ..never },
            1,
            (
                "due | planned, not delivered | never told",
                "hidden → due at the opening → planned for turn 1, never told",
            ),
        );
        check(
            &Fate {
                due: Some(0),
                planned: Some(1),
                told: Some(1),
                online: &[(1, Verdict::Undecided(Missing::NotLooked))],
                ..never
            },
            2,
            (
                "due | told+undecided (not looked) | no verdict | not sealed",
                "hidden → due at the opening → planned and told in turn 1 → turn 1: undecided (not looked)",
            ),
        );
    }
}
