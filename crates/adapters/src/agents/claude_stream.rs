//! Agents that speak the control protocol of Claude Code, lines of JSON on their standard streams ([`ClaudeStreamAgent`]).

use std::sync::Arc;

use domain::{
    ids::Turn,
    session::{ClaimSpan, PlanEntry, PlanState, ToolOutcome, TurnStop, UseClaim},
};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity},
    sandbox::Sandbox,
};
use serde_json::{Value, json};

use super::{
    child::command,
    cli::microusd,
    intake::{Call, Intake},
    talk::{Asked, Dialect, Heard, ProgramLaunch, Talk},
    tools::{is_empty, printed, written},
};

/// What comes late was measured within this.
const LATE_UPDATES_MS: u64 = 300;

/// Names the request that opens a session.
const OPENING: &str = "open";

/// What an agent is told whose request is not granted.
const REFUSED: &str = "This is not allowed now. The user can be asked when you end your turn.";

/// What it is told when it wants to ask its user in the middle of a turn.
const ASK_LATER: &str = "The user cannot answer here. Ask when you end your turn.";

/// An agent that speaks the control protocol of Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeStreamAgent {
    launch: ProgramLaunch,
}

impl ClaudeStreamAgent {
    /// An agent that is started like this.
    pub fn new(launch: ProgramLaunch) -> Self {
        Self { launch }
    }
}

#[async_trait::async_trait]
impl Agent for ClaudeStreamAgent {
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
        let talk = Talk::open(sandbox, &command, brief, ClaudeStream::default()).await?;
        Ok(Box::new(talk))
    }
}

/// What was said so far that later lines need.
#[derive(Default)]
pub(super) struct ClaudeStream {
    interrupts: u32,
    /// Whether it is Claude Code itself, which tells the tokens of a turn; others tell those of the session.
    is_claude_code: bool,
    cost_before_microusd: u64,
}

impl Dialect for ClaudeStream {
    fn opening(&mut self, _: &Brief) -> Value {
        json!({"type": "control_request", "request_id": OPENING, "request": {"subtype": "initialize"}})
    }

    fn prompt(&mut self, _: Turn, message: &str) -> Value {
        let content = json!([{"type": "text", "text": message}]);
        json!({"type": "user", "message": {"role": "user", "content": content}})
    }

    fn answer(&mut self, asked: &Asked, allow: bool) -> Value {
        match allow {
            true => response(&asked.id, json!({"behavior": "allow", "updatedInput": asked.given})),
            false => response(&asked.id, json!({"behavior": "deny", "message": REFUSED})),
        }
    }

    fn interrupt(&mut self) -> Value {
        self.interrupts += 1;
        let id = format!("interrupt-{}", self.interrupts);
        json!({"type": "control_request", "request_id": id, "request": {"subtype": "interrupt"}})
    }

    fn hear(&mut self, line: &str, intake: &mut Intake) -> Vec<Heard> {
        // What is no JSON is no part of the protocol.
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        match text(&event, "/type") {
            "control_response" => opened(&event).into_iter().collect(),
            "control_request" => vec![requested(&event)],
            "control_cancel_request" => {
                vec![Heard::Withdrawn(text(&event, "/request_id").to_owned())]
            }
            "system" => {
                self.is_claude_code |= event.get("claude_code_version").is_some();
                Vec::new()
            }
            "assistant" => {
                for block in blocks(&event) {
                    spoke(&event, block, intake);
                }
                Vec::new()
            }
            "user" => {
                for block in blocks(&event).filter(|block| text(block, "/type") == "tool_result") {
                    returned(&event, block, intake);
                }
                Vec::new()
            }
            "result" => {
                intake.claims(self.used(&event));
                vec![Heard::Ended(ended(&event, intake))]
            }
            _ => Vec::new(),
        }
    }
}

impl ClaudeStream {
    /// What it says of its use. The cost is the session's so far.
    fn used(&mut self, event: &Value) -> UseClaim {
        let figure = |name: &str| event.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
        let so_far = event.get("total_cost_usd").and_then(Value::as_f64).and_then(microusd);
        let before = self.cost_before_microusd;
        self.cost_before_microusd = so_far.unwrap_or(before);
        UseClaim {
            turn: Turn::BASE,
            span: if self.is_claude_code { ClaimSpan::Turn } else { ClaimSpan::Session },
            input: figure("input_tokens"),
            cached: figure("cache_read_input_tokens"),
            output: figure("output_tokens"),
            reasoning: None,
            cost_microusd: match self.is_claude_code {
                true => so_far.map(|so_far| so_far.saturating_sub(before)),
                false => so_far,
            },
        }
    }
}

/// The answer to the opening, if it is that.
fn opened(event: &Value) -> Option<Heard> {
    let response = event.get("response")?;
    if text(response, "/request_id") != OPENING {
        return None;
    }
    Some(Heard::Opened(match text(response, "/subtype") {
        "error" => Err(text(response, "/error").to_owned()),
        _ => Ok(None),
    }))
}

/// A request of the agent: a permission waits for the controller, anything else is refused at once.
fn requested(event: &Value) -> Heard {
    let id = text(event, "/request_id").to_owned();
    let request = event.get("request").unwrap_or(&Value::Null);
    if text(request, "/subtype") != "can_use_tool" {
        let error = format!("{} is not offered here", text(request, "/subtype"));
        let response = json!({"subtype": "error", "request_id": id, "error": error});
        return Heard::Reply(json!({"type": "control_response", "response": response}));
    }
    let tool = text(request, "/tool_name");
    let wants_user = request.get("requires_user_interaction").and_then(Value::as_bool);
    if wants_user == Some(true) || tool == "AskUserQuestion" {
        return Heard::Reply(response(&id, json!({"behavior": "deny", "message": ASK_LATER})));
    }
    let given = request.get("input").cloned().unwrap_or_else(|| json!({}));
    let call = Call {
        id: Some(text(request, "/tool_use_id").to_owned()).filter(|id| !id.is_empty()),
        title: tool.to_owned(),
        kind: None,
        input: Some(written(&given)),
    };
    Heard::Asks(Asked { id, call, given })
}

fn response(id: &str, answer: Value) -> Value {
    let response = json!({"subtype": "success", "request_id": id, "response": answer});
    json!({"type": "control_response", "response": response})
}

/// A block of what it says. An agent that it started itself speaks to it and not to the user.
fn spoke(event: &Value, block: &Value, intake: &mut Intake) {
    let is_own = event.get("parent_tool_use_id").is_none_or(Value::is_null);
    match (text(block, "/type"), is_own) {
        ("text", true) => intake.said(text(block, "/text"), None),
        ("text", false) => intake.thought(text(block, "/text"), None),
        ("thinking", _) => intake.thought(text(block, "/thinking"), None),
        ("tool_use", _) => {
            let input = block.get("input").filter(|input| !is_empty(input));
            intake.called(Call {
                id: Some(text(block, "/id").to_owned()),
                title: text(block, "/name").to_owned(),
                kind: None,
                input: input.map(written),
            });
            let entries = input.and_then(plan);
            if let Some(entries) = entries.filter(|_| is_own) {
                intake.planned(entries);
            }
        }
        _ => {}
    }
}

/// The plan in what a tool for lists of things to do was given.
fn plan(input: &Value) -> Option<Vec<PlanEntry>> {
    let todos = input.get("todos")?.as_array()?;
    let entry = |todo: &Value| PlanEntry {
        text: text(todo, "/content").to_owned(),
        state: match text(todo, "/status") {
            "in_progress" => PlanState::Doing,
            "completed" => PlanState::Done,
            _ => PlanState::Pending,
        },
    };
    Some(todos.iter().map(entry).collect())
}

fn returned(event: &Value, block: &Value, intake: &mut Intake) {
    let has_failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
    // Its streams apart, where a single tool came back that has some.
    let streams = event
        .get("tool_use_result")
        .filter(|result| blocks(event).count() == 1 && result.get("stdout").is_some());
    let output = streams.or_else(|| block.get("content")).filter(|output| !is_empty(output));
    let outcome = if has_failed { ToolOutcome::Failed } else { ToolOutcome::Completed };
    let id = text(block, "/tool_use_id");
    intake.returned(Some(id), outcome, output.map(printed), None);
}

/// How a turn ended: an error of its provider is told as a success that is an error.
fn ended(event: &Value, intake: &mut Intake) -> Result<TurnStop, String> {
    let subtype = text(event, "/subtype");
    if text(event, "/stop_reason") == "refusal" {
        return Ok(TurnStop::Refused);
    }
    let is_error = event.get("is_error").and_then(Value::as_bool) == Some(true);
    match subtype {
        "success" if !is_error => Ok(TurnStop::Finished),
        // A limit of its own: it gives control back.
        "error_max_turns" | "error_max_budget_usd" => {
            intake.noted(&format!("the agent ended its turn with {subtype}"));
            Ok(TurnStop::Finished)
        }
        _ => match text(event, "/result") {
            "" => Err(subtype.to_owned()),
            words => Err(words.to_owned()),
        },
    }
}

fn blocks(event: &Value) -> impl Iterator<Item = &Value> {
    event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
