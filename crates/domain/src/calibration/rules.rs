//! What each agent must show in each arm.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{Breach, CalibrationAgent, Shown, Subject};
use crate::{
    fault::Ending,
    ids::{RequirementId, Turn},
    plan::Arm,
    release::Pair,
    result::{RequirementResult, SessionResult},
    verdict::Outcome,
};

/// Share of the turns that the oracle uses at the most: whoever does not know what comes needs more.
pub const ORACLE_TURNS_PERCENT_MAX: u64 = 75;

/// Share of the agent time that the oracle uses at the most: a script thinks and types in no time.
pub const ORACLE_TIME_PERCENT_MAX: u64 = 25;

/// What is not as it must be in one session of the pair.
pub(super) fn breaches(pair: &Pair, shown: &Shown) -> Vec<Breach> {
    let mut judge = Judge { pair, shown, breaches: Vec::new() };
    judge.session();
    judge.breaches
}

struct Judge<'a> {
    pair: &'a Pair,
    shown: &'a Shown,
    breaches: Vec<Breach>,
}

impl Judge<'_> {
    fn session(&mut self) {
        let result = &self.shown.result;
        if !result.class.is_graded() {
            let flags: Vec<String> =
                result.flags.iter().map(|(flag, why)| format!("{}: {why}", flag.name())).collect();
            let found = format!("{} ({})", result.class.name(), flags.join("; "));
            let remedy = "mend what the flag names, and calibrate again";
            self.add(None, "a session that can be graded", found, remedy);
            return;
        }
        match self.shown.agent.clone() {
            CalibrationAgent::Oracle => self.oracle(),
            CalibrationAgent::Eager => self.eager(),
            CalibrationAgent::Nop => self.nop(),
            CalibrationAgent::Counterexample(requirement, _) => self.counterexample(&requirement),
        }
        self.tells_at_the_opening();
        let undecided: Vec<RequirementId> = self
            .requirements(|outcome| matches!(outcome, Outcome::Undecided(_)))
            .map(|requirement| requirement.id.clone())
            .collect();
        for id in undecided {
            let remedy =
                "let its checks answer whatever an agent leaves: `pcb show` tells which could not";
            self.add(Some(&id), "a verdict", "undecided".to_string(), remedy);
        }
    }

    fn tells_at_the_opening(&mut self) {
        let late: Vec<RequirementId> = match self.shown.arm {
            Arm::Opening => self.shown.result.requirements.iter(),
            _ => [].iter(),
        }
        .filter(|requirement| requirement.delivered != Some(Turn(1)))
        .map(|requirement| requirement.id.clone())
        .collect();
        for id in late {
            let remedy = "see how `pcb show` tells the first message";
            self.add(Some(&id), "told in the first message", "not told then".to_string(), remedy);
        }
    }

    fn oracle(&mut self) {
        self.completes();
        self.keeps_budget();
        let script = format!("mend `pairs/{}/oracle.toml`, or the acceptance", self.pair.id);
        let failed: Vec<(RequirementId, Outcome)> = self
            .requirements(|outcome| !matches!(outcome, Outcome::Passed | Outcome::Undecided(_)))
            .map(|requirement| (requirement.id.clone(), requirement.outcome))
            .collect();
        for (id, outcome) in failed {
            self.add(Some(&id), "passed", outcome.name().to_string(), &script);
        }
        let ending = self.shown.result.ending;
        if ending != Ending::Accepted {
            self.add(None, "the user accepts", format!("ended as {}", ending.name()), &script);
        }
        self.has_margin();
    }

    fn eager(&mut self) {
        self.completes();
        if self.shown.result.joint == Some(true) {
            let remedy = "ask for something that only a person who speaks could have told";
            self.add(None, "no joint pass without listening", "a joint pass".to_string(), remedy);
        }
    }

    fn nop(&mut self) {
        if self.shown.result.completed == Some(true) {
            let remedy = format!(
                "make `tasks/{}/tests/test.sh` fail on the base, where nothing is done yet",
                self.pair.task
            );
            self.add(None, "the task not completed", "completed".to_string(), &remedy);
        }
        if self.shown.result.joint == Some(true) {
            let remedy = "add an `applies_if`, so that doing nothing does not pass";
            self.add(None, "no joint pass", "a joint pass".to_string(), remedy);
        }
    }

    fn counterexample(&mut self, own: &RequirementId) {
        self.completes();
        self.keeps_budget();
        let mut all = self.shown.result.requirements.iter();
        let found = all.find(|found| &found.id == own).map(|found| found.outcome);
        if found != Some(Outcome::Failed) && !matches!(found, Some(Outcome::Undecided(_))) {
            let found = found.map_or("not there", Outcome::name).to_string();
            let remedy = format!(
                "let it break `{own}`; if it does, let the checks of the acceptance notice it"
            );
            self.add(Some(own), "failed", found, &remedy);
        }
        let others: Vec<(RequirementId, Outcome)> = self
            .requirements(|outcome| !matches!(outcome, Outcome::Passed | Outcome::Undecided(_)))
            .filter(|requirement| &requirement.id != own)
            .map(|requirement| (requirement.id.clone(), requirement.outcome))
            .collect();
        for (id, outcome) in others {
            let remedy = format!("let it keep everything but `{own}`, as the oracle does");
            self.add(Some(&id), "passed", outcome.name().to_string(), &remedy);
        }
        let ending = self.shown.result.ending;
        if !ending.is_normal() {
            let found = format!("ended as {}", ending.name());
            let remedy = "let it answer every message and hand the work over";
            self.add(None, "the user takes the work, with reservations or without", found, remedy);
        }
    }

    fn completes(&mut self) {
        if self.shown.result.completed != Some(true) {
            let found = completion(&self.shown.result);
            let remedy = format!(
                "mend `tasks/{0}/solution/solve.sh` (it may run more than once) or \
                 `tasks/{0}/tests/test.sh`",
                self.pair.task
            );
            self.add(None, "the task completed", found, &remedy);
        }
    }

    fn keeps_budget(&mut self) {
        if !self.shown.result.within_budget {
            let found = format!("ended as {}", self.shown.result.ending.name());
            self.add(None, "within budget", found, &self.more_budget());
        }
    }

    fn has_margin(&mut self) {
        let (load, limits) = (&self.shown.result.load, &self.shown.limits);
        let turns = (u64::from(load.turns), u64::from(limits.turns_max));
        let time = (load.agent_ms, limits.agent_time_ms);
        for (what, (used, of), percent_max) in
            [("turns", turns, ORACLE_TURNS_PERCENT_MAX), ("ms", time, ORACLE_TIME_PERCENT_MAX)]
        {
            if used.saturating_mul(100) > of.saturating_mul(percent_max) {
                let expected = format!("at the most {percent_max} % of the {of} {what}");
                let found = format!("{used} {what}");
                self.add(None, &expected, found, &self.more_budget());
            }
        }
    }

    fn more_budget(&self) -> String {
        format!("raise `[budget]` in `pairs/{}/pair.toml`", self.pair.id)
    }

    fn requirements(
        &self,
        is_meant: impl Fn(Outcome) -> bool,
    ) -> impl Iterator<Item = &RequirementResult> {
        self.shown.result.requirements.iter().filter(move |one| is_meant(one.outcome))
    }

    fn add(
        &mut self,
        requirement: Option<&RequirementId>,
        expected: &str,
        found: String,
        remedy: &str,
    ) {
        let failed = &self.shown.failed_commands;
        let is_script = matches!(self.shown.agent, CalibrationAgent::Counterexample(..));
        let found = match is_script && !failed.is_empty() {
            true => format!("{found}; of its commands {}", failed.join(", ")),
            false => found,
        };
        self.breaches.push(Breach {
            subject: Subject::Pair(self.pair.id.clone()),
            arm: Some(self.shown.arm),
            agent: Some(self.shown.agent.clone()),
            requirement: requirement.cloned(),
            expected: expected.to_string(),
            found,
            remedy: remedy.to_string(),
        });
    }
}

/// How far the task got, in words.
fn completion(result: &SessionResult) -> String {
    use crate::session::CompletionOutcome;
    match &result.completion {
        None => String::from("the verifier did not run"),
        Some(CompletionOutcome::Rewards(rewards)) => {
            let each: Vec<String> =
                rewards.iter().map(|(key, value)| format!("{key} {value}")).collect();
            format!("not completed ({})", each.join(", "))
        }
        Some(CompletionOutcome::NoReward) => String::from("the verifier left no reward"),
        Some(CompletionOutcome::BadReward(why) | CompletionOutcome::Contradictory(why)) => {
            format!("the verifier's reward cannot be read: {why}")
        }
        Some(CompletionOutcome::TimedOut) => String::from("the verifier's time ran out"),
    }
}
