//! The turns of a session: what was said, run, changed, asked for and granted in each.

use domain::{
    controller::{Grant, SpeechAct, TurnKind, TurnPlan},
    evidence::{Change, Channel, NetAttempt, NetOutcome, NetTransport, NetWay, ProcessEvent},
    ids::Turn,
    session::{Answer, Command, Event, Observation, Session},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    StorySources,
    evidence::LookStory,
    files::{ChangedFile, States, is_inside_git},
    steps::verified_words,
    work::WorkStory,
};
use crate::context::{model_use::ModelStory, words};

/// Programs and changes shown of each turn; the rest is counted.
const SHOWN_MAX: usize = 40;

/// Characters of a command that are kept; a script on a command line would fill the page.
const COMMAND_MAX: usize = 2_000;

/// One turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnStory {
    /// Its number.
    pub turn: u32,
    /// File and line of the prompt that opened it.
    pub line: String,
    /// What the controller let the user convey.
    pub acts: Vec<ActStory>,
    /// The user's message.
    pub user: String,
    /// What the agent told of its own work.
    pub work: WorkStory,
    /// What it asked of its model, by the gateway; absent if it asked nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelStory>,
    /// Programs that the agent ran.
    pub ran: Vec<RanProgram>,
    /// How many more.
    pub ran_more: usize,
    /// What it tried to reach over the network.
    pub reached: Vec<ReachedHost>,
    /// How many more.
    pub reached_more: usize,
    /// Files that changed, git's own aside.
    pub changed: Vec<ChangedFile>,
    /// How many more.
    pub changed_more: usize,
    /// Files of git's own that changed.
    pub changed_git: usize,
    /// What the agent said before its last tool call.
    pub narration: String,
    /// The message: what it said after that.
    pub agent: String,
    /// File and line of the last thing it said.
    pub agent_line: Option<String>,
    /// Classes of action that it asked for, in words or inside the turn.
    pub asked_for: Vec<String>,
    /// Permissions that the message which opened the turn gave.
    pub granted: Vec<String>,
    /// Permission requests, flags, watchdogs.
    pub events: Vec<EventStory>,
    /// Agent time of the turn; absent if it did not come to an end.
    pub agent_ms: Option<u64>,
    /// How the agent's turn ended and what it was taken for.
    pub ended: Option<String>,
    /// What the checks read at its end.
    pub look: Option<LookStory>,
}

/// One act of the user's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ActStory {
    /// In words.
    pub words: String,
    /// The requirement that it tells or corrects.
    pub requirement: Option<String>,
}

/// Something that happened beside the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventStory {
    /// In words.
    pub words: String,
    /// File and line.
    pub line: String,
}

/// A program that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RanProgram {
    /// Its argument vector, shell-like.
    pub command: String,
    /// How it exited.
    pub exit_code: Option<i32>,
}

/// An attempt to reach a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReachedHost {
    /// Host and port, as the program named them, with what else is known of it.
    pub place: String,
    /// `refused`, `failed` or `reached`.
    pub outcome: String,
    /// By which rule.
    pub rule: String,
    /// Bytes sent and received.
    pub bytes: Option<(u64, u64)>,
}

pub(super) fn turns(
    sources: &StorySources<'_>,
    session: &Session,
    looks: &[LookStory],
    states: &States<'_>,
) -> Vec<TurnStory> {
    let mut turns: Vec<TurnStory> = Vec::new();
    let mut acts: Vec<ActStory> = Vec::new();
    for (at, entry) in sources.entries.iter().enumerate() {
        match &entry.event {
            Event::Decided(_, Command::Word { plan, nth, .. }) => {
                acts = describe_acts(plan);
                if *nth > 1 {
                    acts.push(act(format!("worded again, try {nth}"), None));
                }
            }
            Event::Decided(_, Command::Prompt { turn, message, .. }) => turns.push(TurnStory {
                turn: turn.0,
                line: sources.places.line(at),
                acts: std::mem::take(&mut acts),
                user: message.clone(),
                look: looks.iter().find(|look| look.is_of_turn(turn.0)).cloned(),
                ..TurnStory::default()
            }),
            other => {
                if let Some(turn) = turns.last_mut() {
                    add(turn, at, other, sources, states);
                }
            }
        }
    }
    for turn in &mut turns {
        judge(turn, session);
    }
    turns
}

fn add(
    turn: &mut TurnStory,
    at: usize,
    event: &Event,
    sources: &StorySources<'_>,
    states: &States<'_>,
) {
    match event {
        Event::Observed(Observation::AgentSaid { text, .. }) => {
            append(&mut turn.agent, text);
            turn.agent_line = Some(sources.places.line(at));
        }
        Event::Observed(seen) if turn.work.take(seen, sources) => {
            if matches!(seen, Observation::AgentActed(_)) {
                let said = std::mem::take(&mut turn.agent);
                append(&mut turn.narration, &said);
            }
        }
        Event::Observed(Observation::Cut { channel: Channel::Processes, blob, .. }) => {
            let programs = sources.payloads.processes(blob).unwrap_or_default();
            let room = SHOWN_MAX.saturating_sub(turn.ran.len());
            turn.ran_more += programs.len().saturating_sub(room);
            turn.ran.extend(programs.iter().take(room).map(ran));
        }
        Event::Observed(Observation::Cut { channel: Channel::Network, blob, .. }) => {
            let attempts = sources.payloads.network(blob).unwrap_or_default();
            let room = SHOWN_MAX.saturating_sub(turn.reached.len());
            turn.reached_more += attempts.len().saturating_sub(room);
            turn.reached.extend(attempts.iter().take(room).map(reached));
        }
        Event::Observed(Observation::Cut { channel: Channel::Resources, blob, .. }) => {
            let model = turn.model.get_or_insert_default();
            match sources.payloads.calls(blob) {
                Some(calls) => model.take(&calls, &|hash| sources.payloads.place(hash)),
                None => model.sum.unread += 1,
            }
        }
        Event::Observed(Observation::Cut { channel: Channel::Manifest, blob, .. }) => {
            let changes = sources.payloads.changes(blob).unwrap_or_default();
            let (of_git, changes): (Vec<Change>, Vec<Change>) =
                changes.into_iter().partition(|change| is_inside_git(&change.path));
            let room = SHOWN_MAX.saturating_sub(turn.changed.len());
            turn.changed_git += of_git.len();
            turn.changed_more += changes.len().saturating_sub(room);
            turn.changed.extend(changes.iter().take(room).map(|change| states.changed(at, change)));
        }
        Event::Answered(_, Answer::TurnEnded { stop, agent_ms }) => {
            turn.agent_ms = Some(*agent_ms);
            turn.ended = Some(format!("the agent {}", words::stop(*stop)));
        }
        other => {
            if let Some(words) = happened(other) {
                turn.events.push(EventStory { words, line: sources.places.line(at) });
            }
        }
    }
}

fn happened(event: &Event) -> Option<String> {
    Some(match event {
        Event::Observed(Observation::PermissionRequested(request)) => {
            let class = request.class.map_or("no known class", |class| class.name());
            match &request.subject {
                Some(subject) => {
                    format!("asked inside the turn for permission: {class}, {subject}")
                }
                None => format!("asked inside the turn for permission: {class}"),
            }
        }
        Event::Observed(Observation::Flagged { flag, detail }) => {
            format!("flag {} ({}): {detail}", flag.name(), flag.owner().name())
        }
        Event::Observed(Observation::WatchdogFired(watchdog)) => {
            format!("watchdog: {}", words::watchdog(*watchdog))
        }
        Event::Observed(Observation::DriverNoted { text, .. }) => text.clone(),
        Event::Observed(Observation::Cancelled) => "the operator stopped it".to_owned(),
        Event::Observed(Observation::Stray { detail }) => format!("a stray answer: {detail}"),
        Event::Decided(_, Command::Interrupt { because }) => {
            format!("interrupted: {}", because.name())
        }
        Event::Decided(_, Command::AnswerPermission { allow, .. }) => {
            if *allow { "allowed once" } else { "rejected" }.to_owned()
        }
        Event::Answered(_, Answer::StepVerified { report, .. }) => verified_words(&report.outcome),
        Event::Answered(_, Answer::StepPlaced { changed, .. }) => {
            format!("the next step's files were placed: {changed} paths changed")
        }
        Event::Answered(_, Answer::Captured { limit_hit: Some(limit), .. }) => {
            format!("a limit of the sandbox was breached: {limit}")
        }
        Event::Answered(_, Answer::Failed { flag, detail, .. }) => {
            format!("fault {} ({}): {detail}", flag.name(), flag.owner().name())
        }
        _ => return None,
    })
}

/// What the controller made of the turn.
fn judge(turn: &mut TurnStory, session: &Session) {
    let own = Turn(turn.turn);
    let granted = session.grants().iter().filter(|grant| grant.from == own);
    turn.granted = granted.map(describe_grant).collect();
    let Some(record) = session.records().iter().find(|record| record.turn == own) else { return };
    turn.asked_for = record.classes_asked.iter().map(|class| class.name().to_owned()).collect();
    let step = session.scenario().steps.get(turn.turn.saturating_sub(1) as usize);
    // Of a step the agent's words decide nothing.
    let taken_for = match (record.kind, step) {
        (TurnKind::Stopped, _) => "cut short".to_owned(),
        (_, Some(step)) => format!("the step {} is over", step.name),
        (TurnKind::Handoff, None) => "taken for a hand-off".to_owned(),
        (TurnKind::Open, None) => "a question is left open".to_owned(),
        (TurnKind::Idle, None) => "taken for idle".to_owned(),
    };
    turn.ended = Some(match turn.ended.take() {
        Some(ended) => format!("{ended}; {taken_for}"),
        None => taken_for,
    });
}

fn describe_grant(grant: &Grant) -> String {
    let scope = match &grant.scope[..] {
        [] => "the whole class".to_owned(),
        list => list.join(", "),
    };
    let uses = if grant.uses == 1 { "1 use".to_owned() } else { format!("{} uses", grant.uses) };
    let turns =
        if grant.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", grant.turns) };
    format!("{}: {scope}; {uses}, {turns}", grant.class.name())
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

fn ran(program: &ProcessEvent) -> RanProgram {
    let joined = program.argv.join(" ");
    let command = match joined.char_indices().nth(COMMAND_MAX) {
        None => joined,
        Some((end, _)) => format!("{}…", &joined[..end]),
    };
    RanProgram { command, exit_code: program.exit_code }
}

fn reached(attempt: &NetAttempt) -> ReachedHost {
    let mut place = attempt.host.clone();
    if attempt.port != 0 {
        place.push_str(&format!(":{}", attempt.port));
    }
    let by = match attempt.transport {
        NetTransport::Tcp => String::new(),
        NetTransport::Udp => " by UDP".to_owned(),
        NetTransport::Icmp => " by ICMP".to_owned(),
        NetTransport::Other(number) => format!(" by protocol {number}"),
    };
    match attempt.way {
        NetWay::Resolver => place.push_str(", its address"),
        NetWay::Hosted => place.push_str(", by its provider"),
        NetWay::Direct | NetWay::Proxy => place.push_str(&by),
    }
    if let Some(name) = attempt.sni.as_ref().filter(|name| **name != attempt.host) {
        place.push_str(&format!(", as {name}"));
    }
    if let Some(method) = &attempt.method {
        place.push_str(&format!(", {method} {}", attempt.path.as_deref().unwrap_or_default()));
    }
    let outcome = match attempt.outcome {
        NetOutcome::Refused => "refused",
        NetOutcome::Failed => "failed",
        NetOutcome::Succeeded => "reached",
    };
    let is_reached = attempt.outcome == NetOutcome::Succeeded;
    ReachedHost {
        place: place.trim_end().to_owned(),
        outcome: outcome.to_owned(),
        rule: attempt.rule.clone(),
        bytes: is_reached.then_some((attempt.sent_bytes, attempt.received_bytes)),
    }
}

fn act(words: String, requirement: Option<String>) -> ActStory {
    ActStory { words, requirement }
}

fn describe_acts(plan: &TurnPlan) -> Vec<ActStory> {
    let acts = plan.acts.iter().map(|speech| {
        let words = match speech {
            SpeechAct::Open { .. } if plan.turn > Turn(1) => "asks for the next step".to_owned(),
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
                format!("corrects {requirement} ({})", words::level(*level))
            }
            SpeechAct::Tell { requirement, .. } => format!("tells {requirement}"),
            SpeechAct::Acknowledge { requirement, .. } => {
                format!("tells {requirement}, which is met already")
            }
            SpeechAct::Nudge { .. } => "nudges".to_owned(),
            SpeechAct::CheckAgain { .. } => "asks to check once more".to_owned(),
            SpeechAct::Continue { .. } => "lets the agent go on".to_owned(),
        };
        let requirement = speech.delivers().or_else(|| speech.corrects());
        act(words, requirement.map(ToString::to_string))
    });
    acts.collect()
}
