//! How an answer changes a session: it must fit its open command, and moves the phase on.

use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};

use super::{
    Answer, Command, IllegalEntry, Phase, Session, TurnStop, Wordsmith, machine::USER_TRIES,
};
use crate::{
    acceptance::{Look, Reading},
    controller::{DialogueLine, TurnPlan, hands_off},
    evidence::Missing,
    fault::{Ending, Flag},
    ids::{CheckId, CommandId, TopicId},
    interpret::{self, Ask},
    release::Requirement,
    wording::{self, GuardInput, Rejection},
};

/// With less than this share of its processors an agent that runs out of time is not to blame.
const CPU_SHARE_MIN_PERCENT: u32 = 90;

impl Session {
    pub(super) fn apply_answer(
        &mut self,
        id: CommandId,
        answer: &Answer,
    ) -> Result<(), IllegalEntry> {
        let place = self.open.iter().position(|(open, _)| *open == id);
        let Some(place) = place.filter(|at| self.fits(&self.open[*at].1, answer)) else {
            return Err(IllegalEntry::Unmatched {
                answer: format!("{id} {}", answer.name()),
                open: match self.open.last() {
                    Some((open, command)) => format!("{open} {}", command.name()),
                    None => String::from("none"),
                },
            });
        };
        let (_, command) = self.open.remove(place);
        match answer {
            Answer::Failed { flag, ending, detail } => {
                self.fail(&command, *flag, *ending, detail);
            }
            Answer::SandboxReady => self.phase = Phase::OpeningAgent,
            Answer::AgentOpened { identity } => {
                self.identity = Some(identity.clone());
                self.go_on_to_next_step();
            }
            Answer::Worded { text, by, .. } => self.review(text, *by),
            Answer::TurnEnded { stop, agent_ms } => self.end_turn(*stop, *agent_ms),
            Answer::PermissionAnswered | Answer::WireBlocked | Answer::Interrupted => {}
            Answer::Frozen => self.phase = Phase::Capturing,
            Answer::Captured { .. } => self.take_capture(answer),
            Answer::Interpreted { topics } => {
                self.label_questions(topics);
                self.check_or_conclude();
            }
            Answer::Read { readings } => self.take_readings(readings),
            Answer::StepVerified { report, verifier_tools_changed } => {
                self.flag_tools(verifier_tools_changed);
                self.take_step_report(report);
            }
            Answer::StepPlaced { .. } => self.ask_next_step(),
            Answer::Sealed { digest, verifier_tools_changed } => {
                self.seal = Some(digest.clone());
                self.flag_tools(verifier_tools_changed);
                self.check_seal();
            }
            Answer::CompletionVerified(report) => {
                self.completion = Some(report.clone());
                self.close();
            }
            Answer::Closed => {
                if let Phase::Closing(ending) = self.phase {
                    self.phase = Phase::Over(ending);
                }
            }
        }
        Ok(())
    }

    fn fits(&self, command: &Command, answer: &Answer) -> bool {
        match (command, answer) {
            (Command::End(_), Answer::Failed { .. }) => false,
            (_, Answer::Failed { .. })
            | (Command::PrepareSandbox, Answer::SandboxReady)
            | (Command::OpenAgent, Answer::AgentOpened { .. })
            | (Command::Prompt { .. }, Answer::TurnEnded { .. })
            | (Command::AnswerPermission { .. }, Answer::PermissionAnswered)
            | (Command::BlockWire, Answer::WireBlocked)
            | (Command::Interrupt { .. }, Answer::Interrupted)
            | (Command::Freeze { .. }, Answer::Frozen)
            | (Command::Capture { .. }, Answer::Captured { .. })
            | (Command::Interpret { .. }, Answer::Interpreted { .. })
            | (Command::VerifyStep { .. }, Answer::StepVerified { .. })
            | (Command::PlaceStep { .. }, Answer::StepPlaced { .. })
            | (Command::Seal, Answer::Sealed { .. })
            | (Command::VerifyCompletion, Answer::CompletionVerified(_))
            | (Command::End(_), Answer::Closed) => true,
            // After the user's tries the template is the machine's own.
            (Command::Word { nth, .. }, Answer::Worded { by, .. }) => {
                *nth <= USER_TRIES || *by == Wordsmith::Template
            }
            (Command::Check { checks, .. }, Answer::Read { readings }) => {
                let asked = checks.iter().map(|request| &request.check);
                asked.eq(readings.iter().map(|(check, _)| check))
            }
            _ => false,
        }
    }

    /// A wording is sent if the pure review has nothing against it.
    fn review(&mut self, text: &str, by: Wordsmith) {
        let Phase::Wording { plan, nth, .. } = &self.phase else { return };
        let known = self.known(plan);
        let rejections = match text == wording::template(plan) {
            true => wording::review_template(text, &known.input(plan)),
            false => wording::review(text, plan, &wording::guard(&known.input(plan))),
        };
        if rejections.is_empty() {
            if *nth > USER_TRIES {
                self.counts.template_fallbacks += 1;
            }
            self.phase = Phase::Working { plan: plan.clone(), text: text.to_owned() };
        } else {
            self.reject(rejections, by == Wordsmith::Template);
        }
    }

    fn reject(&mut self, after: Vec<Rejection>, is_template: bool) {
        let Phase::Wording { plan, nth, .. } = &self.phase else { return };
        if is_template {
            let detail = format!("the template of turn {} was rejected: {after:?}", plan.turn);
            self.flag(Flag::ControllerBug, &detail);
            self.finish(Ending::ControllerBug);
        } else {
            self.phase = Phase::Wording { plan: plan.clone(), nth: nth + 1, after };
        }
    }

    fn end_turn(&mut self, stop: TurnStop, agent_ms: u64) {
        self.used.agent_ms = self.used.agent_ms.saturating_add(agent_ms);
        self.counts.turns += 1;
        self.beside.clear();
        if let Some(ending) = self.progress.stopping.filter(|ending| !ending.is_graded()) {
            return self.abandon(ending);
        }
        let ending = match (self.progress.stopping, stop) {
            (Some(ending), _) => Some(ending),
            (None, TurnStop::Finished) => None,
            (None, TurnStop::Refused) => Some(Ending::ModelRefusal),
            (None, TurnStop::Crashed) => Some(Ending::Crash),
            (None, TurnStop::DeadlinePassed) => Some(Ending::AgentTime),
            (None, TurnStop::LimitBreached) => Some(Ending::ResourceLimit),
            (None, TurnStop::Interrupted) => {
                self.flag(Flag::ChannelFailed, "the turn was interrupted by nobody");
                return self.abandon(Ending::ChannelFailed);
            }
        };
        let is_answered = matches!(stop, TurnStop::Finished | TurnStop::Refused);
        if is_answered && !self.progress.is_delivered {
            self.flag(Flag::ChannelFailed, "a turn ended whose message was never delivered");
            return self.abandon(Ending::ChannelFailed);
        }
        let still_runs = matches!(stop, TurnStop::DeadlinePassed | TurnStop::LimitBreached);
        if let Some(because) = ending.filter(|_| still_runs && !self.progress.is_interrupted) {
            self.beside.push_back(Command::Interrupt { because });
        }
        self.progress.ending = ending;
        if is_answered {
            self.progress.follow();
        }
        self.phase = Phase::Freezing;
    }

    fn take_capture(&mut self, answer: &Answer) {
        let Answer::Captured { changed, processes, overflow, limit_hit, cpu_share_percent, .. } =
            answer
        else {
            return;
        };
        self.progress.has_changed = *changed > 0;
        self.progress.has_acted |= *processes > 0;
        if *changed > 0 || *processes > 0 {
            self.progress.follow();
        }
        self.progress.is_starved =
            cpu_share_percent.is_some_and(|share| share < CPU_SHARE_MIN_PERCENT);
        if *overflow {
            self.flag(Flag::ChannelOverflow, "more events in a turn than a channel holds");
        }
        if *overflow || limit_hit.is_some() {
            self.progress.ending = Some(Ending::ResourceLimit);
        }
        self.understand();
    }

    /// The turn's message is complete: what it means decides which checks are read.
    fn understand(&mut self) {
        if self.progress.is_delivered && !self.progress.is_followed {
            self.withdraw();
        }
        let context = interpret::Context {
            topics: &self.scenario.topics,
            permissions: &self.scenario.permissions,
        };
        let interpretation = interpret::interpret(&self.progress.message, &context);
        self.counts.words_read += self.progress.message.split_whitespace().count() as u32;
        self.counts.questions +=
            interpretation.asks.iter().filter(|ask| **ask != Ask::Generic).count() as u32;
        self.counts.permission_requests +=
            interpretation.asks.iter().filter(|ask| matches!(ask, Ask::Permission { .. })).count()
                as u32;
        if !self.progress.message.is_empty() {
            let line = DialogueLine::Agent(self.progress.message.clone());
            self.dialogue.push((self.turn, line));
        }
        let has_unknown = interpretation.asks.contains(&Ask::Other);
        self.progress.interpretation = interpretation;
        // What nobody will answer need not be understood.
        let goes_on = self.progress.ending.is_none() && self.scenario.steps.is_empty();
        if goes_on && has_unknown && self.scenario.topic_model && !self.scenario.topics.is_empty() {
            self.phase = Phase::Interpreting;
        } else {
            self.check_or_conclude();
        }
    }

    fn label_questions(&mut self, labels: &[Option<TopicId>]) {
        let known = &self.scenario.topics;
        let unknown =
            self.progress.interpretation.asks.iter_mut().filter(|ask| **ask == Ask::Other);
        for (ask, label) in unknown.zip(labels) {
            if let Some(topic) = label.as_ref().filter(|id| known.iter().any(|t| t.id == **id)) {
                *ask = Ask::About(topic.clone());
            }
        }
    }

    fn check_or_conclude(&mut self) {
        let goes_on = self.progress.ending.is_none();
        self.progress.hands_off = goes_on && hands_off(&self.progress.interpretation);
        if self.checks_due().is_empty() {
            self.conclude_turn(vec![]);
        } else {
            self.phase = Phase::Checking;
        }
    }

    fn take_readings(&mut self, readings: &[(CheckId, Reading)]) {
        match self.phase {
            Phase::CheckingSeal(ending) => {
                self.controller.read_sealed(readings);
                self.verify_seal(ending);
            }
            _ => self.conclude_turn(readings.to_vec()),
        }
    }

    fn check_seal(&mut self) {
        let Some(ending) = self.phase.ending() else { return };
        if self.scenario.checks.is_empty() {
            self.verify_seal(ending);
        } else {
            self.phase = Phase::CheckingSeal(ending);
        }
    }

    fn verify_seal(&mut self, ending: Ending) {
        self.phase = if self.stands_verified() {
            self.completion = self.step_reports.last().cloned();
            Phase::Closing(ending)
        } else {
            Phase::Verifying(ending)
        };
    }

    fn flag_tools(&mut self, changed: &[String]) {
        if !changed.is_empty() {
            self.flag(Flag::VerifierToolsChanged, &changed.join(", "));
        }
    }

    fn close(&mut self) {
        if let Some(ending) = self.phase.ending() {
            self.phase = Phase::Closing(ending);
        }
    }

    /// What the last message did is taken back, but not what its text was.
    fn withdraw(&mut self) {
        self.controller.withdraw(self.turn);
        let turn = self.turn;
        self.dialogue.retain(|(opened, _)| *opened != turn);
        self.progress.is_delivered = false;
    }

    /// A command that could not be carried out.
    fn fail(&mut self, command: &Command, flag: Flag, ending: Option<Ending>, detail: &str) {
        if let (Command::Word { .. }, None) = (command, ending) {
            return self.reject(vec![Rejection::Empty], false);
        }
        self.flag(flag, detail);
        if matches!(command, Command::Prompt { .. })
            && self.progress.is_delivered
            && !self.progress.is_followed
        {
            self.withdraw();
        }
        match (command, ending) {
            (_, Some(ending)) => self.fail_with(ending),
            (Command::PrepareSandbox | Command::OpenAgent, None) => {
                self.abandon(Ending::PreparationFailed);
            }
            (Command::Prompt { .. }, None) => {
                let stopping = self.progress.stopping.filter(|ending| !ending.is_graded());
                self.abandon(stopping.unwrap_or(Ending::ChannelFailed));
            }
            (Command::Freeze { .. }, None) => self.phase = Phase::Capturing,
            (Command::Capture { .. }, None) => self.understand(),
            (Command::Interpret { .. }, None) => self.check_or_conclude(),
            (Command::Check { look, checks }, None) => {
                let missing =
                    |check: &CheckId| (check.clone(), Reading::Missing(Missing::ChannelMissing));
                let readings: Vec<_> =
                    checks.iter().map(|request| missing(&request.check)).collect();
                match look {
                    Look::Turn(_) => self.conclude_turn(readings),
                    Look::Sealed => self.take_readings(&readings),
                }
            }
            (Command::VerifyStep { .. } | Command::PlaceStep { .. }, None) => {
                self.abandon(Ending::EnvironmentLost);
            }
            (Command::Seal | Command::VerifyCompletion, None) => self.close(),
            _ => {}
        }
    }

    fn fail_with(&mut self, ending: Ending) {
        // A turn that still runs is stopped first.
        if self.has_open_turn() {
            return self.stop(ending);
        }
        if self.phase.is_verification() || !ending.is_graded() {
            return self.abandon(ending);
        }
        self.beside.clear();
        match self.phase {
            // Of a turn that the agent broke, everything is still taken.
            Phase::Working { .. } => {
                self.progress.ending = Some(ending);
                self.phase = Phase::Freezing;
            }
            _ => self.finish(ending),
        }
    }

    /// What is hidden and stays hidden with the message, and what is public by now.
    fn known(&self, plan: &TurnPlan) -> Known<'_> {
        let scenario = &self.scenario;
        let (told, untold): (Vec<&Requirement>, Vec<&Requirement>) = scenario
            .requirements
            .iter()
            .partition(|requirement| self.controller.ledger().told(&requirement.id).is_some());
        let hidden: Vec<&Requirement> = untold
            .into_iter()
            .filter(|requirement| !plan.delivers().any(|id| *id == requirement.id))
            .collect();
        let mut public = vec![scenario.statement.as_str()];
        public.extend(told.iter().flat_map(|told| [told.text.as_str(), told.because.as_str()]));
        let mut agent = vec![];
        for line in self.dialogue() {
            match line {
                DialogueLine::User(text) => public.push(text),
                DialogueLine::Agent(text) => agent.push(text.as_str()),
            }
        }
        Known { hidden, public, agent }
    }
}

/// What a guard is built from, but for the plan.
struct Known<'a> {
    hidden: Vec<&'a Requirement>,
    public: Vec<&'a str>,
    agent: Vec<&'a str>,
}

impl Known<'_> {
    fn input<'a>(&'a self, plan: &'a TurnPlan) -> GuardInput<'a> {
        GuardInput { hidden: &self.hidden, public: &self.public, agent: &self.agent, plan }
    }
}
