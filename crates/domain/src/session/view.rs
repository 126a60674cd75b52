//! What others may read of a session: the engine for its ports, the fold of results, the stories of
//! reports.

use alloc::{string::String, sync::Arc, vec::Vec};

use super::{Command, CompletionReport, Phase, Scenario, Session};
use crate::{
    acceptance::{Look, ReadingHistory},
    controller::{Controller, DialogueLine, Grant, Ledger, TurnKind, TurnPlan, TurnRecord, Voice},
    fault::{Ending, Flag},
    ids::{CommandId, Hash, Turn},
    release::Expr,
    result::Load,
    verdict::Verdict,
};

impl Session {
    /// What the session is decided by.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// Where it stands.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The last turn that a prompt opened; turn 0 before the first.
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// Commands that wait for their answers: what left this list unanswered is to be given up.
    pub fn open_commands(&self) -> &[(CommandId, Command)] {
        &self.open
    }

    /// Whether an answer to the command is still awaited.
    pub fn awaits(&self, id: CommandId) -> bool {
        self.open.iter().any(|(open, _)| *open == id)
    }

    /// Grants that were given.
    pub fn grants(&self) -> &[Grant] {
        self.controller.grants()
    }

    /// Turns that were taken for a hand-off; the turn that is being checked counts by its words.
    pub fn handoffs(&self) -> Vec<Turn> {
        let ended = self.controller.records().iter();
        let mut turns: Vec<Turn> = ended
            .filter(|record| record.kind == TurnKind::Handoff)
            .map(|record| record.turn)
            .collect();
        if self.phase == Phase::Checking && self.progress.hands_off {
            turns.push(self.turn);
        }
        turns
    }

    /// Messages in the order in which they reached the other side; of the agent those that end its
    /// turns.
    pub fn dialogue(&self) -> impl Iterator<Item = &DialogueLine> {
        self.dialogue.iter().map(|(_, line)| line)
    }

    /// Delivered messages of the user with the turns that they opened.
    pub fn user_messages(&self) -> impl Iterator<Item = (Turn, &str)> {
        self.dialogue.iter().filter_map(|(turn, line)| match line {
            DialogueLine::User(text) => Some((*turn, text.as_str())),
            DialogueLine::Agent(_) => None,
        })
    }

    /// What a wording model may know of the person by now.
    pub fn voice(&self) -> Voice {
        let persona = &self.scenario.persona;
        let told = self
            .scenario
            .requirements
            .iter()
            .filter(|requirement| self.controller.ledger().told(&requirement.id).is_some());
        Voice {
            role: persona.role.clone(),
            card: persona.card.clone(),
            words_max: persona.telling.words_max,
            language: persona.telling.language.clone(),
            known: self.controller.answered().map(String::from).collect(),
            delivered: told.map(|requirement| requirement.text.clone()).collect(),
        }
    }

    /// The plan that is being worded or delivered.
    pub fn plan(&self) -> Option<&TurnPlan> {
        match &self.phase {
            Phase::Wording { plan, .. } | Phase::Working { plan, .. } => Some(plan),
            _ => None,
        }
    }

    /// The ledger of requirements.
    pub fn ledger(&self) -> &Ledger {
        self.controller.ledger()
    }

    /// Turns that have ended, each with what it was taken for and the verdicts at its end.
    pub fn records(&self) -> &[TurnRecord] {
        self.controller.records()
    }

    /// Everything that checks have read.
    pub fn readings(&self) -> &ReadingHistory {
        self.controller.reading_history()
    }

    /// Everything that decides what the user says.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Verdict of the requirement at a place of the declared order, on the seal; none if it was
    /// never told or nothing was sealed.
    pub fn sealed_verdict(&self, at: usize) -> Option<Verdict> {
        self.seal.as_ref()?;
        self.controller.verdict(&self.scenario, at, Look::Sealed)
    }

    /// As [`Session::sealed_verdict`], of one part of the acceptance by itself.
    pub fn sealed_verdict_of(&self, at: usize, part: &Expr) -> Option<Verdict> {
        self.seal.as_ref()?;
        self.controller.verdict_of(&self.scenario, at, part, Look::Sealed)
    }

    /// The ending once it is decided.
    pub fn ending(&self) -> Option<Ending> {
        self.phase.ending()
    }

    /// Flags that were set, with a word on each.
    pub fn flags(&self) -> &[(Flag, String)] {
        &self.flags
    }

    /// The agent's own name and version.
    pub fn agent_identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    /// Digest of the sealed state.
    pub fn seal(&self) -> Option<&Hash> {
        self.seal.as_ref()
    }

    /// What the native verifier of each step left, in order of the steps; none for steps that were
    /// not reached or not verified.
    pub fn step_reports(&self) -> Vec<Option<&CompletionReport>> {
        let steps = self.scenario.steps.len();
        let mut reports: Vec<_> = self.step_reports.iter().take(steps).map(Some).collect();
        if reports.len() < steps && !self.stands_verified() {
            reports.extend(self.completion.as_ref().map(Some));
        }
        reports.resize(steps, None);
        reports
    }

    /// What the native verifier left; of a task that has steps, that of the last one reached.
    pub fn completion(&self) -> Option<&CompletionReport> {
        self.completion.as_ref()
    }

    /// Load of the interaction and resources used.
    pub fn load(&self) -> Load {
        let entries = self.controller.ledger().entries();
        Load {
            turns: self.counts.turns,
            agent_ms: self.used.agent_ms,
            tokens: self.used.tokens,
            cost_microusd: self.used.cost_microusd,
            unpriced: self.used.unpriced,
            delivered: entries.iter().filter(|entry| entry.told.is_some()).count() as u32,
            corrections: entries.iter().map(|entry| entry.raised.len() as u32).sum(),
            refusals: self.controller.refusals(),
            nudges: self.controller.nudges(),
            questions: self.counts.questions,
            permission_requests: self.counts.permission_requests,
            requests_inside: self.counts.requests_inside,
            words_read: self.counts.words_read,
            template_fallbacks: self.counts.template_fallbacks,
        }
    }

    /// What the user says when the work is taken: stored, never sent.
    pub fn closing_words(&self) -> Option<&str> {
        self.ending().and_then(|ending| self.scenario.closing_words(ending))
    }
}
