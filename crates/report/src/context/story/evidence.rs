//! What the checks of a session read at each look, what the native verifier left, and what is flagged.

use std::collections::BTreeSet;

use domain::{
    acceptance::{Look, Occurrence, Reading, Truth},
    result::SessionResult,
    session::{Answer, Command, CompletionReport, Event, Scenario},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ArtifactStory, HookStory, StepStory, StorySources};
use crate::context::words;

/// The latest occurrences of a check are listed; what was before them is counted.
const OCCURRENCES_MAX: usize = 50;

/// Characters of a witness or subject that are kept; the log has the whole.
const WITNESS_MAX: usize = 2_000;

/// One look: everything that was read at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LookStory {
    /// `turn 3` or `seal`.
    pub look: String,
    /// File and line of the readings.
    pub line: String,
    /// What was read.
    pub readings: Vec<ReadingStory>,
    #[serde(skip)]
    turn: Option<u32>,
    #[serde(skip)]
    raw: Vec<(String, Vec<OccurrenceStory>, usize)>,
}

/// What one check read at one look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadingStory {
    /// The check.
    pub check: String,
    /// True, false, unknown, how many occurrences, or missing.
    pub answer: String,
    /// Why, in short.
    pub witness: String,
}

/// One check with everything that it read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckStory {
    /// Its name.
    pub check: String,
    /// Requirements whose acceptance rests on it.
    pub serves: Vec<String>,
    /// At each look: moment, answer, witness, file and line.
    pub looks: Vec<CheckLook>,
    /// The latest occurrences as last read.
    pub occurrences: Vec<OccurrenceStory>,
    /// How many more.
    pub occurrences_more: usize,
}

/// What a check read at a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckLook {
    /// `turn 3` or `seal`.
    pub look: String,
    /// True, false, unknown, how many occurrences, or missing.
    pub answer: String,
    /// Why, in short.
    pub witness: String,
    /// File and line.
    pub line: String,
}

/// One occurrence of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OccurrenceStory {
    /// Its turn.
    pub turn: u32,
    /// Not before this, in milliseconds since the sandbox was ready.
    pub earliest_ms: i64,
    /// Not after this.
    pub latest_ms: i64,
    /// What it was.
    pub subject: String,
}

/// A validity flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlagStory {
    /// Its name.
    pub flag: String,
    /// Who answers for it.
    pub owner: String,
    /// Whether it takes validity away here.
    pub counts: bool,
    /// In words.
    pub detail: String,
}

/// What the native verifier left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CompletionStory {
    /// Completed, not completed, not graded.
    pub verdict: String,
    /// Rewards, or why there are none.
    pub outcome: String,
    /// What the pair asks.
    pub rule: String,
    /// How long it took.
    pub took_ms: u64,
    /// What it printed, as far as it is text; absent if it is not kept.
    pub output: Option<String>,
    /// Where that lies, as a path within the run's folder.
    pub output_place: Option<String>,
    /// Commands that were run before artifacts were taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookStory>,
    /// What was kept beside the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactStory>,
    /// Programs that ran beside the tests; absent if these ran where nothing of the agent could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survivors: Option<Vec<String>>,
    /// File and line.
    pub line: String,
}

impl LookStory {
    /// Whether it is the look at the seal.
    pub fn is_seal(&self) -> bool {
        self.turn.is_none()
    }

    pub(super) fn is_of_turn(&self, turn: u32) -> bool {
        self.turn == Some(turn)
    }
}

/// Every look with its readings, in order.
pub(super) fn looks(sources: &StorySources<'_>) -> Vec<LookStory> {
    let mut looks = Vec::new();
    let mut open = None;
    for (at, entry) in sources.entries.iter().enumerate() {
        match &entry.event {
            Event::Decided(_, Command::Check { look, .. }) => open = Some(*look),
            Event::Answered(_, Answer::Read { readings }) => {
                let Some(look) = open.take() else { continue };
                looks.push(LookStory {
                    look: words::look(look),
                    line: sources.places.line(at),
                    readings: readings
                        .iter()
                        .map(|(check, reading)| told(check.as_str(), reading))
                        .collect(),
                    turn: match look {
                        Look::Turn(turn) => Some(turn.0),
                        Look::Sealed => None,
                    },
                    raw: readings
                        .iter()
                        .filter_map(|(check, reading)| match reading {
                            Reading::Events(list) => Some((check.to_string(), list)),
                            _ => None,
                        })
                        .map(|(check, list)| {
                            let skipped = list.len().saturating_sub(OCCURRENCES_MAX);
                            let shown = list.iter().skip(skipped).map(occurrence);
                            (check, shown.collect(), skipped)
                        })
                        .collect(),
                });
            }
            _ => {}
        }
    }
    looks
}

fn told(check: &str, reading: &Reading) -> ReadingStory {
    let (answer, witness) = match reading {
        Reading::State { truth, witness } => {
            let answer = match truth {
                Truth::True => "true".to_owned(),
                Truth::False => "false".to_owned(),
                Truth::Unknown(cause) => format!("unknown ({})", cause.name()),
            };
            (answer, shortened(witness))
        }
        Reading::Events(list) => match list.last() {
            None => ("no occurrence".to_owned(), String::new()),
            Some(last) => {
                let noun = if list.len() == 1 { "occurrence" } else { "occurrences" };
                let witness = format!("latest in turn {}: {}", last.turn, shortened(&last.subject));
                (format!("{} {noun}", list.len()), witness)
            }
        },
        Reading::Missing(cause) => (format!("missing ({})", cause.name()), String::new()),
    };
    ReadingStory { check: check.to_owned(), answer, witness }
}

fn occurrence(occurrence: &Occurrence) -> OccurrenceStory {
    OccurrenceStory {
        turn: occurrence.turn.0,
        earliest_ms: occurrence.time.earliest_ms,
        latest_ms: occurrence.time.latest_ms,
        subject: shortened(&occurrence.subject),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(WITNESS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The looks turned round: each declared check with everything that it read.
pub(super) fn checks(scenario: &Scenario, looks: &[LookStory]) -> Vec<CheckStory> {
    let checks = scenario.checks.iter().map(|check| {
        let name = check.id.as_str();
        let serves = scenario.requirements.iter().filter(|requirement| {
            requirement.pass.checks().into_iter().any(|needed| *needed == check.id)
        });
        let own = looks.iter().flat_map(|look| {
            let of_check = look.readings.iter().filter(|reading| reading.check == name);
            of_check.map(|reading| CheckLook {
                look: look.look.clone(),
                answer: reading.answer.clone(),
                witness: reading.witness.clone(),
                line: look.line.clone(),
            })
        });
        let latest = looks.iter().rev().find_map(|look| {
            look.raw.iter().find(|(check, ..)| check == name).map(|(_, list, more)| (list, *more))
        });
        let (occurrences, occurrences_more) =
            latest.map_or((Vec::new(), 0), |(list, more)| (list.clone(), more));
        CheckStory {
            check: name.to_owned(),
            serves: serves
                .map(|requirement| requirement.id.to_string())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            looks: own.collect(),
            occurrences,
            occurrences_more,
        }
    });
    checks.collect()
}

pub(super) fn flags(result: &SessionResult) -> Vec<FlagStory> {
    let counting: BTreeSet<_> = result.counting_flags().collect();
    let flags = result.flags.iter().map(|(flag, detail)| FlagStory {
        flag: flag.name().to_owned(),
        owner: flag.owner().name().to_owned(),
        counts: counting.contains(flag),
        detail: detail.clone(),
    });
    flags.collect()
}

pub(super) fn closing(
    result: &SessionResult,
    steps: &[StepStory],
    completion: Option<&CompletionStory>,
) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push(match &result.completion {
        None => "completion: not verified".to_owned(),
        Some(outcome) => {
            format!("completion: {} ({})", completed(result), words::completion(outcome))
        }
    });
    if let Some(completion) = completion {
        lines.extend(left_beside(completion));
    }
    for step in steps {
        lines.push(format!("step {}: {}", step.step, step.outcome));
        lines.extend(step.artifacts.iter().map(ArtifactStory::line));
    }
    if let Some(personalized) = result.personalized {
        lines.push(format!(
            "personalization: {}",
            if personalized { "passed" } else { "not passed" }
        ));
    }
    lines.push(format!(
        "{} budget, {}",
        if result.within_budget { "within" } else { "over" },
        if result.valid { "valid" } else { "not valid" }
    ));
    for (flag, detail) in &result.flags {
        lines.push(format!("flag {} ({}): {detail}", flag.name(), flag.owner().name()));
    }
    lines
}

/// What ran beside the tests and what was kept; of a task that has steps each step tells its own.
fn left_beside(completion: &CompletionStory) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(survivors) = &completion.survivors {
        let beside = match survivors.is_empty() {
            true => "nothing".to_owned(),
            false => survivors.join(", "),
        };
        lines.push(format!("verified in place, beside what still ran: {beside}"));
    }
    for hook in &completion.hooks {
        lines.push(format!("hook `{}`: {}", hook.command, hook.ended));
    }
    lines.extend(completion.artifacts.iter().map(ArtifactStory::line));
    lines
}

fn completed(result: &SessionResult) -> &'static str {
    match result.completed {
        Some(true) => "completed",
        Some(false) => "not completed",
        None => "not graded",
    }
}

/// What the verifier left, from the last of its reports.
pub(super) fn completion(sources: &StorySources<'_>) -> Option<CompletionStory> {
    let (at, report) =
        sources.entries.iter().enumerate().rev().find_map(|(at, entry)| match &entry.event {
            Event::Answered(
                _,
                Answer::CompletionVerified(report) | Answer::StepVerified { report, .. },
            ) => Some((at, report)),
            _ => None,
        })?;
    let CompletionReport { outcome, took_ms, output, survivors, .. } = report;
    let bytes = output.as_ref().and_then(|hash| sources.payloads.bytes(hash));
    let rule = &sources.scenario.completion;
    let asked = format!("{} of at least {}", rule.key, rule.at_least);
    let together = super::steps::together(sources.scenario);
    let outcome =
        sources.result.completion.as_ref().filter(|_| together.is_some()).unwrap_or(outcome);
    Some(CompletionStory {
        verdict: completed(sources.result).to_owned(),
        outcome: words::completion(outcome),
        rule: together.as_ref().map_or(asked.clone(), |together| format!("{asked}, {together}")),
        took_ms: *took_ms,
        output: bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        output_place: output.as_ref().and_then(|hash| sources.payloads.place(hash)),
        hooks: super::artifacts::hooks(report, sources),
        artifacts: match together {
            None => super::artifacts::artifacts(report, sources),
            // Each step tells its own.
            Some(_) => Vec::new(),
        },
        survivors: survivors.clone(),
        line: sources.places.line(at),
    })
}
