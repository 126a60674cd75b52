//! A user message in the making ([`Draft`]): what it has to convey, and how that becomes a turn
//! plan.

use alloc::{string::String, vec, vec::Vec};

use super::{Controller, SpeechAct, TurnPlan};
use crate::{
    acceptance::{self, Look, Window},
    ids::Turn,
    release::{FeedbackLevel, IfPresatisfied, Requirement},
    session::Scenario,
    verdict::Verdict,
};

/// Acts by their rank in the message; requirements by their place in declared order.
pub(super) struct Draft<'a> {
    pub scenario: &'a Scenario,
    pub state: &'a Controller,
    /// Grants and refusals.
    pub permissions: Vec<SpeechAct>,
    /// Answers, deferrals and "I can't tell".
    pub answers: Vec<SpeechAct>,
    /// A generic question is put off unless something is told anyway.
    pub defers_generic: bool,
    pub corrections: Vec<(usize, FeedbackLevel, &'a [String])>,
    pub tells: Vec<(usize, Lead)>,
}

/// How a telling begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// With words of its own.
    Own,
    /// Without: it answers a question or a request, or belongs to the opening.
    None,
}

impl<'a> Draft<'a> {
    pub(super) fn new(scenario: &'a Scenario, state: &'a Controller) -> Self {
        Self {
            scenario,
            state,
            permissions: vec![],
            answers: vec![],
            defers_generic: false,
            corrections: vec![],
            tells: vec![],
        }
    }

    pub(super) fn turn(&self) -> Turn {
        self.state.next_turn()
    }

    /// One of an author's wordings, the same one for the same draw, turn and place.
    pub(super) fn pick(&self, list: &[String], place: usize) -> String {
        self.pick_nth(list, self.turn().0 as usize + place)
    }

    /// The wording for the nth use of the list, so that no two uses in a row sound alike.
    fn pick_nth(&self, list: &[String], nth: usize) -> String {
        if list.is_empty() {
            return String::new();
        }
        let len = list.len() as u64;
        let at = (self.scenario.spec.draw % len + nth as u64 % len) % len;
        list[at as usize].clone()
    }

    pub(super) fn is_told_here(&self, at: usize) -> bool {
        self.tells.iter().any(|(told, _)| *told == at)
    }

    /// Whether the persona's limit of tellings leaves room for another.
    pub(super) fn has_room(&self) -> bool {
        (self.tells.len() as u64)
            < u64::from(self.scenario.persona.telling.tells_per_message.max(1))
    }

    pub(super) fn tell(&mut self, at: usize, lead: Lead) {
        if !self.is_told_here(at) {
            self.tells.push((at, lead));
        }
    }

    /// Untold requirements that this message does not tell either, in declared order.
    pub(super) fn hidden(&self) -> Vec<usize> {
        self.state.ledger.untold().filter(|at| !self.is_told_here(*at)).collect()
    }

    /// Of the hidden ones those that are due.
    pub(super) fn due(&self) -> Vec<usize> {
        let entries = self.state.ledger.entries();
        self.hidden().into_iter().filter(|at| entries[*at].due.is_some()).collect()
    }

    /// The plan: grants and refusals, answers, deferrals, corrections, tellings, acknowledgements.
    pub(super) fn into_plan(mut self) -> TurnPlan {
        let mut acts = core::mem::take(&mut self.permissions);
        acts.append(&mut self.answers);
        if self.defers_generic
            && self.tells.is_empty()
            && !acts.iter().any(|act| matches!(act, SpeechAct::Defer { .. }))
        {
            let say = self.pick(&self.scenario.persona.utterances.defer, acts.len());
            acts.push(SpeechAct::Defer { say });
        }
        let entries = self.state.ledger.entries();
        for (at, level, words) in &self.corrections {
            let nth = entries[*at].raised.len() + at;
            acts.push(SpeechAct::Correct {
                requirement: self.scenario.requirements[*at].id.clone(),
                level: *level,
                say: self.pick_nth(words, nth),
            });
        }
        self.push_tellings(&mut acts);
        if acts.is_empty() {
            let say = self.pick(&self.scenario.persona.utterances.nudge, 0);
            acts.push(SpeechAct::Continue { say });
        }
        self.plan_of(acts)
    }

    /// A plan of given acts; the template's own words always fit into it.
    pub(super) fn plan_of(&self, acts: Vec<SpeechAct>) -> TurnPlan {
        let telling = &self.scenario.persona.telling;
        let said: String = acts.iter().map(|act| act.say() + " ").collect();
        let words = said.split_whitespace().count() as u32;
        let questions = said.chars().filter(|c| *c == '?').count() as u32;
        TurnPlan {
            turn: self.turn(),
            acts,
            words_max: telling.words_max.max(words),
            language: telling.language.clone(),
            questions_max: questions.max(1),
        }
    }

    pub(super) fn push_tellings(&self, acts: &mut Vec<SpeechAct>) {
        let (praised, told): (Vec<_>, Vec<_>) =
            self.tells.iter().copied().partition(|(at, _)| self.is_presatisfied(*at));
        let utterances = &self.scenario.persona.utterances;
        let told_before = self.state.ledger.entries().len() - self.state.ledger.untold().count();
        let mut has_led = false;
        for (at, lead) in told {
            let requirement = &self.scenario.requirements[at];
            let leads = lead == Lead::Own && !has_led;
            has_led |= leads;
            acts.push(SpeechAct::Tell {
                requirement: requirement.id.clone(),
                lead: if leads {
                    self.pick_nth(&utterances.tell, told_before)
                } else {
                    String::new()
                },
                say: self.wording(requirement, acts.len()),
                because: requirement.because.clone(),
                must_say: requirement.must_say.clone(),
            });
        }
        for (nth, (at, _)) in praised.into_iter().enumerate() {
            let requirement = &self.scenario.requirements[at];
            acts.push(SpeechAct::Acknowledge {
                requirement: requirement.id.clone(),
                lead: self.pick_nth(&utterances.acknowledge, told_before + nth),
                say: self.wording(requirement, acts.len()),
                because: requirement.because.clone(),
                must_say: requirement.must_say.clone(),
            });
        }
    }

    /// The words of a telling.
    pub(super) fn wording(&self, requirement: &Requirement, place: usize) -> String {
        self.pick(&requirement.say, place)
    }

    fn is_presatisfied(&self, at: usize) -> bool {
        let requirement = &self.scenario.requirements[at];
        let Some(record) = self.state.records.last() else { return false };
        requirement.tell.if_presatisfied == IfPresatisfied::Acknowledge
            && acceptance::verdict(
                &requirement.pass,
                &self.state.evaluable(self.scenario),
                Window::whole(Look::Turn(record.turn)),
            ) == Verdict::Met
    }
}
