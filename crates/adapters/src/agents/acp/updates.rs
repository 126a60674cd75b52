//! Session updates as they come, told to the turn's observer ([`Updates`]): chunks put together to blocks, tool
//! calls by their ids in whatever order their pieces arrive.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Meta, PlanEntryStatus, SessionUpdate, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind as AcpKind, Usage,
};
use domain::{
    fault::Flag,
    ids::{RequestId, Turn},
    interpret::class_of_request,
    session::{ClaimSpan, PlanEntry, PlanState, ToolKind, ToolOutcome, UseClaim, title_of},
};
use engine::ports::agent::{Observer, ToolCall, ToolResult};
use serde_json::Value;

use crate::agents::{
    intake::{BYTES_MAX, PIECES_MAX},
    tools::{command_of, is_empty, printed, written},
};

/// A chunk that comes after the end of its turn is told once nothing followed it for this long.
const SETTLES_WITHIN: Duration = Duration::from_millis(50);

/// Updates of an agent while its turns run.
#[derive(Default)]
pub(super) struct Updates {
    observer: Option<Observer>,
    said: Block,
    thought: Block,
    calls: BTreeMap<String, Call>,
    pieces: usize,
    bytes: usize,
    /// Counts what came, so that a late chunk knows whether it was the last.
    count: u64,
    is_late: bool,
    is_overflown: bool,
}

/// Text that grows chunk by chunk.
#[derive(Default)]
struct Block {
    text: String,
    /// When its last chunk came.
    at_ms: i64,
    message: Option<String>,
}

/// A tool call as far as it was told.
#[derive(Clone, Debug, Default)]
struct Call {
    title: String,
    kind: Option<ToolKind>,
    input: Option<String>,
    output: String,
    exit_code: Option<i32>,
    is_told: bool,
    is_over: bool,
    /// The input that was told with the call.
    told_input: Option<String>,
}

impl Updates {
    /// A turn begins. Calls of earlier turns stay known: they may come back late.
    pub(super) fn begin(&mut self, observer: Observer) {
        self.flush();
        self.observer = Some(observer);
        (self.pieces, self.bytes) = (0, 0);
        (self.is_late, self.is_overflown) = (false, false);
    }

    /// The turn is over as far as its prompt is answered; what follows is late.
    pub(super) fn settle(&mut self) {
        self.flush();
        self.is_late = true;
    }

    /// Takes in one update; a chunk that comes after the end of its turn is told soon.
    pub(super) fn take(this: &Arc<Mutex<Updates>>, update: SessionUpdate) {
        let mut updates = this.lock().expect("no holder panics");
        updates.update(update);
        let is_held_back = !updates.said.text.is_empty() || !updates.thought.text.is_empty();
        if !updates.is_late || !is_held_back {
            return;
        }
        let (count, this) = (updates.count, this.clone());
        tokio::spawn(async move {
            tokio::time::sleep(SETTLES_WITHIN).await;
            let mut updates = this.lock().expect("no holder panics");
            if updates.count == count {
                updates.flush();
            }
        });
    }

    /// A permission is asked for; false if no turn is there to ask it in.
    pub(super) fn asks(&mut self, request: RequestId, about: ToolCallUpdate) -> bool {
        self.pieces += 1;
        if !self.has_room() {
            return false;
        }
        let id = about.tool_call_id.to_string();
        self.merge(&id, about.fields, about.meta.as_ref());
        self.flush();
        let (Some(observer), Some(call)) = (&self.observer, self.calls.get(&id)) else {
            return false;
        };
        if self.is_late {
            return false;
        }
        let command = call.input.as_deref().and_then(command_of);
        let class = class_of_request(call.kind, command.as_deref());
        let subject = command.or_else(|| Some(call.title.clone()).filter(|t| !t.is_empty()));
        observer.asks(request, class, subject);
        true
    }

    fn update(&mut self, update: SessionUpdate) {
        self.count += 1;
        self.pieces += 1;
        if self.observer.is_none() || !self.has_room() {
            return;
        }
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.tell_thought();
                self.grow(chunk, false);
            }
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.tell_said();
                self.grow(chunk, true);
            }
            SessionUpdate::ToolCall(call) => {
                let id = call.tool_call_id.to_string();
                let fields = ToolCallUpdateFields::new()
                    .title(call.title)
                    .kind(call.kind)
                    .status(call.status)
                    .content(call.content)
                    .raw_input(call.raw_input)
                    .raw_output(call.raw_output);
                self.called(&id, fields, call.meta.as_ref());
            }
            SessionUpdate::ToolCallUpdate(call) => {
                let id = call.tool_call_id.to_string();
                self.called(&id, call.fields, call.meta.as_ref());
            }
            SessionUpdate::Plan(plan) => {
                self.flush();
                let entries = plan.entries.into_iter().map(|entry| PlanEntry {
                    text: entry.content,
                    state: match entry.status {
                        PlanEntryStatus::InProgress => PlanState::Doing,
                        PlanEntryStatus::Completed => PlanState::Done,
                        _ => PlanState::Pending,
                    },
                });
                if let Some(observer) = &self.observer {
                    observer.planned(entries.collect());
                }
            }
            // Commands, modes, titles, the filling of a window: nothing of it is work or word.
            _ => {}
        }
    }

    /// A flood is the agent's doing and is flagged once a turn.
    fn has_room(&mut self) -> bool {
        if self.pieces <= PIECES_MAX && self.bytes <= BYTES_MAX {
            return true;
        }
        if let (false, Some(observer)) = (self.is_overflown, &self.observer) {
            observer.flagged(
                Flag::ChannelOverflow,
                format!("more than {PIECES_MAX} updates or {} MiB in a turn", BYTES_MAX >> 20),
            );
            self.is_overflown = true;
        }
        false
    }

    fn grow(&mut self, chunk: ContentChunk, is_thought: bool) {
        let text = match chunk.content {
            ContentBlock::Text(text) => text.text,
            ContentBlock::ResourceLink(link) => link.uri,
            // Pictures and sounds are no words.
            _ => return,
        };
        let message = chunk.message_id.map(|id| id.to_string());
        let block = if is_thought { &self.thought } else { &self.said };
        if block.message != message && !block.text.is_empty() {
            self.flush();
        }
        let now_ms = self.observer.as_ref().map_or(0, Observer::now_ms);
        let block = if is_thought { &mut self.thought } else { &mut self.said };
        self.bytes += text.len();
        block.text.push_str(&text);
        block.at_ms = now_ms;
        block.message = message;
    }

    fn called(&mut self, id: &str, fields: ToolCallUpdateFields, meta: Option<&Meta>) {
        let status = fields.status;
        self.merge(id, fields, meta);
        let is_first = self.calls.get(id).is_some_and(|call| !call.is_told);
        if is_first {
            self.flush();
        }
        let (Some(observer), Some(call)) = (&self.observer, self.calls.get_mut(id)) else { return };
        if is_first {
            call.is_told = true;
            call.told_input = call.input.clone();
            observer.called(ToolCall {
                id: Some(id.to_owned()),
                title: title_of(&call.title),
                kind: call.kind,
                input: call.input.clone(),
            });
        }
        let outcome = match status {
            Some(ToolCallStatus::Completed) => ToolOutcome::Completed,
            Some(ToolCallStatus::Failed) => ToolOutcome::Failed,
            _ => return,
        };
        if std::mem::replace(&mut call.is_over, true) {
            return;
        }
        let output = std::mem::take(&mut call.output);
        observer.returned(ToolResult {
            id: id.to_owned(),
            outcome,
            input: call.input.clone().filter(|input| call.told_input.as_ref() != Some(input)),
            output: Some(output).filter(|output| !output.is_empty()),
            exit_code: call.exit_code,
        });
    }

    /// Lays what is told of a call over what is known of it.
    fn merge(&mut self, id: &str, fields: ToolCallUpdateFields, meta: Option<&Meta>) {
        let call = self.calls.entry(id.to_owned()).or_default();
        if let Some(title) = fields.title.filter(|title| !title.is_empty()) {
            call.title = title;
        }
        if let Some(kind) = fields.kind {
            call.kind = Some(kind_of(kind));
        }
        if let Some(input) = fields.raw_input.filter(|input| !is_empty(input)) {
            call.input = Some(written(&input));
        }
        let found = output_of(fields.raw_output.as_ref(), fields.content.as_deref(), meta);
        self.bytes += found.text.len();
        if found.is_delta {
            call.output.push_str(&found.text);
        } else if !found.text.is_empty() {
            call.output = found.text;
        }
        call.exit_code = found.exit_code.or(call.exit_code);
    }

    fn tell_said(&mut self) {
        let said = std::mem::take(&mut self.said);
        if let (false, Some(observer)) = (said.text.is_empty(), &self.observer) {
            observer.said_at(said.at_ms, said.text);
        }
    }

    fn tell_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        if let (false, Some(observer)) = (thought.text.is_empty(), &self.observer) {
            observer.thought(thought.text);
        }
    }

    /// Tells what is held back.
    pub(super) fn flush(&mut self) {
        self.tell_thought();
        self.tell_said();
    }
}

/// Output of a tool as one update tells it.
#[derive(Default)]
struct Output {
    text: String,
    /// Whether it is a piece that follows what was told before.
    is_delta: bool,
    exit_code: Option<i32>,
}

/// Agents put a tool's output into different places; the first that holds some is taken.
fn output_of(
    raw: Option<&Value>,
    content: Option<&[ToolCallContent]>,
    meta: Option<&Meta>,
) -> Output {
    let delta = meta.and_then(|meta| meta.get("terminal_output_delta")?.get("data")?.as_str());
    let exit = meta.and_then(|meta| meta.get("terminal_exit")?.get("exit_code")?.as_i64());
    let of_claude = meta.and_then(|meta| meta.get("claudeCode")?.get("toolResponse"));
    let exit_code = |value: Option<i64>| value.and_then(|code| i32::try_from(code).ok());
    if let Some(raw) = raw.filter(|raw| !is_empty(raw)) {
        let exit = raw.get("exit_code").or_else(|| raw.get("metadata")?.get("exit"));
        let exit_code = exit_code(exit.and_then(Value::as_i64));
        return Output { text: printed(raw), is_delta: false, exit_code };
    }
    let text: Vec<String> = content.unwrap_or_default().iter().filter_map(shown).collect();
    if !text.is_empty() {
        return Output { text: text.join("\n"), is_delta: false, exit_code: exit_code(exit) };
    }
    if let Some(delta) = delta {
        return Output { text: delta.to_owned(), is_delta: true, exit_code: exit_code(exit) };
    }
    let text = of_claude.filter(|of| !is_empty(of)).map_or(String::new(), printed);
    Output { text, is_delta: false, exit_code: exit_code(exit) }
}

fn shown(content: &ToolCallContent) -> Option<String> {
    match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        ToolCallContent::Diff(diff) => Some(format!("changed {}", diff.path.display())),
        _ => None,
    }
}

fn kind_of(kind: AcpKind) -> ToolKind {
    match kind {
        AcpKind::Read => ToolKind::Read,
        AcpKind::Edit => ToolKind::Edit,
        AcpKind::Delete => ToolKind::Delete,
        AcpKind::Move => ToolKind::Move,
        AcpKind::Search => ToolKind::Search,
        AcpKind::Execute => ToolKind::Execute,
        AcpKind::Think => ToolKind::Think,
        AcpKind::Fetch => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// What an agent says it used. The protocol leaves open what the figures span, and agents differ.
pub(super) fn claim(usage: &Usage, span: ClaimSpan) -> UseClaim {
    UseClaim {
        turn: Turn::BASE,
        span,
        input: Some(usage.input_tokens),
        cached: usage.cached_read_tokens,
        output: Some(usage.output_tokens),
        reasoning: usage.thought_tokens,
        cost_microusd: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn output_is_found_wherever_agents_put_it() {
        let check = |raw: Value, content: Value, meta: Value, expect: (&str, Option<i32>)| {
            let content: Vec<ToolCallContent> =
                serde_json::from_value(content).expect("content of the protocol");
            let raw = Some(&raw).filter(|raw| !raw.is_null());
            let found = output_of(raw, Some(&content), meta.as_object());
            assert_eq!((found.text.as_str(), found.exit_code), expect);
        };
        let text =
            json!([{"type": "content", "content": {"type": "text", "text": "from content"}}]);
        check(json!("plain"), json!([]), json!({}), ("plain", None));
        check(
            json!({"stdout": "out", "stderr": "err", "exit_code": 2}),
            text.clone(),
            json!({}),
            ("out\nerr", Some(2)),
        );
        check(
            json!({"output": "printed", "metadata": {"exit": 1}}),
            json!([]),
            json!({}),
            ("printed", Some(1)),
        );
        check(json!(null), text, json!({}), ("from content", None));
        check(
            json!(null),
            json!([]),
            json!({"terminal_output_delta": {"data": "delta"}, "terminal_exit": {"exit_code": 3}}),
            ("delta", Some(3)),
        );
        check(
            json!(null),
            json!([]),
            json!({"claudeCode": {"toolResponse": {"stdout": "c", "stderr": ""}}}),
            ("c", None),
        );
        check(json!({"odd": [1]}), json!([]), json!({}), ("{\"odd\":[1]}", None));
        check(json!(null), json!([]), json!({}), ("", None));
    }
}
