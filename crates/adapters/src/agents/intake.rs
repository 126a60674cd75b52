//! What an agent tells in a turn, taken in piece by piece and told to the turn's observer ([`Intake`]): texts put together
//! to blocks, tool calls by their ids in whatever order their pieces arrive, floods cut off.

use std::collections::BTreeMap;

use domain::{
    fault::Flag,
    ids::RequestId,
    interpret::class_of_request,
    session::{PlanEntry, ToolKind, ToolOutcome, UseClaim, title_of},
};
use engine::ports::agent::{Observer, ToolCall, ToolResult};

use super::tools::{command_of, kind_of_name};

/// Pieces of one turn; beyond, nothing more is taken in.
pub(super) const PIECES_MAX: usize = 200_000;

/// Bytes of one turn; beyond, nothing more is taken in.
pub(super) const BYTES_MAX: usize = 64 << 20;

/// Characters of a note.
const NOTE_MAX: usize = 2_000;

/// Takes in what an agent tells while its turns run.
#[derive(Default)]
pub(super) struct Intake {
    observer: Option<Observer>,
    said: Block,
    thought: Block,
    calls: BTreeMap<String, Call>,
    pieces: usize,
    bytes: usize,
    is_overflown: bool,
    /// Counts calls without a name of the agent's own.
    nameless: u32,
}

/// Text that grows piece by piece.
#[derive(Default)]
struct Block {
    text: String,
    at_ms: i64,
    /// Pieces of one message grow together.
    message: Option<String>,
}

/// A tool call as far as it was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    /// The agent's own name of the call.
    pub(super) id: Option<String>,
    /// The tool.
    pub(super) title: String,
    /// Its kind, if it was told; else its name may mean one.
    pub(super) kind: Option<ToolKind>,
    /// What it was given.
    pub(super) input: Option<String>,
}

impl Intake {
    /// A turn begins. Calls of earlier turns stay known: they may come back late.
    pub(super) fn begin(&mut self, observer: Observer) {
        self.flush();
        self.observer = Some(observer);
        (self.pieces, self.bytes, self.is_overflown) = (0, 0, false);
    }

    /// So many bytes more have come. A flood is the agent's doing and is flagged once a turn; what follows it is not told.
    pub(super) fn counts(&mut self, bytes: usize) {
        self.pieces += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.pieces <= PIECES_MAX && self.bytes <= BYTES_MAX {
            return;
        }
        self.flush();
        if let (false, Some(observer)) = (self.is_overflown, &self.observer) {
            observer.flagged(
                Flag::ChannelOverflow,
                format!("more than {PIECES_MAX} updates or {} MiB in a turn", BYTES_MAX >> 20),
            );
        }
        self.is_overflown = true;
    }

    /// Who is told; nobody once a turn is flooded, until the next begins.
    fn listener(&self) -> Option<&Observer> {
        self.observer.as_ref().filter(|_| !self.is_overflown)
    }

    /// A piece of a message; pieces that name the same message follow each other in one block.
    pub(super) fn said(&mut self, text: &str, message: Option<&str>) {
        self.tell_thought();
        if self.is_overflown {
            return;
        }
        if !self.said.goes_on(message) {
            self.tell_said();
        }
        let at_ms = self.now_ms();
        self.said.grow(text, message, at_ms);
    }

    /// A piece of a thought.
    pub(super) fn thought(&mut self, text: &str, message: Option<&str>) {
        self.tell_said();
        if self.is_overflown {
            return;
        }
        if !self.thought.goes_on(message) {
            self.tell_thought();
        }
        let at_ms = self.now_ms();
        self.thought.grow(text, message, at_ms);
    }

    /// A tool is called; of a call that was told before, this changes nothing.
    pub(super) fn called(&mut self, call: Call) {
        self.flush();
        let id = call.id.clone().unwrap_or_else(|| {
            self.nameless += 1;
            format!("call-{}", self.nameless)
        });
        if self.calls.contains_key(&id) {
            return;
        }
        let kind = call.kind.or_else(|| kind_of_name(&call.title));
        self.calls.insert(id.clone(), Call { kind, ..call.clone() });
        if let Some(observer) = self.listener() {
            let title = title_of(&call.title);
            observer.called(ToolCall { id: Some(id), title, kind, input: call.input });
        }
    }

    /// A call came back; without a name it is the last that has none.
    pub(super) fn returned(
        &mut self,
        id: Option<&str>,
        outcome: ToolOutcome,
        output: Option<String>,
        exit_code: Option<i32>,
    ) {
        self.flush();
        let id = id.map_or_else(|| format!("call-{}", self.nameless), str::to_owned);
        let output = output.filter(|output| !output.is_empty());
        if let Some(observer) = self.listener() {
            observer.returned(ToolResult { id, outcome, input: None, output, exit_code });
        }
    }

    /// A permission is asked for, about this call; false if no turn is there to ask it in.
    pub(super) fn asks(&mut self, request: RequestId, call: &Call) -> bool {
        self.flush();
        let Some(observer) = self.listener() else { return false };
        let input = call.input.as_deref();
        let command = input.and_then(command_of);
        let kind = call.kind.or_else(|| kind_of_name(&call.title));
        let class = class_of_request(kind, command.as_deref());
        let subject = command.or_else(|| Some(call.title.clone()).filter(|t| !t.is_empty()));
        observer.asks(request, class, subject);
        true
    }

    /// The agent's plan as it now is.
    pub(super) fn planned(&mut self, entries: Vec<PlanEntry>) {
        self.flush();
        if let Some(observer) = self.listener() {
            observer.planned(entries);
        }
    }

    /// What the agent itself counts.
    pub(super) fn claims(&mut self, claim: UseClaim) {
        self.flush();
        if let Some(observer) = self.listener() {
            observer.claims(claim);
        }
    }

    /// Something to be said of the agent.
    pub(super) fn noted(&mut self, text: &str) {
        self.flush();
        if let Some(observer) = self.listener() {
            observer.noted(shortened(text));
        }
    }

    /// Tells what is held back.
    pub(super) fn flush(&mut self) {
        self.tell_thought();
        self.tell_said();
    }

    fn now_ms(&self) -> i64 {
        self.observer.as_ref().map_or(0, Observer::now_ms)
    }

    fn tell_said(&mut self) {
        let said = std::mem::take(&mut self.said);
        if let (false, Some(observer)) = (said.text.trim().is_empty(), self.listener()) {
            observer.said_at(said.at_ms, said.text);
        }
    }

    fn tell_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        if let (false, Some(observer)) = (thought.text.trim().is_empty(), self.listener()) {
            observer.thought(thought.text);
        }
    }
}

impl Block {
    fn goes_on(&self, message: Option<&str>) -> bool {
        self.text.is_empty() || (message.is_some() && self.message.as_deref() == message)
    }

    fn grow(&mut self, text: &str, message: Option<&str>, at_ms: i64) {
        self.text.push_str(text);
        self.at_ms = at_ms;
        self.message = message.map(str::to_owned);
    }
}

/// A text as it is told of an agent that may say as much in it as in a message.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(NOTE_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
