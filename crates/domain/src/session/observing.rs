//! How an observation changes a session: it is legal in every phase and never moves more than a
//! stop.

use super::{Command, Observation, Phase, Session, ToolReturn, Watchdog};
use crate::{
    controller::{DialogueLine, OverBudget, over_budget},
    evidence::Permission,
    fault::{Ending, Flag},
    ids::Turn,
};

impl Session {
    pub(super) fn apply_observation(&mut self, observation: &Observation) {
        match observation {
            Observation::Delivered { turn, at_ms } => self.deliver(*turn, *at_ms),
            Observation::AgentSaid { turn, text, .. } => {
                if self.is_listening(*turn) {
                    self.progress.follow();
                    if !self.progress.message.is_empty() {
                        self.progress.message.push('\n');
                    }
                    self.progress.message.push_str(text);
                }
            }
            Observation::AgentActed(activity) => {
                if self.is_listening(activity.turn) {
                    self.progress.follow();
                    self.progress.has_acted = true;
                    // What was said before a tool call is narration, not the message.
                    self.progress.message.clear();
                }
            }
            Observation::PermissionRequested(request) => self.answer_request(request),
            Observation::Used { tokens, cost_microusd } => self.use_up(*tokens, *cost_microusd),
            Observation::WatchdogFired(watchdog) => self.heed(*watchdog),
            Observation::Cancelled => {
                if !matches!(self.phase, Phase::Closing(_) | Phase::Over(_)) {
                    self.stop(Ending::OperatorAbort);
                }
            }
            Observation::Flagged { flag, detail } => self.flag(*flag, detail),
            // What an agent tells of its work proves that the message arrived, and moves nothing else.
            Observation::ToolReturned(ToolReturn { turn, .. })
            | Observation::AgentThought { turn, .. }
            | Observation::AgentPlanned { turn, .. } => {
                if self.is_listening(*turn) {
                    self.progress.follow();
                }
            }
            Observation::UseClaimed(_)
            | Observation::DriverNoted { .. }
            | Observation::Cut { .. }
            | Observation::Stray { .. } => {}
        }
    }

    /// Whether words and deeds of the turn still belong to its message.
    fn is_listening(&self, turn: Turn) -> bool {
        let is_open =
            self.has_open_turn() || matches!(self.phase, Phase::Freezing | Phase::Capturing);
        is_open && turn == self.progress.turn
    }

    fn deliver(&mut self, turn: Turn, at_ms: i64) {
        let Phase::Working { plan, text } = &self.phase else { return };
        if !self.has_open_turn() || turn != self.progress.turn || self.progress.is_delivered {
            return;
        }
        self.progress.is_delivered = true;
        self.controller.deliver(&self.scenario, plan, at_ms);
        self.dialogue.push((turn, DialogueLine::User(text.clone())));
    }

    fn answer_request(&mut self, request: &Permission) {
        self.counts.permission_requests += 1;
        self.counts.requests_inside += 1;
        if !self.has_open_turn() || request.turn != self.progress.turn {
            return;
        }
        self.progress.follow();
        let is_stopping = self.progress.stopping.is_some();
        let allow = !is_stopping && self.controller.answer_request(&self.scenario, request);
        let scenario = &self.scenario;
        let is_listed = |class| {
            scenario.permissions.entries.iter().any(|entry| entry.class == class)
                || scenario.requirements.iter().any(|r| r.class == Some(class))
        };
        if let Some(class) = request.class.filter(|class| is_listed(*class))
            && !self.progress.classes_asked.contains(&class)
        {
            self.progress.classes_asked.push(class);
        }
        self.beside.push_back(Command::AnswerPermission { request: request.request, allow });
    }

    /// The gateway only reports; the machine blocks.
    fn use_up(&mut self, tokens: Option<u64>, cost_microusd: Option<u64>) {
        self.progress.follow();
        let used = &mut self.used;
        if let Some(tokens) = tokens {
            used.tokens = Some(used.tokens.unwrap_or(0).saturating_add(tokens));
        }
        match cost_microusd {
            Some(cost) => {
                used.cost_microusd = Some(used.cost_microusd.unwrap_or(0).saturating_add(cost));
            }
            None => used.unpriced += 1,
        }
        if self.has_open_turn() && self.progress.stopping.is_none() {
            let how = OverBudget::Exceeded;
            if let Some(ending) = over_budget(self.limits(), &self.used, self.turn, how) {
                self.stop(ending);
            }
        }
    }

    fn heed(&mut self, watchdog: Watchdog) {
        match watchdog {
            Watchdog::Preparation if self.phase.is_preparation() => {
                self.flag(Flag::PreparationFailed, "preparation took too long");
                self.abandon(Ending::PreparationFailed);
            }
            Watchdog::WallTime if self.phase.is_interaction() => {
                self.stop(Ending::SessionWallTime);
            }
            Watchdog::Verification if self.phase.is_verification() => {
                if let Some(ending) = self.phase.ending() {
                    self.flag(Flag::VerificationIncomplete, "verification took too long");
                    self.abandon(ending);
                }
            }
            Watchdog::Preparation | Watchdog::WallTime | Watchdog::Verification => {}
        }
    }
}
