//! How a task that has steps goes on: a turn is a step, verified before the next one is asked for.

use super::{CompletionOutcome, CompletionReport, Phase, Session};
use crate::{
    controller::{OverBudget, over_budget},
    fault::Ending,
    ids::{StepId, Turn},
    release::Step,
};

impl Session {
    /// The step that a turn is; none if the task has none or no more.
    pub(super) fn step(&self, turn: Turn) -> Option<&Step> {
        self.scenario.steps.get((turn.0 as usize).checked_sub(1)?)
    }

    pub(super) fn step_id(&self, turn: Turn) -> StepId {
        self.step(turn).map_or_else(|| StepId::new(""), |step| step.name.clone())
    }

    /// Agent time that a turn may take: what is left of the session's, at most its step's.
    pub(super) fn deadline_ms(&self, turn: Turn) -> u64 {
        let left_ms = self.limits().agent_time_ms.saturating_sub(self.used.agent_ms);
        let of_step = (turn.0 as usize).checked_sub(1);
        let step_ms = of_step.and_then(|at| self.scenario.spec.steps_agent_ms.get(at));
        step_ms.map_or(left_ms, |step_ms| left_ms.min(*step_ms))
    }

    /// The agent's words decide nothing here: whatever it said, its step is over. The last one is
    /// verified on the seal, as everything is that ends a session.
    pub(super) fn conclude_step(&mut self) {
        let is_last = self.step(self.turn.next()).is_none();
        let how = if is_last { OverBudget::Exceeded } else { OverBudget::Spent };
        match over_budget(self.limits(), &self.used, self.turn, how) {
            Some(ending) => self.finish(ending),
            None if is_last => self.finish(Ending::Accepted),
            None => self.phase = Phase::VerifyingStep,
        }
    }

    /// A step that falls short ends the session.
    pub(super) fn take_step_report(&mut self, report: &CompletionReport) {
        self.step_reports.push(report.clone());
        let goes_on = self.step(self.turn).is_some_and(|step| suffices(step, &report.outcome));
        if goes_on {
            self.go_on_to_next_step();
        } else {
            self.finish(Ending::StepUnmet);
        }
    }

    /// Prepares the next step and asks for it; a task that has none begins at once.
    pub(super) fn go_on_to_next_step(&mut self) {
        if self.step(self.turn.next()).is_some_and(Step::is_prepared) {
            self.phase = Phase::PlacingStep;
        } else {
            self.ask_next_step();
        }
    }

    pub(super) fn ask_next_step(&mut self) {
        let plan = match self.step(self.turn.next()) {
            _ if self.turn == Turn::BASE => self.controller.opening(&self.scenario),
            Some(step) => self.controller.next_step(&self.scenario, step.statement.clone()),
            None => return self.finish(Ending::ControllerBug),
        };
        self.word(plan);
    }

    /// Whether the state that stands was verified on a copy already, so that nothing is left to be
    /// verified on the seal.
    pub(super) fn stands_verified(&self) -> bool {
        !self.scenario.steps.is_empty() && self.step_reports.len() >= self.turn.0 as usize
    }
}

/// A step without any reward never suffices; a key that is missing falls short of every number.
fn suffices(step: &Step, outcome: &CompletionOutcome) -> bool {
    let CompletionOutcome::Rewards(rewards) = outcome else { return false };
    step.min_reward
        .iter()
        .all(|(key, least)| rewards.iter().any(|(given, value)| given == key && value >= least))
}
