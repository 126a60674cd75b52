//! Drives one session to its end: decide, perform, record, apply ([`session`]).

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use domain::{
    fault::{Ending, Flag},
    ids::CommandId,
    session::{
        Answer, Command, Entry, Event, Excerpt, Next, Observation, Session, ToolActivity,
        ToolReturn, Watchdog,
    },
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::{
    cancel::Cancellation,
    evidence::Gathered,
    perform::{Context, Stage},
    ports::{
        record::{Blob, RecordError},
        sandbox::Sandbox,
        watch::SessionKey,
    },
    setup::{SessionPorts, Setup},
    watchdog::{Bark, Watchdogs},
};

/// How a session came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOutcome {
    /// Which attempt it was.
    pub key: SessionKey,
    /// How it ended.
    pub ending: Ending,
    /// Whether the log tells so too; if not, the attempt reads as lost.
    pub is_recorded: bool,
    /// Entries written.
    pub entries: u64,
}

/// Runs one session to its end. Everything that is decided, answered and seen is in its log.
pub async fn session(
    setup: Setup,
    ports: SessionPorts,
    cancellation: Cancellation,
) -> SessionOutcome {
    let session = Session::new(setup.scenario.clone());
    run(setup, ports, session, None, cancellation).await
}

/// Goes on with a session that was replayed up to its seal, over the sealed state.
pub(crate) async fn go_on(
    setup: Setup,
    ports: SessionPorts,
    session: Session,
    sandbox: Arc<dyn Sandbox>,
    gathered: Gathered,
    cancellation: Cancellation,
) -> SessionOutcome {
    run(setup, ports, session, Some((sandbox, gathered)), cancellation).await
}

async fn run(
    setup: Setup,
    ports: SessionPorts,
    session: Session,
    sealed: Option<(Arc<dyn Sandbox>, Gathered)>,
    cancellation: Cancellation,
) -> SessionOutcome {
    let clock = ports.clock.clone();
    let mut outcome = SessionOutcome {
        key: setup.key.clone(),
        ending: Ending::JournalFailed,
        is_recorded: false,
        entries: 0,
    };
    let ended = &mut outcome;
    clock
        .drive(Box::pin(async move {
            let (sender, observations) = unbounded_channel();
            let stage = match sealed {
                None => Stage::new(setup.clone(), ports.clone(), sender),
                Some((sandbox, gathered)) => {
                    let turn = session.turn();
                    Stage::sealed(setup.clone(), ports.clone(), sender, sandbox, gathered, turn)
                }
            };
            let watchdogs = Watchdogs::new(setup.scenario.spec.limits, ports.clock.now_ms());
            let driver = Driver {
                session,
                key: setup.key,
                ports,
                stage: &stage,
                observations,
                cancellation,
                is_cancelled: false,
                watchdogs,
                running: Vec::new(),
                broken: None,
            };
            driver.drive(ended).await;
            // Whatever the ending was, nothing of the session outlives it.
            stage.close().await;
        }))
        .await;
    outcome
}

/// A command that is being performed.
struct Running<'a> {
    id: CommandId,
    work: Pin<Box<dyn Future<Output = Answer> + Send + 'a>>,
}

struct Driver<'a> {
    session: Session,
    key: SessionKey,
    ports: SessionPorts,
    stage: &'a Stage,
    observations: UnboundedReceiver<Observation>,
    cancellation: Cancellation,
    is_cancelled: bool,
    watchdogs: Watchdogs,
    running: Vec<Running<'a>>,
    /// Set when an entry could only be written at the second try: the session ends at the next chance.
    broken: Option<RecordError>,
}

/// Why the session cannot go on.
enum Halt {
    /// The log does not take entries.
    Journal,
    /// The machine refused its own decision.
    Bug,
}

/// What the driver waits for.
enum Wake {
    Observed(Observation),
    Answered(CommandId, Answer),
    Barked(Bark),
    Cancelled,
}

impl Driver<'_> {
    async fn drive(mut self, outcome: &mut SessionOutcome) {
        let ended = self.steps().await;
        outcome.entries = self.session.seq();
        (outcome.ending, outcome.is_recorded) = match ended {
            Ok(ending) => (ending, true),
            Err(Halt::Journal) => (Ending::JournalFailed, false),
            Err(Halt::Bug) => (Ending::ControllerBug, false),
        };
    }

    async fn steps(&mut self) -> Result<Ending, Halt> {
        loop {
            self.give_up_unawaited();
            match self.session.next() {
                Next::Over(ending) => return Ok(ending),
                Next::Do(id, command) => self.begin(id, command)?,
                Next::Wait => self.wait().await?,
            }
        }
    }

    /// Decides a command and begins to perform it.
    fn begin(&mut self, id: CommandId, command: Command) -> Result<(), Halt> {
        let context = match command {
            Command::Word { .. } => Context::Word {
                voice: self.session.voice(),
                dialogue: self.session.dialogue().cloned().collect(),
            },
            Command::Check { .. } => Context::Check {
                grants: self.session.grants().to_vec(),
                handoffs: self.session.handoffs(),
            },
            _ => Context::None,
        };
        self.record(Event::Decided(id, command.clone()))?;
        self.watchdogs.decided(&command, self.ports.clock.now_ms());
        if matches!(command, Command::Prompt { .. }) {
            self.sync();
        }
        if let (Some(error), false) = (&self.broken, matches!(command, Command::End(_))) {
            let answer = Answer::Failed {
                flag: Flag::JournalFailed,
                ending: Some(Ending::JournalFailed),
                detail: error.to_string(),
            };
            return self.record(Event::Answered(id, answer));
        }
        let work = Box::pin(self.stage.perform(command, context));
        self.running.push(Running { id, work });
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), Halt> {
        let clock = self.ports.clock.clone();
        let wake = {
            let running = &mut self.running;
            let answered = poll_fn(|context| {
                for at in 0..running.len() {
                    if let Poll::Ready(answer) = running[at].work.as_mut().poll(context) {
                        return Poll::Ready((running.remove(at).id, answer));
                    }
                }
                Poll::Pending
            });
            let cancelled = async {
                match self.is_cancelled {
                    true => std::future::pending().await,
                    false => self.cancellation.cancelled().await,
                }
            };
            tokio::select! {
                biased;
                Some(observation) = self.observations.recv() => Wake::Observed(observation),
                (id, answer) = answered => Wake::Answered(id, answer),
                () = cancelled => Wake::Cancelled,
                bark = self.watchdogs.bark(clock.as_ref()) => Wake::Barked(bark),
            }
        };
        match wake {
            Wake::Observed(observation) => self.observed(observation),
            Wake::Answered(id, answer) => {
                // What was seen before the answer stands before it in the log.
                while let Ok(observation) = self.observations.try_recv() {
                    self.observed(observation)?;
                }
                self.answered(id, answer)
            }
            Wake::Cancelled => {
                self.is_cancelled = true;
                self.observed(Observation::Cancelled)
            }
            Wake::Barked(bark) => {
                self.watchdogs.barked(bark, clock.now_ms());
                match bark {
                    Bark::Fired(watchdog) => self.observed(Observation::WatchdogFired(watchdog)),
                    Bark::GivenUp(watchdog) => self.give_up(watchdog),
                }
            }
        }
    }

    fn observed(&mut self, mut observation: Observation) -> Result<(), Halt> {
        for text in excerpts(&mut observation).into_iter().filter(|text| text.is_long()) {
            match self.ports.record.put(Blob::Bytes(text.shown.as_bytes())) {
                Ok(whole) => *text = text.cut(whole),
                // Nothing is lost: the text stands in the log whole, and the session ends at the next chance.
                Err(error) => self.broken = Some(error),
            }
        }
        self.stage.observed(&observation);
        self.record(Event::Observed(observation))
    }

    fn answered(&mut self, id: CommandId, answer: Answer) -> Result<(), Halt> {
        if !self.session.awaits(id) {
            let detail = format!("an answer to command {id}, which nothing waits for any more");
            return self.record(Event::Observed(Observation::Stray { detail }));
        }
        let ends_a_stage = matches!(answer, Answer::TurnEnded { .. } | Answer::Closed);
        self.record(Event::Answered(id, answer))?;
        if self.session.open_commands().is_empty() {
            self.watchdogs.all_answered();
        }
        if ends_a_stage {
            self.sync();
        }
        Ok(())
    }

    /// The machine had its time after a watchdog; what is still open then does not come back.
    fn give_up(&mut self, watchdog: Watchdog) -> Result<(), Halt> {
        let (flag, ending) = match watchdog {
            Watchdog::Preparation => (Flag::PreparationFailed, Some(Ending::PreparationFailed)),
            Watchdog::WallTime => (Flag::SessionWallTime, Some(Ending::SessionWallTime)),
            Watchdog::Verification => (Flag::VerificationIncomplete, None),
        };
        let open: Vec<CommandId> = self.session.open_commands().iter().map(|(id, _)| *id).collect();
        for id in open.into_iter().rev() {
            if self.session.awaits(id) {
                let detail = "a command did not come back".to_owned();
                self.record(Event::Answered(id, Answer::Failed { flag, ending, detail }))?;
            }
        }
        Ok(())
    }

    /// Stops performing what the machine does not wait for any more.
    fn give_up_unawaited(&mut self) {
        let session = &self.session;
        self.running.retain(|running| session.awaits(running.id));
    }

    /// Writes an entry and applies it. A failed write is tried once more; if that helps, the session still
    /// ends, because a host that loses one entry loses the next.
    fn record(&mut self, event: Event) -> Result<(), Halt> {
        let seq = self.session.seq() + 1;
        let entry = Entry { seq, elapsed_ms: self.ports.clock.now_ms(), event };
        if let Err(illegal) = self.session.apply(&entry) {
            debug_assert!(false, "the machine refuses {entry:?}: {illegal}");
            return Err(Halt::Bug);
        }
        if let Err(error) = self.ports.record.append(&entry) {
            self.ports.record.append(&entry).map_err(|_| Halt::Journal)?;
            self.broken = Some(error);
        }
        self.ports.watch.heard(&self.key, &entry);
        Ok(())
    }

    fn sync(&mut self) {
        if let Err(error) = self.ports.record.sync() {
            self.broken = Some(error);
        }
    }
}

/// The texts of an observation that may be long.
fn excerpts(observation: &mut Observation) -> Vec<&mut Excerpt> {
    match observation {
        Observation::AgentActed(ToolActivity { input, .. }) => input.iter_mut().collect(),
        Observation::ToolReturned(ToolReturn { input, output, .. }) => {
            input.iter_mut().chain(output).collect()
        }
        Observation::AgentThought { text, .. } => vec![text],
        _ => Vec::new(),
    }
}
