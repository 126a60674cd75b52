//! Plays the world's part of a session: performs commands over a small made-up workspace, keeps the
//! log.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use domain::{
    acceptance::{Occurrence, Reading, Truth},
    controller::{SpeechAct, TurnPlan},
    evidence::{EventTime, Missing, Permission},
    fault::Ending,
    ids::{CheckId, CommandId, Hash, RequestId, Turn},
    release::{ActionClass, FeedbackLevel},
    session::{
        Answer, Command, CompletionOutcome, CompletionReport, Entry, Event, IllegalEntry, Next,
        Observation, Scenario, Session, ToolActivity, TurnStop, Wordsmith, replay,
    },
    wording,
};

/// A session with its log and what the checks would read.
pub struct Player {
    pub session: Session,
    pub log: Vec<Entry>,
    pub world: World,
    pub reads: Vec<Vec<CheckId>>,
}

/// What the checks see.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub states: BTreeMap<String, Truth>,
    pub events: BTreeMap<String, Vec<Turn>>,
    pub reward: f64,
    /// What the verifiers of steps leave, in order; afterwards `reward` counts.
    pub step_outcomes: VecDeque<CompletionOutcome>,
    /// Paths that the next capture finds changed.
    pub pending_change: u32,
}

/// One turn of the agent.
#[derive(Clone, Debug)]
pub struct AgentTurn {
    pub text: String,
    pub acts: bool,
    pub changes: u32,
    pub stop: TurnStop,
    pub agent_ms: u64,
    pub tokens: Option<u64>,
    pub requests: Vec<(ActionClass, Option<String>)>,
    pub is_delivered: bool,
}

impl Default for AgentTurn {
    fn default() -> Self {
        Self {
            text: String::new(),
            acts: true,
            changes: 0,
            stop: TurnStop::Finished,
            agent_ms: 1000,
            tokens: None,
            requests: vec![],
            is_delivered: true,
        }
    }
}

impl Player {
    pub fn new(scenario: Scenario) -> Self {
        Self {
            session: Session::new(Arc::new(scenario)),
            log: vec![],
            world: World { reward: 1.0, ..World::default() },
            reads: vec![],
        }
    }

    pub fn try_log(&mut self, event: Event) -> Result<(), IllegalEntry> {
        let entry =
            Entry { seq: self.session.seq() + 1, elapsed_ms: self.log.len() as u64 * 10, event };
        self.session.apply(&entry)?;
        self.log.push(entry);
        Ok(())
    }

    pub fn log(&mut self, event: Event) {
        self.try_log(event.clone()).unwrap_or_else(|error| panic!("{error}: {event:?}"));
    }

    pub fn observe(&mut self, observation: Observation) {
        self.log(Event::Observed(observation));
    }

    pub fn answer(&mut self, id: CommandId, answer: Answer) {
        self.log(Event::Answered(id, answer));
    }

    /// Decides the next command and logs it.
    pub fn decide(&mut self) -> Option<(CommandId, Command)> {
        let Next::Do(id, command) = self.session.next() else { return None };
        self.log(Event::Decided(id, command.clone()));
        self.check_secrets();
        Some((id, command))
    }

    /// Performs commands until a message waits for its delivery, or the session is over.
    pub fn run_to_prompt(&mut self) -> Option<CommandId> {
        while let Some((id, command)) = self.decide() {
            if matches!(command, Command::Prompt { .. }) {
                return Some(id);
            }
            let answer = self.perform(&command);
            self.answer(id, answer);
        }
        assert!(
            matches!(self.session.next(), Next::Over(_)),
            "stuck in {:?}",
            self.session.phase()
        );
        None
    }

    /// One turn of the agent; returns what its permission requests were answered.
    pub fn turn(&mut self, prompt: CommandId, turn: &AgentTurn) -> Vec<bool> {
        let now = self.session.turn();
        let at_ms = i64::from(now.0) * 1000;
        if turn.is_delivered {
            self.observe(Observation::Delivered { turn: now, at_ms });
        }
        if turn.acts {
            let title = "ls".to_string();
            self.observe(Observation::AgentActed(ToolActivity::titled(now, at_ms, title)));
        }
        let mut allowed = vec![];
        for (place, (class, subject)) in turn.requests.iter().enumerate() {
            let request = RequestId(now.0 * 100 + place as u32);
            let (class, subject) = (Some(*class), subject.clone());
            let permission = Permission { request, turn: now, at_ms, class, subject };
            self.observe(Observation::PermissionRequested(permission));
            let Some((id, Command::AnswerPermission { request: asked, allow })) = self.decide()
            else {
                panic!("a request was not answered");
            };
            assert_eq!(asked, request);
            allowed.push(allow);
            self.answer(id, Answer::PermissionAnswered);
        }
        if let Some(tokens) = turn.tokens {
            self.observe(Observation::Used { tokens: Some(tokens), cost_microusd: None });
        }
        if !turn.text.is_empty() {
            let text = turn.text.clone();
            self.observe(Observation::AgentSaid { turn: now, at_ms, text });
        }
        let mut stop = turn.stop;
        while let Next::Do(id, command) = self.session.next() {
            self.log(Event::Decided(id, command.clone()));
            let answer = self.perform(&command);
            self.answer(id, answer);
            stop = TurnStop::Interrupted;
        }
        self.world.pending_change = turn.changes;
        self.answer(prompt, Answer::TurnEnded { stop, agent_ms: turn.agent_ms });
        allowed
    }

    /// What a well-behaved world answers.
    pub fn perform(&mut self, command: &Command) -> Answer {
        match command {
            Command::PrepareSandbox => Answer::SandboxReady,
            Command::OpenAgent => Answer::AgentOpened { identity: "agent 1".into() },
            Command::Word { plan, .. } => Answer::Worded {
                text: wording::template(plan),
                by: Wordsmith::Template,
                exchange: None,
            },
            Command::Prompt { .. } => panic!("a prompt is answered by a turn"),
            Command::AnswerPermission { .. } => Answer::PermissionAnswered,
            Command::BlockWire => Answer::WireBlocked,
            Command::Interrupt { .. } => Answer::Interrupted,
            Command::Freeze { .. } => Answer::Frozen,
            Command::Capture { .. } => Answer::Captured {
                manifest: Hash::new("00"),
                changed: std::mem::take(&mut self.world.pending_change),
                processes: 0,
                overflow: false,
                limit_hit: None,
                cpu_share_percent: None,
            },
            Command::Interpret { topics, .. } => {
                Answer::Interpreted { topics: vec![topics.first().cloned()] }
            }
            Command::Check { checks, .. } => {
                self.reads.push(checks.iter().map(|request| request.check.clone()).collect());
                let readings = checks
                    .iter()
                    .map(|request| (request.check.clone(), self.world.read(&request.check)));
                Answer::Read { readings: readings.collect() }
            }
            Command::Seal => {
                Answer::Sealed { digest: Hash::new("5ea1"), verifier_tools_changed: vec![] }
            }
            Command::VerifyStep { .. } => Answer::StepVerified {
                report: self.world.verified(),
                verifier_tools_changed: vec![],
            },
            Command::PlaceStep { .. } => {
                Answer::StepPlaced { manifest: Hash::new("00"), changed: 1 }
            }
            Command::VerifyCompletion => Answer::CompletionVerified(self.world.verified()),
            Command::End(_) => Answer::Closed,
        }
    }

    pub fn ending(&self) -> Option<Ending> {
        self.session.ending()
    }

    /// A replay of the log decides the same.
    pub fn check_replay(&self) {
        let again = replay(self.session.scenario().clone(), &self.log).expect("no divergence");
        assert_eq!(again, self.session);
    }

    /// No plan and no voice holds a word of a requirement that is neither delivered nor told by
    /// that plan.
    fn check_secrets(&self) {
        let said = format!("{:?} {:?}", self.session.plan(), self.session.voice());
        for need in &self.session.scenario().requirements {
            let is_told = self.session.ledger().told(&need.id).is_some();
            let is_telling =
                self.session.plan().is_some_and(|plan| plan.delivers().any(|id| *id == need.id));
            if !is_told && !is_telling {
                for secret in &need.hide {
                    assert!(!said.contains(secret.as_str()), "{secret} leaked: {said}");
                }
            }
        }
    }
}

impl World {
    fn read(&self, check: &CheckId) -> Reading {
        let name = check.as_str();
        if name.starts_with('e') {
            let turns = self.events.get(name).into_iter().flatten();
            let occurrence = |turn: &Turn| Occurrence {
                turn: *turn,
                time: EventTime::exact(i64::from(turn.0) * 1000 + 500),
                subject: "install jq".into(),
            };
            return Reading::Events(turns.map(occurrence).collect());
        }
        let truth = self.states.get(name).copied().unwrap_or(Truth::False);
        match truth {
            Truth::Unknown(Missing::ChannelMissing) => Reading::Missing(Missing::ChannelMissing),
            truth => Reading::State { truth, witness: String::new() },
        }
    }
}

impl World {
    fn verified(&mut self) -> CompletionReport {
        let plain = CompletionOutcome::Rewards(vec![("reward".into(), self.reward)]);
        let outcome = self.step_outcomes.pop_front().unwrap_or(plain);
        CompletionReport { outcome, took_ms: 5, output: None, artifacts: None, survivors: None }
    }
}

/// The acts of a plan in short, as scripts write them.
pub fn acts(plan: &TurnPlan) -> String {
    let short = |act: &SpeechAct| match act {
        SpeechAct::Open { .. } if plan.turn > Turn(1) => "step".to_string(),
        SpeechAct::Open { .. } => "open".to_string(),
        SpeechAct::Grant { class, .. } => format!("grant({})", class.name()),
        SpeechAct::Refuse { class, .. } => {
            format!("refuse({})", class.map_or("", ActionClass::name))
        }
        SpeechAct::Answer { topic, .. } => format!("answer({topic})"),
        SpeechAct::Defer { .. } => "defer".to_string(),
        SpeechAct::DontKnow { .. } => "dont_know".to_string(),
        SpeechAct::Correct { requirement, level, .. } => {
            let level = match level {
                FeedbackLevel::Symptom => "symptom",
                FeedbackLevel::Restate => "restate",
                FeedbackLevel::Point => "point",
            };
            format!("correct({requirement} {level})")
        }
        SpeechAct::Tell { requirement, .. } => format!("tell({requirement})"),
        SpeechAct::Acknowledge { requirement, .. } => format!("praise({requirement})"),
        SpeechAct::Nudge { .. } => "nudge".to_string(),
        SpeechAct::CheckAgain { .. } => "again".to_string(),
        SpeechAct::Continue { .. } => "continue".to_string(),
    };
    plan.acts.iter().map(short).collect::<Vec<_>>().join(" ")
}
