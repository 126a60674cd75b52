//! The session machine ([`Session`]): what it wants next, and how an entry of the log changes it.

use alloc::{
    boxed::Box,
    collections::VecDeque,
    format,
    string::{String, ToString},
    sync::Arc,
    vec,
    vec::Vec,
};

use super::{
    Answer, CheckRequest, Command, CompletionReport, Entry, Event, IllegalEntry, Next, Phase,
    Scenario, progress::TurnInProgress,
};
use crate::{
    acceptance::{Look, Reading},
    controller::{Controller, Decision, DialogueLine, TurnPlan, Used},
    fault::{Ending, Flag},
    ids::{CheckId, CommandId, Hash, Turn},
    plan::SessionLimits,
    release::Read,
    wording,
};

/// The state of one session; a pure function of its scenario and its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub(super) scenario: Arc<Scenario>,
    seq: u64,
    pub(super) commands: u32,
    /// Commands without an answer: at most one of the phase and one beside an open turn.
    pub(super) open: Vec<(CommandId, Command)>,
    /// What is wanted beside the command of the phase: permission answers, wire block, interrupt.
    pub(super) beside: VecDeque<Command>,
    pub(super) phase: Phase,
    pub(super) turn: Turn,
    pub(super) progress: TurnInProgress,
    pub(super) controller: Box<Controller>,
    pub(super) used: Used,
    pub(super) counts: Counts,
    pub(super) dialogue: Vec<(Turn, DialogueLine)>,
    pub(super) flags: Vec<(Flag, String)>,
    pub(super) identity: Option<String>,
    pub(super) seal: Option<Hash>,
    /// What the verifiers of steps left, in order of the steps; that of the last one reached stands
    /// in `completion` if it ran on the seal.
    pub(super) step_reports: Vec<CompletionReport>,
    pub(super) completion: Option<CompletionReport>,
}

/// Counters that only reports use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub turns: u32,
    pub questions: u32,
    pub permission_requests: u32,
    pub requests_inside: u32,
    pub words_read: u32,
    pub template_fallbacks: u32,
}

/// The user's tries at a wording; after them the template words.
pub(super) const USER_TRIES: u32 = 3;

impl Session {
    /// A session of which nothing has happened.
    pub fn new(scenario: Arc<Scenario>) -> Self {
        let controller = Box::new(Controller::new(&scenario));
        Self {
            scenario,
            seq: 0,
            commands: 0,
            open: vec![],
            beside: VecDeque::new(),
            phase: Phase::Preparing,
            turn: Turn::BASE,
            progress: TurnInProgress::default(),
            controller,
            used: Used::default(),
            counts: Counts::default(),
            dialogue: vec![],
            flags: vec![],
            identity: None,
            seal: None,
            step_reports: vec![],
            completion: None,
        }
    }

    /// What to do now; total, and the same answer until an entry is applied.
    pub fn next(&self) -> Next {
        if let Phase::Over(ending) = self.phase {
            return Next::Over(ending);
        }
        let id = CommandId(self.commands + 1);
        let has_beside_open = self.open.iter().any(|(_, command)| command.is_beside_a_turn());
        match self.beside.front() {
            Some(command) if !has_beside_open => Next::Do(id, command.clone()),
            _ if !self.open.is_empty() => Next::Wait,
            _ => Next::Do(id, self.wanted()),
        }
    }

    /// Applies one entry; the only place at which a session changes. An illegal entry changes
    /// nothing.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), IllegalEntry> {
        if entry.seq != self.seq + 1 {
            return Err(IllegalEntry::OutOfOrder { expected: self.seq + 1, found: entry.seq });
        }
        if matches!(self.phase, Phase::Over(_)) {
            return Err(IllegalEntry::Over);
        }
        match &entry.event {
            Event::Decided(id, command) => self.apply_decision(*id, command)?,
            Event::Answered(id, answer) => self.apply_answer(*id, answer)?,
            Event::Observed(observation) => self.apply_observation(observation),
        }
        self.seq = entry.seq;
        Ok(())
    }

    /// Number of the last entry applied.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    fn apply_decision(&mut self, id: CommandId, command: &Command) -> Result<(), IllegalEntry> {
        let decided = match self.next() {
            Next::Do(next, decided) if next == id && decided == *command => decided,
            other => return Err(not_decided(id, command, &other)),
        };
        self.commands = id.0;
        match command {
            Command::Prompt { turn, .. } => {
                self.turn = *turn;
                self.progress = TurnInProgress::of(*turn);
            }
            Command::Interrupt { .. } => self.progress.is_interrupted = true,
            _ => {}
        }
        if command.is_beside_a_turn() {
            self.beside.pop_front();
        }
        self.open.push((id, decided));
        Ok(())
    }

    /// The command of the phase.
    fn wanted(&self) -> Command {
        match &self.phase {
            Phase::Preparing => Command::PrepareSandbox,
            Phase::OpeningAgent => Command::OpenAgent,
            Phase::Wording { plan, nth, after } => {
                Command::Word { plan: plan.clone(), nth: *nth, after: after.clone() }
            }
            Phase::Working { plan, text } => Command::Prompt {
                turn: plan.turn,
                message: match plan.turn {
                    Turn(1) => format!("{}\n\n{text}", wording::SESSION_NOTE),
                    _ => text.clone(),
                },
                deadline_ms: self.deadline_ms(plan.turn),
            },
            Phase::Freezing => Command::Freeze { turn: self.turn },
            Phase::Capturing => Command::Capture { turn: self.turn },
            Phase::Interpreting => Command::Interpret {
                turn: self.turn,
                topics: self.scenario.topics.iter().map(|topic| topic.id.clone()).collect(),
            },
            Phase::Checking => {
                Command::Check { look: Look::Turn(self.turn), checks: self.checks_due() }
            }
            Phase::VerifyingStep => {
                Command::VerifyStep { turn: self.turn, step: self.step_id(self.turn) }
            }
            Phase::PlacingStep => {
                let turn = self.turn.next();
                Command::PlaceStep { turn, step: self.step_id(turn) }
            }
            Phase::Sealing(_) => Command::Seal,
            Phase::CheckingSeal(_) => {
                Command::Check { look: Look::Sealed, checks: self.checks_read_by(Read::AtEnd) }
            }
            Phase::Verifying(_) => Command::VerifyCompletion,
            Phase::Closing(ending) | Phase::Over(ending) => Command::End(*ending),
        }
    }

    /// The checks to read at the end of this turn, which is a hand-off or not by its words alone.
    pub(super) fn checks_due(&self) -> Vec<CheckRequest> {
        let read = if self.progress.hands_off { Read::AtHandoff } else { Read::EachTurn };
        self.checks_read_by(read)
    }

    fn checks_read_by(&self, latest: Read) -> Vec<CheckRequest> {
        let due = self.scenario.checks.iter().filter(|check| check.read <= latest);
        due.map(|check| CheckRequest {
            check: check.id.clone(),
            since: check
                .kind
                .since()
                .and_then(|id| self.controller.ledger().told(id))
                .map(|told| Turn(told.0.saturating_sub(1)))
                .filter(|turn| *turn != Turn::BASE),
        })
        .collect()
    }

    /// Goes on after everything about a turn is known.
    pub(super) fn conclude_turn(&mut self, readings: Vec<(CheckId, Reading)>) {
        let ended = self.progress.ended(self.used, readings);
        self.controller.end_turn(&self.scenario, ended);
        if let Some(ending) = self.progress.ending {
            return self.finish(ending);
        }
        if !self.scenario.steps.is_empty() {
            return self.conclude_step();
        }
        match self.controller.decide(&self.scenario) {
            Decision::Say(plan) => self.word(plan),
            Decision::End(ending) => self.finish(ending),
        }
    }

    pub(super) fn word(&mut self, plan: TurnPlan) {
        self.controller.plan(&plan);
        self.phase = Phase::Wording { plan, nth: 1, after: vec![] };
    }

    /// Ends the session: what stands is sealed and graded, unless a fault took the ground away.
    pub(super) fn finish(&mut self, ending: Ending) {
        if ending == Ending::AgentTime && self.progress.is_starved {
            self.flag(Flag::CpuStarved, "the agent got less than nine tenths of its processors");
        }
        self.phase =
            if ending.is_graded() { Phase::Sealing(ending) } else { Phase::Closing(ending) };
    }

    /// Ends the session without waiting for what is open.
    pub(super) fn abandon(&mut self, ending: Ending) {
        self.open.clear();
        self.beside.clear();
        self.phase = Phase::Closing(ending);
    }

    /// Stops the open turn and ends the session; without one, ends it at once.
    pub(super) fn stop(&mut self, because: Ending) {
        if !self.has_open_turn() {
            return self.abandon(because);
        }
        let is_worse = self.progress.stopping.is_none_or(Ending::is_graded);
        if is_worse {
            self.progress.stopping = Some(because);
        } else {
            // A second reason to stop while the turn does not come to an end: nothing is waited for
            // any more.
            return self.abandon(because);
        }
        let is_interrupting = self.progress.is_interrupted
            || self.beside.iter().any(|command| matches!(command, Command::Interrupt { .. }));
        if !is_interrupting {
            if because.is_graded() {
                self.beside.push_back(Command::BlockWire);
            }
            self.beside.push_back(Command::Interrupt { because });
        }
    }

    pub(super) fn has_open_turn(&self) -> bool {
        self.open.iter().any(|(_, command)| matches!(command, Command::Prompt { .. }))
    }

    pub(super) fn flag(&mut self, flag: Flag, detail: &str) {
        if !self.flags.iter().any(|(known, text)| *known == flag && text == detail) {
            self.flags.push((flag, detail.to_string()));
        }
    }

    pub(super) fn limits(&self) -> &SessionLimits {
        &self.scenario.spec.limits
    }
}

fn not_decided(id: CommandId, logged: &Command, wanted: &Next) -> IllegalEntry {
    IllegalEntry::NotDecided {
        logged: format!("{id} {}", logged.name()),
        decided: match wanted {
            Next::Do(next, decided) if decided.name() == logged.name() => {
                format!("{next} {} with other contents", decided.name())
            }
            Next::Do(next, decided) => format!("{next} {}", decided.name()),
            Next::Wait => String::from("to wait"),
            Next::Over(_) => String::from("nothing"),
        },
    }
}

impl Command {
    /// The name that stands in logs.
    pub fn name(&self) -> &'static str {
        match self {
            Command::PrepareSandbox => "prepare_sandbox",
            Command::OpenAgent => "open_agent",
            Command::Word { .. } => "word",
            Command::Prompt { .. } => "prompt",
            Command::AnswerPermission { .. } => "answer_permission",
            Command::BlockWire => "block_wire",
            Command::Interrupt { .. } => "interrupt",
            Command::Freeze { .. } => "freeze",
            Command::Capture { .. } => "capture",
            Command::Interpret { .. } => "interpret",
            Command::Check { .. } => "check",
            Command::VerifyStep { .. } => "verify_step",
            Command::PlaceStep { .. } => "place_step",
            Command::Seal => "seal",
            Command::VerifyCompletion => "verify_completion",
            Command::End(_) => "end",
        }
    }

    /// Whether it can be open while a turn of the agent is.
    pub fn is_beside_a_turn(&self) -> bool {
        matches!(
            self,
            Command::AnswerPermission { .. } | Command::BlockWire | Command::Interrupt { .. }
        )
    }
}

impl Answer {
    /// The name that stands in logs.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::SandboxReady => "sandbox_ready",
            Answer::AgentOpened { .. } => "agent_opened",
            Answer::Worded { .. } => "worded",
            Answer::TurnEnded { .. } => "turn_ended",
            Answer::PermissionAnswered => "permission_answered",
            Answer::WireBlocked => "wire_blocked",
            Answer::Interrupted => "interrupted",
            Answer::Frozen => "frozen",
            Answer::Captured { .. } => "captured",
            Answer::Interpreted { .. } => "interpreted",
            Answer::Read { .. } => "read",
            Answer::StepVerified { .. } => "step_verified",
            Answer::StepPlaced { .. } => "step_placed",
            Answer::Sealed { .. } => "sealed",
            Answer::CompletionVerified(_) => "completion_verified",
            Answer::Closed => "closed",
            Answer::Failed { .. } => "failed",
        }
    }
}
