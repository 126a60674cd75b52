//! Live progress of a run in the terminal: a line a running session, a bar, elapsed and estimate ([`Live`]).
//!
//! It hears log entries and nothing else, so a recorded session could be shown the same way.

use std::{
    collections::BTreeMap,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use domain::session::{Answer, Command, Entry, Event};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::plain;

/// Progress of all runs of a group on standard error.
pub struct Live {
    bars: MultiProgress,
    total: ProgressBar,
    running: Mutex<BTreeMap<String, ProgressBar>>,
    is_terminal: bool,
}

impl Live {
    /// Progress over so many sessions; on something that is no terminal it prints a line a finished session.
    pub fn new(sessions: u64) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bars = MultiProgress::new();
        let total = bars.add(ProgressBar::new(sessions));
        total.set_style(style(
            "{bar:28} {pos}/{len} sessions · {elapsed_precise} elapsed · {eta_precise} left",
        ));
        if is_terminal {
            total.enable_steady_tick(Duration::from_millis(250));
        }
        Self { bars, total, running: Mutex::new(BTreeMap::new()), is_terminal }
    }

    /// The same on a terminal that somebody else writes to: a line a finished session, and no bars.
    pub fn beside_a_person(sessions: u64) -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        let total = bars.add(ProgressBar::new(sessions));
        Self { bars, total, running: Mutex::new(BTreeMap::new()), is_terminal: false }
    }

    /// A session wrote an entry.
    pub fn heard(&self, session: &str, entry: &Entry) {
        if let Event::Answered(_, Answer::Failed { flag, detail, .. }) = &entry.event {
            self.say(&plain(&format!("{session}: {}: {detail}", flag.name())));
        }
        let Event::Decided(_, command) = &entry.event else { return };
        if let Command::End(ending) = command {
            self.finished(session, ending.name());
            return;
        }
        if !self.is_terminal {
            return;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = running.entry(session.to_owned()).or_insert_with(|| {
            let bar = self.bars.insert_before(&self.total, ProgressBar::new_spinner());
            bar.set_style(style("  {prefix} · {msg}"));
            bar.set_prefix(session.to_owned());
            bar
        });
        bar.set_message(describe(command));
    }

    /// So many sessions more, for re-runs.
    pub fn expect(&self, sessions: u64) {
        self.total.inc_length(sessions);
    }

    fn finished(&self, session: &str, outcome: &str) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = running.remove(session) {
            bar.finish_and_clear();
        }
        self.total.inc(1);
        let line = format!("{session}: {outcome}");
        if self.is_terminal {
            // A terminal that went away is no reason to stop a run.
            let _ = self.bars.println(line);
        } else {
            eprintln!("[{}/{}] {line}", self.total.position(), self.total.length().unwrap_or(0));
        }
    }

    /// A line beside the progress.
    pub fn say(&self, line: &str) {
        if self.is_terminal {
            let _ = self.bars.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Nothing follows.
    pub fn close(&self) {
        self.total.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn describe(command: &Command) -> String {
    match command {
        Command::PrepareSandbox => "preparing the sandbox".to_owned(),
        Command::OpenAgent => "starting the agent".to_owned(),
        Command::Word { plan, .. } => format!("turn {}: wording", plan.turn),
        Command::Prompt { turn, .. } => format!("turn {turn}: the agent works"),
        Command::AnswerPermission { .. } => "answering a permission request".to_owned(),
        Command::BlockWire => "cutting the wire".to_owned(),
        Command::Interrupt { .. } => "interrupting".to_owned(),
        Command::Freeze { turn } | Command::Capture { turn } => format!("turn {turn}: looking"),
        Command::Interpret { turn, .. } => format!("turn {turn}: reading the message"),
        Command::Check { look: domain::acceptance::Look::Turn(turn), .. } => {
            format!("turn {turn}: checking")
        }
        Command::Check { .. } => "checking the seal".to_owned(),
        Command::VerifyStep { step, .. } => format!("step {step}: running the native verifier"),
        Command::PlaceStep { step, .. } => format!("step {step}: being prepared"),
        Command::Seal => "sealing".to_owned(),
        Command::VerifyCompletion => "running the native verifier".to_owned(),
        Command::End(_) => "ending".to_owned(),
    }
}
