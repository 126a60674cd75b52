//! What the controller knows ([`Controller`]), and how ended turns, deliveries and readings change
//! it.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
    vec,
    vec::Vec,
};

use super::{
    Decision, Grant, History, Ledger, SpeechAct, TurnKind, TurnPlan, TurnRecord, Used, first_turn,
    patience, permission, record, turn,
};
use crate::{
    acceptance::{self, Look, Reading, ReadingHistory, Readings, Truth, Window},
    evidence::Permission,
    ids::{CheckId, Turn},
    interpret::{Ask, Interpretation},
    release::{ActionClass, Expr, Latest},
    session::Scenario,
    verdict::Verdict,
};

/// Everything that decides what the user says; it changes by ended turns, readings and deliveries
/// alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Controller {
    pub(super) ledger: Ledger,
    pub(super) records: Vec<TurnRecord>,
    pub(super) grants: Vec<Grant>,
    /// Uses of each grant by requests inside turns.
    pub(super) spent: Vec<u32>,
    readings: ReadingHistory,
    latest: BTreeMap<CheckId, Reading>,
    /// Turns that refusing, nudging and check-again messages opened.
    pub(super) refusals: Vec<Turn>,
    nudges: Vec<Turn>,
    pub(super) checks_again: Vec<Turn>,
    /// Facts that were answered, with the turn that the answer opened.
    answered: Vec<(Turn, String)>,
    pub(super) patience: patience::Streaks,
}

/// What a turn of the agent came to, before the controller judges it.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTurn {
    /// Which.
    pub turn: Turn,
    /// Whether it was cut short by a stop, a limit or a budget.
    pub is_cut_short: bool,
    /// Its message.
    pub message: String,
    /// What the message meant.
    pub interpretation: Interpretation,
    /// Classes of action that were asked for by requests inside the turn.
    pub classes_asked: Vec<ActionClass>,
    /// Whether a tool was used or a program started.
    pub has_acted: bool,
    /// Whether a path changed.
    pub has_changed: bool,
    /// What had been used by its end.
    pub used: Used,
    /// Readings of the checks that were due.
    pub readings: Vec<(CheckId, Reading)>,
}

impl Controller {
    /// A controller of a session in which nothing has been said.
    pub fn new(scenario: &Scenario) -> Self {
        let mut controller =
            Self { ledger: Ledger::new(&scenario.requirements), ..Self::default() };
        controller.latch_due(scenario, Turn::BASE);
        controller
    }

    /// The ledger of requirements.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Turns that have ended.
    pub fn records(&self) -> &[TurnRecord] {
        &self.records
    }

    /// Grants that were given.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// Everything that checks have read.
    pub fn reading_history(&self) -> &ReadingHistory {
        &self.readings
    }

    /// Hand-offs that were refused.
    pub fn refusals(&self) -> u32 {
        self.refusals.len() as u32
    }

    /// Nudges that were delivered.
    pub fn nudges(&self) -> u32 {
        self.nudges.len() as u32
    }

    /// Facts that were answered, in the order of the answers.
    pub fn answered(&self) -> impl Iterator<Item = &str> {
        self.answered.iter().map(|(_, say)| say.as_str())
    }

    /// The plan of the first message.
    pub fn opening(&self, scenario: &Scenario) -> TurnPlan {
        turn::opening(scenario, self)
    }

    /// The plan of the message that asks for the next step of a task.
    pub(crate) fn next_step(&self, scenario: &Scenario, statement: String) -> TurnPlan {
        turn::next_step(scenario, self, statement)
    }

    /// What the user does after the last ended turn.
    pub fn decide(&self, scenario: &Scenario) -> Decision {
        turn::decide(scenario, self)
    }

    /// Answers a permission request inside a turn; a listed class counts as asked for.
    pub(crate) fn answer_request(&mut self, scenario: &Scenario, request: &Permission) -> bool {
        let covering = request.class.and_then(|class| {
            let subject = request.subject.as_ref();
            permission::covering(&self.grants, &self.spent, class, subject, request.turn)
        });
        let is_hidden = request.class.is_some_and(|class| {
            permission::is_class_hidden(&scenario.requirements, &self.ledger, class)
        });
        let table = &scenario.permissions;
        let allow = permission::allows_now(table, request.class, covering.is_some(), is_hidden);
        if let Some(at) = covering {
            self.spent[at] += 1;
        }
        allow
    }

    /// Takes in an ended turn: readings, verdicts, what it was, and what became due by it.
    pub(crate) fn end_turn(&mut self, scenario: &Scenario, ended: EndedTurn) {
        let mut has_read_anew = false;
        for (check, reading) in &ended.readings {
            has_read_anew |= tells_news(self.latest.get(check), reading, ended.turn);
            self.readings.record(Look::Turn(ended.turn), check, reading);
            self.latest.insert(check.clone(), reading.clone());
        }
        let kind = kind(&ended, has_read_anew);
        self.patience.count(kind, &ended.message, ended.has_changed);
        let record = self.record(scenario, ended, kind);
        let turn = record.turn;
        self.records.push(record);
        self.latch_due(scenario, turn);
    }

    /// Takes in what the checks read on the seal.
    pub(crate) fn read_sealed(&mut self, readings: &[(CheckId, Reading)]) {
        for (check, reading) in readings {
            self.readings.record(Look::Sealed, check, reading);
            self.latest.insert(check.clone(), reading.clone());
        }
    }

    /// What the plan tells is planned from now on.
    pub(crate) fn plan(&mut self, plan: &TurnPlan) {
        for id in plan.delivers() {
            self.ledger.mark_planned(id, plan.turn);
        }
    }

    /// The message was delivered: counters rise, grants begin to live.
    pub(crate) fn deliver(&mut self, scenario: &Scenario, plan: &TurnPlan, at_ms: i64) {
        for act in &plan.acts {
            match act {
                SpeechAct::Tell { requirement, .. }
                | SpeechAct::Acknowledge { requirement, .. } => {
                    self.ledger.mark_told(requirement, plan.turn);
                }
                SpeechAct::Correct { requirement, .. } => {
                    self.ledger.mark_raised(requirement, plan.turn);
                }
                SpeechAct::Grant { class, subject, .. } => {
                    self.grants.push(permission::grant(
                        &scenario.permissions,
                        *class,
                        subject.as_ref(),
                        plan.turn,
                        at_ms,
                    ));
                    self.spent.push(0);
                }
                SpeechAct::Answer { say, .. } => self.answered.push((plan.turn, say.clone())),
                SpeechAct::Nudge { .. } => self.nudges.push(plan.turn),
                SpeechAct::CheckAgain { .. } => self.checks_again.push(plan.turn),
                _ => {}
            }
        }
        if self.last_kind() == Some(TurnKind::Handoff) && is_refusal(plan) {
            self.refusals.push(plan.turn);
        }
    }

    /// The agent died before anything followed the message: it was never delivered.
    pub(crate) fn withdraw(&mut self, turn: Turn) {
        self.ledger.withdraw(turn);
        for turns in [&mut self.refusals, &mut self.nudges, &mut self.checks_again] {
            turns.retain(|opened| *opened != turn);
        }
        self.answered.retain(|(opened, _)| *opened != turn);
        // A message's grants are the last ones.
        self.grants.retain(|grant| grant.from != turn);
        self.spent.truncate(self.grants.len());
    }

    /// Verdict of a requirement at a look, none before it was told.
    pub fn verdict(&self, scenario: &Scenario, at: usize, look: Look) -> Option<Verdict> {
        let requirement = scenario.requirements.get(at)?;
        let told = self.ledger.told(&requirement.id)?;
        let window = Window::of(requirement, told, look);
        Some(acceptance::verdict(&requirement.pass, &self.evaluable(scenario), window))
    }

    /// What a part of a requirement's acceptance is by itself at a look, none before it was told.
    pub fn verdict_of(
        &self,
        scenario: &Scenario,
        at: usize,
        part: &Expr,
        look: Look,
    ) -> Option<Verdict> {
        let requirement = scenario.requirements.get(at)?;
        let told = self.ledger.told(&requirement.id)?;
        let window = Window::of(requirement, told, look);
        Some(acceptance::evaluate(part, &self.evaluable(scenario), window))
    }

    pub(super) fn evaluable<'a>(&'a self, scenario: &'a Scenario) -> Readings<'a> {
        Readings { checks: &scenario.checks, history: &self.readings, grants: &self.grants }
    }

    pub(super) fn last_kind(&self) -> Option<TurnKind> {
        self.records.last().map(|record| record.kind)
    }

    /// The turn that the next message opens.
    pub(super) fn next_turn(&self) -> Turn {
        self.records.last().map_or(Turn(1), |record| record.turn.next())
    }

    fn record(&self, scenario: &Scenario, ended: EndedTurn, kind: TurnKind) -> TurnRecord {
        let look = Look::Turn(ended.turn);
        let readings = self.evaluable(scenario);
        let breaches = scenario.requirements.iter().map(|requirement| {
            acceptance::violations(&requirement.pass, &readings, Window::whole(look))
        });
        let verdicts = (0..scenario.requirements.len()).map(|at| self.verdict(scenario, at, look));
        let mut topics_asked = vec![];
        let mut classes_asked = ended.classes_asked;
        for ask in &ended.interpretation.asks {
            match ask {
                Ask::About(topic) => topics_asked.push(topic.clone()),
                Ask::Permission { class: Some(class), .. } => classes_asked.push(*class),
                Ask::Permission { class: None, .. } | Ask::Generic | Ask::Other => {}
            }
        }
        TurnRecord {
            turn: ended.turn,
            kind,
            topics_asked,
            classes_asked,
            checks_held: self.held_in(ended.turn, &ended.readings),
            breaches: breaches.collect(),
            verdicts: verdicts.collect(),
            idle_in_a_row: self.patience.idle,
            used: ended.used,
            interpretation: ended.interpretation,
        }
    }

    fn held_in(&self, turn: Turn, readings: &[(CheckId, Reading)]) -> BTreeSet<CheckId> {
        let held = readings.iter().filter(|(check, reading)| match reading {
            Reading::State { truth, .. } => *truth == Truth::True,
            // What a look missed before shows up now: a list read for the first time counts whole.
            Reading::Events(list) => {
                list.iter().any(|occurrence| occurrence.turn == turn)
                    || (!list.is_empty() && !self.has_occurred(check))
            }
            Reading::Missing(_) => false,
        });
        held.map(|(check, _)| check.clone()).collect()
    }

    fn has_occurred(&self, check: &CheckId) -> bool {
        self.records.iter().any(|record| record.checks_held.contains(check))
    }

    fn latch_due(&mut self, scenario: &Scenario, now: Turn) {
        let history = History {
            requirements: &scenario.requirements,
            ledger: &self.ledger,
            records: &self.records,
            grants: &self.grants,
            limits: &scenario.spec.limits,
        };
        let due: Vec<usize> = self
            .ledger
            .untold()
            .filter(|at| {
                let requirement = &scenario.requirements[*at];
                requirement.is_told_at_opening()
                    || matches!(requirement.tell.latest, Latest::Turn(turn) if turn <= now.0)
                    || first_turn(&requirement.tell.when, requirement, &history).is_some()
            })
            .collect();
        for at in due {
            self.ledger.mark_due(at, now);
        }
    }
}

impl SpeechAct {
    /// What it says, the statement of the opening aside.
    pub fn say(&self) -> String {
        match self {
            SpeechAct::Open { say, .. }
            | SpeechAct::Grant { say, .. }
            | SpeechAct::Refuse { say, .. }
            | SpeechAct::Answer { say, .. }
            | SpeechAct::Defer { say }
            | SpeechAct::DontKnow { say }
            | SpeechAct::Correct { say, .. }
            | SpeechAct::Nudge { say }
            | SpeechAct::CheckAgain { say }
            | SpeechAct::Continue { say } => say.to_string(),
            SpeechAct::Tell { lead, say, .. } | SpeechAct::Acknowledge { lead, say, .. } => {
                alloc::format!("{lead} {say}")
            }
        }
    }
}

/// A refusal corrects and tells nothing.
fn is_refusal(plan: &TurnPlan) -> bool {
    plan.acts.iter().any(|act| act.corrects().is_some()) && plan.delivers().next().is_none()
}

fn kind(ended: &EndedTurn, has_read_anew: bool) -> TurnKind {
    let has_done = ended.has_acted || ended.has_changed || has_read_anew;
    if ended.is_cut_short || ended.interpretation.quits {
        TurnKind::Stopped
    } else if !has_done && !ended.interpretation.leaves_question_open() {
        TurnKind::Idle
    } else if record::hands_off(&ended.interpretation) {
        TurnKind::Handoff
    } else {
        TurnKind::Open
    }
}

/// Whether a reading shows that the turn did something; a first look at a state has nothing to
/// compare with.
fn tells_news(before: Option<&Reading>, now: &Reading, turn: Turn) -> bool {
    match (before, now) {
        (Some(Reading::State { truth: old, .. }), Reading::State { truth: new, .. }) => {
            let is_known = |truth: &Truth| !matches!(truth, Truth::Unknown(_));
            is_known(old) && is_known(new) && old != new
        }
        (_, Reading::Events(list)) => list.iter().any(|occurrence| occurrence.turn == turn),
        _ => false,
    }
}
