//! Agents that speak this tool's own small protocol, lines of JSON on their standard streams ([`NdjsonAgent`]); for programs
//! and libraries that speak no other. `docs/agents.md` is its reference.

use std::sync::Arc;

use domain::{
    ids::Turn,
    session::{ClaimSpan, PlanEntry, PlanState, ToolKind, ToolOutcome, TurnStop, UseClaim},
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity},
    sandbox::Sandbox,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    child::command,
    cli::microusd,
    intake::{Call, Intake},
    talk::{Asked, Dialect, Heard, ProgramLaunch, Talk},
    tools::{printed, written},
};

/// The version of the protocol that is spoken.
const VERSION: u32 = 1;

/// The protocol has no late updates; whoever writes one in two pieces is waited for.
const LATE_UPDATES_MS: u64 = 50;

/// An agent that speaks this tool's own protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NdjsonAgent {
    launch: ProgramLaunch,
}

impl NdjsonAgent {
    /// An agent that is started like this.
    pub fn new(launch: ProgramLaunch) -> Self {
        Self { launch }
    }
}

#[async_trait::async_trait]
impl Agent for NdjsonAgent {
    fn identify(&self) -> Identity {
        Identity {
            name: self.launch.name.clone(),
            channels: super::channels(),
            late_updates_ms: LATE_UPDATES_MS,
        }
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        let command = command(self.launch.argv.clone(), &self.launch.env, brief)?;
        Ok(Box::new(Talk::open(sandbox, &command, brief, Ndjson { has_greeted: false }).await?))
    }
}

#[derive(Default)]
pub(super) struct Ndjson {
    has_greeted: bool,
}

/// What an agent says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Event {
    Hello {
        version: u32,
        name: Option<String>,
    },
    Said {
        text: String,
    },
    Thought {
        text: String,
    },
    Call {
        id: String,
        title: String,
        kind: Option<Kind>,
        input: Option<Value>,
    },
    Return {
        id: String,
        #[serde(default = "yes")]
        ok: bool,
        output: Option<Value>,
        exit_code: Option<i32>,
    },
    Plan {
        entries: Vec<Entry>,
    },
    Usage {
        #[serde(default)]
        span: Span,
        input: Option<u64>,
        cached: Option<u64>,
        output: Option<u64>,
        reasoning: Option<u64>,
        cost_usd: Option<f64>,
    },
    Note {
        text: String,
    },
    Permission {
        id: String,
        title: String,
        kind: Option<Kind>,
        command: Option<String>,
    },
    TurnEnd {
        #[serde(default)]
        stop: Stop,
        error: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    text: String,
    state: State,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Pending,
    Doing,
    Done,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Span {
    #[default]
    Turn,
    Session,
    Request,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stop {
    #[default]
    Finished,
    Refused,
    Interrupted,
    Error,
}

fn yes() -> bool {
    true
}

impl Dialect for Ndjson {
    fn opening(&mut self, brief: &Brief) -> Value {
        json!({
            "type": "hello",
            "version": VERSION,
            "workdir": brief.workdir,
            "skills_dir": brief.skills_dir,
            "model": brief.model.as_ref().and_then(|access| access.model.clone()),
        })
    }

    fn prompt(&mut self, turn: Turn, message: &str) -> Value {
        json!({"type": "user", "turn": turn.0, "text": message})
    }

    fn answer(&mut self, asked: &Asked, allow: bool) -> Value {
        json!({"type": "permission", "id": asked.id, "allow": allow})
    }

    fn interrupt(&mut self) -> Value {
        json!({"type": "interrupt"})
    }

    fn hear(&mut self, line: &str, intake: &mut Intake) -> Vec<Heard> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        match serde_json::from_str::<Event>(line) {
            Ok(event) => self.event(event, intake),
            Err(error) => self.refuse(format!("{error}")),
        }
    }
}

impl Ndjson {
    fn event(&mut self, event: Event, intake: &mut Intake) -> Vec<Heard> {
        if let Event::Hello { version, name } = event {
            if self.has_greeted {
                return self.refuse("`hello` is said once".to_owned());
            }
            self.has_greeted = true;
            return vec![Heard::Opened(match version {
                VERSION => Ok(name),
                other => {
                    Err(format!("it speaks version {other} of the protocol, and not {VERSION}"))
                }
            })];
        }
        if !self.has_greeted {
            return self.refuse("`hello` must come first".to_owned());
        }
        match event {
            Event::Hello { .. } => {}
            Event::Said { text } => intake.said(&text, None),
            Event::Thought { text } => intake.thought(&text, None),
            Event::Call { id, title, kind, input } => intake.called(Call {
                id: Some(id),
                title,
                kind: kind.map(Into::into),
                input: input.as_ref().map(written),
            }),
            Event::Return { id, ok, output, exit_code } => {
                let outcome = if ok { ToolOutcome::Completed } else { ToolOutcome::Failed };
                intake.returned(Some(&id), outcome, output.as_ref().map(printed), exit_code);
            }
            Event::Plan { entries } => {
                intake.planned(entries.into_iter().map(Into::into).collect())
            }
            Event::Usage { span, input, cached, output, reasoning, cost_usd } => {
                intake.claims(UseClaim {
                    turn: Turn::BASE,
                    span: span.into(),
                    input,
                    cached,
                    output,
                    reasoning,
                    cost_microusd: cost_usd.and_then(microusd),
                });
            }
            Event::Note { text } => intake.noted(&text),
            Event::Permission { id, title, kind, command } => {
                let input = command.map(|command| json!({"command": command}).to_string());
                let call = Call { id: None, title, kind: kind.map(Into::into), input };
                return vec![Heard::Asks(Asked { id, call, given: Value::Null })];
            }
            Event::TurnEnd { stop, error } => return vec![Heard::Ended(stopped(stop, error))],
        }
        Vec::new()
    }

    /// What is no part of the protocol is told to the agent, and is its failure: to guess would be to make up evidence.
    fn refuse(&mut self, why: String) -> Vec<Heard> {
        let refusal = Heard::Reply(json!({"type": "error", "message": why}));
        let why = format!("it does not speak the protocol: {why}");
        match self.has_greeted {
            true => vec![refusal, Heard::Ended(Err(why))],
            false => vec![refusal, Heard::Opened(Err(why))],
        }
    }
}

fn stopped(stop: Stop, error: Option<String>) -> Result<TurnStop, String> {
    match (stop, error) {
        (Stop::Error, error) => Err(error.unwrap_or_else(|| "it does not say which".to_owned())),
        (_, Some(error)) => Err(error),
        (Stop::Finished, None) => Ok(TurnStop::Finished),
        (Stop::Refused, None) => Ok(TurnStop::Refused),
        (Stop::Interrupted, None) => Ok(TurnStop::Interrupted),
    }
}

impl From<Kind> for ToolKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Read => ToolKind::Read,
            Kind::Edit => ToolKind::Edit,
            Kind::Delete => ToolKind::Delete,
            Kind::Move => ToolKind::Move,
            Kind::Search => ToolKind::Search,
            Kind::Execute => ToolKind::Execute,
            Kind::Think => ToolKind::Think,
            Kind::Fetch => ToolKind::Fetch,
            Kind::Other => ToolKind::Other,
        }
    }
}

impl From<Entry> for PlanEntry {
    fn from(entry: Entry) -> Self {
        let state = match entry.state {
            State::Pending => PlanState::Pending,
            State::Doing => PlanState::Doing,
            State::Done => PlanState::Done,
        };
        PlanEntry { text: entry.text, state }
    }
}

impl From<Span> for ClaimSpan {
    fn from(span: Span) -> Self {
        match span {
            Span::Turn => ClaimSpan::Turn,
            Span::Session => ClaimSpan::Session,
            Span::Request => ClaimSpan::Request,
        }
    }
}
