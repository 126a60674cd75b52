//! One session as a story: what was said, run and changed in each turn, and the way of each requirement.

use domain::{
    acceptance::{Look, Reading, Truth},
    controller::{SpeechAct, TurnPlan},
    evidence::{Change, ChangeKind, Channel, ProcessEvent},
    ids::Hash,
    result::SessionResult,
    session::{Answer, Command, CompletionOutcome, Entry, Event, Observation, Scenario},
    verdict::Verdict,
};
use serde::Serialize;

use super::group::class_name;

/// Programs and changes shown of each turn; the rest is counted.
const SHOWN_MAX: usize = 40;

/// Characters of a command or witness that are shown.
const LINE_MAX: usize = 160;

/// A session that a person can follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoryContext {
    /// Pair, repeat, attempt.
    pub title: String,
    /// Task, persona, arm.
    pub preface: Vec<String>,
    /// Turn by turn.
    pub turns: Vec<TurnStory>,
    /// How it ended.
    pub ending: String,
    /// The user's words on work that is taken, completion, flags.
    pub closing: Vec<String>,
    /// The way of each requirement from hidden to verdict.
    pub lanes: Vec<Lane>,
}

/// One turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TurnStory {
    /// Its number.
    pub turn: u32,
    /// What the controller let the user convey, in words.
    pub acts: Vec<String>,
    /// The user's message.
    pub user: String,
    /// Programs that the agent ran.
    pub ran: Vec<RanProgram>,
    /// How many more.
    pub ran_more: usize,
    /// Files that changed.
    pub changed: Vec<String>,
    /// How many more.
    pub changed_more: usize,
    /// What the agent said.
    pub agent: String,
    /// Permission requests, flags, watchdogs.
    pub events: Vec<String>,
    /// What checks read.
    pub readings: Vec<String>,
}

/// A program that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RanProgram {
    /// Its argument vector, shell-like.
    pub command: String,
    /// How it exited.
    pub exit_code: Option<i32>,
}

/// The way of one requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// Which.
    pub id: String,
    /// Its area.
    pub area: String,
    /// Whether personalization needs it.
    pub mandatory: bool,
    /// Its public text.
    pub text: String,
    /// From hidden to verdict in one line.
    pub path: String,
    /// What became of it.
    pub outcome: String,
}

/// What a story is made from; blobs are looked up by hash.
pub struct StorySources<'a> {
    /// The compiled setting.
    pub scenario: &'a Scenario,
    /// The log.
    pub entries: &'a [Entry],
    /// Its fold.
    pub result: &'a SessionResult,
    /// Programs of a cut of E3.
    pub processes: &'a dyn Fn(&Hash) -> Option<Vec<ProcessEvent>>,
    /// Changes of a cut of E1.
    pub changes: &'a dyn Fn(&Hash) -> Option<Vec<Change>>,
}

/// Tells a session.
pub fn story(sources: &StorySources<'_>) -> StoryContext {
    let scenario = sources.scenario;
    let result = sources.result;
    StoryContext {
        title: format!(
            "{} · repeat {} · attempt {} · {}",
            result.pair,
            result.repeat,
            result.attempt,
            class_name(result.class, scenario.arm.has_persona())
        ),
        preface: vec![
            format!("task {}, arm {}", scenario.task, scenario.arm.name()),
            format!("user: {}", scenario.persona.role),
        ],
        turns: turns(sources),
        ending: result.ending.name().to_owned(),
        closing: closing(scenario, result),
        lanes: lanes(scenario, result),
    }
}

fn turns(sources: &StorySources<'_>) -> Vec<TurnStory> {
    let mut turns: Vec<TurnStory> = Vec::new();
    let mut acts: Vec<String> = Vec::new();
    for entry in sources.entries {
        match &entry.event {
            Event::Decided(_, Command::Word { plan, nth, .. }) => {
                acts = describe_acts(plan);
                if *nth > 1 {
                    acts.push(format!("worded again, try {nth}"));
                }
            }
            Event::Decided(_, Command::Prompt { turn, message, .. }) => turns.push(TurnStory {
                turn: turn.0,
                acts: std::mem::take(&mut acts),
                user: message.clone(),
                ..TurnStory::default()
            }),
            other => {
                if let Some(turn) = turns.last_mut() {
                    add(turn, other, sources);
                }
            }
        }
    }
    turns
}

fn add(turn: &mut TurnStory, event: &Event, sources: &StorySources<'_>) {
    match event {
        Event::Observed(Observation::AgentSaid { text, .. }) => {
            if !turn.agent.is_empty() {
                turn.agent.push('\n');
            }
            turn.agent.push_str(text);
        }
        Event::Observed(Observation::Cut { channel: Channel::Processes, blob, .. }) => {
            let programs = (sources.processes)(blob).unwrap_or_default();
            turn.ran_more += programs.len().saturating_sub(SHOWN_MAX);
            turn.ran.extend(programs.iter().take(SHOWN_MAX).map(ran));
        }
        Event::Observed(Observation::Cut { channel: Channel::Manifest, blob, .. }) => {
            let changes = (sources.changes)(blob).unwrap_or_default();
            turn.changed_more += changes.len().saturating_sub(SHOWN_MAX);
            turn.changed.extend(changes.iter().take(SHOWN_MAX).map(changed));
        }
        Event::Observed(Observation::PermissionRequested(request)) => {
            let class = request.class.map_or("no known class", |class| class.name());
            turn.events.push(format!("asked inside the turn for permission: {class}"));
        }
        Event::Observed(Observation::Flagged { flag, detail }) => {
            turn.events.push(format!("flag {}: {detail}", flag.name()));
        }
        Event::Observed(Observation::WatchdogFired(watchdog)) => {
            turn.events.push(format!("watchdog: {watchdog:?}"));
        }
        Event::Observed(Observation::Cancelled) => {
            turn.events.push("the operator stopped it".into())
        }
        Event::Decided(_, Command::Interrupt { because }) => {
            turn.events.push(format!("interrupted: {}", because.name()));
        }
        Event::Decided(_, Command::AnswerPermission { allow, .. }) => {
            turn.events.push(if *allow { "allowed once" } else { "rejected" }.into());
        }
        Event::Decided(_, Command::Check { look, .. }) => turn.readings.push(match look {
            Look::Turn(_) => "readings at the end of the turn".to_owned(),
            Look::Sealed => "readings at the seal".to_owned(),
        }),
        Event::Answered(_, Answer::Read { readings }) => {
            turn.readings.extend(
                readings
                    .iter()
                    .map(|(check, reading)| format!("{check}: {}", describe_reading(reading))),
            );
        }
        Event::Answered(_, Answer::Failed { flag, detail, .. }) => {
            turn.events.push(format!("fault {}: {detail}", flag.name()));
        }
        _ => {}
    }
}

fn ran(program: &ProcessEvent) -> RanProgram {
    RanProgram { command: shortened(&program.argv.join(" ")), exit_code: program.exit_code }
}

/// One line of at the most [`LINE_MAX`] characters; scripts on a command line would fill the page.
fn shortened(text: &str) -> String {
    let line = text.replace(['\n', '\t'], " ");
    if line.chars().count() <= LINE_MAX {
        return line;
    }
    line.chars().take(LINE_MAX).chain(['…']).collect()
}

fn changed(change: &Change) -> String {
    let what = match change.kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::ModeChanged => "mode changed",
        ChangeKind::KindChanged => "kind changed",
        ChangeKind::Deleted => "deleted",
    };
    format!("{what} {}", change.path)
}

fn describe_acts(plan: &TurnPlan) -> Vec<String> {
    plan.acts
        .iter()
        .map(|act| match act {
            SpeechAct::Open { .. } => "opens with the task".to_owned(),
            SpeechAct::Grant { class, .. } => format!("grants {}", class.name()),
            SpeechAct::Refuse { class: Some(class), .. } => format!("refuses {}", class.name()),
            SpeechAct::Refuse { class: None, .. } => {
                "refuses a request of no known class".to_owned()
            }
            SpeechAct::Answer { topic, .. } => format!("answers about {topic}"),
            SpeechAct::Defer { .. } => "puts a question off".to_owned(),
            SpeechAct::DontKnow { .. } => "has no answer".to_owned(),
            SpeechAct::Correct { requirement, level, .. } => {
                format!("corrects {requirement} ({})", format!("{level:?}").to_lowercase())
            }
            SpeechAct::Tell { requirement, .. } => format!("tells {requirement}"),
            SpeechAct::Acknowledge { requirement, .. } => {
                format!("tells {requirement}, which is met already")
            }
            SpeechAct::Nudge { .. } => "nudges".to_owned(),
            SpeechAct::CheckAgain { .. } => "asks to check once more".to_owned(),
            SpeechAct::Continue { .. } => "lets the agent go on".to_owned(),
        })
        .collect()
}

fn describe_reading(reading: &Reading) -> String {
    match reading {
        Reading::State { truth, witness } => {
            let truth = match truth {
                Truth::True => "true".to_owned(),
                Truth::False => "false".to_owned(),
                Truth::Unknown(cause) => format!("unknown ({})", cause.name()),
            };
            if witness.is_empty() { truth } else { format!("{truth} — {witness}") }
        }
        Reading::Events(events) if events.is_empty() => "no occurrence".to_owned(),
        Reading::Events(events) => {
            let shown: Vec<String> = events
                .iter()
                .rev()
                .take(3)
                .map(|event| format!("turn {}: {}", event.turn, shortened(&event.subject)))
                .collect();
            format!("{} times, latest {}", events.len(), shown.join("; "))
        }
        Reading::Missing(cause) => format!("missing ({})", cause.name()),
    }
}

fn closing(scenario: &Scenario, result: &SessionResult) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(words) = scenario.closing_words(result.ending) {
        lines.push(format!("closing words, not sent: {words}"));
    }
    lines.push(match &result.completion {
        None => "completion: not verified".to_owned(),
        Some(outcome) => {
            let verdict = match result.completed {
                Some(true) => "completed",
                Some(false) => "not completed",
                None => "not graded",
            };
            format!("completion: {verdict} ({})", describe_completion(outcome))
        }
    });
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

fn describe_completion(outcome: &CompletionOutcome) -> String {
    match outcome {
        CompletionOutcome::Rewards(rewards) => {
            let each: Vec<String> =
                rewards.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            each.join(", ")
        }
        CompletionOutcome::NoReward => "no reward file".to_owned(),
        CompletionOutcome::BadReward(why) => format!("bad reward file: {why}"),
        CompletionOutcome::Contradictory(why) => format!("contradictory rewards: {why}"),
        CompletionOutcome::TimedOut => "the verifier ran out of time".to_owned(),
    }
}

fn lanes(scenario: &Scenario, result: &SessionResult) -> Vec<Lane> {
    result
        .requirements
        .iter()
        .map(|requirement| {
            let text = scenario
                .requirements
                .iter()
                .find(|declared| declared.id == requirement.id)
                .map_or_else(String::new, |declared| declared.text.trim().to_owned());
            let mut path = match requirement.delivered {
                Some(turn) => format!("hidden → told in turn {turn}"),
                None => "hidden".to_owned(),
            };
            for (turn, verdict) in &requirement.online {
                path.push_str(&format!(" → turn {turn}: {}", describe_verdict(*verdict)));
            }
            if requirement.corrections > 0 {
                let noun = if requirement.corrections == 1 { "correction" } else { "corrections" };
                path.push_str(&format!(" ({} {noun})", requirement.corrections));
            }
            if let Some(verdict) = requirement.sealed {
                path.push_str(&format!(" → seal: {}", describe_verdict(verdict)));
            }
            Lane {
                id: requirement.id.to_string(),
                area: requirement.area.name().to_owned(),
                mandatory: requirement.mandatory,
                text,
                path,
                outcome: requirement.outcome.name().to_owned(),
            }
        })
        .collect()
}

fn describe_verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Met => "met".to_owned(),
        Verdict::Unmet => "unmet".to_owned(),
        Verdict::Violated => "violated".to_owned(),
        Verdict::Undecided(cause) => format!("undecided ({})", cause.name()),
        Verdict::Vacuous => "vacuous".to_owned(),
    }
}
