//! Carries out one command and brings back its answer; what is seen meanwhile goes to the driver ([`Stage`]).

mod healthcheck;
mod model_calls;
mod reach;
mod steps;
mod verification;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex as StdMutex, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use domain::{
    acceptance::Look,
    controller::{DialogueLine, Grant, Voice},
    evidence::{Channel, ManifestEntry},
    fault::{Ending, Flag},
    ids::Turn,
    release::VerifyMode,
    session::{Answer, CheckRequest, Command, Observation, TurnStop, Wordsmith},
};
use tokio::sync::{Mutex, Notify, mpsc::UnboundedSender};

use crate::{
    evidence::{CapturedTurn, Gathered},
    ports::{
        agent::{AgentFault, Brief, Conversation, Observer},
        clock::within,
        gateway::{Gateway, ModelAccess},
        record::{Blob, RecordError},
        sandbox::{LimitKind, Recording, Sandbox},
        user::WordRequest,
        wire::Wire,
    },
    readings::LookEvidence,
    seal,
    setup::{SessionPorts, Setup},
    stop::{Stop, bug, failed, twice},
};

/// How long an agent has to return control once it is interrupted, and a driver to close.
const GRACE: Duration = Duration::from_secs(5);

/// The last try of a wording is always the template's.
const TEMPLATE_TRY: u32 = 4;

/// What a command needs to know of the machine when it is decided.
#[derive(Clone, Debug)]
pub enum Context {
    /// Of a wording.
    Word {
        /// Who speaks.
        voice: Voice,
        /// What was said so far.
        dialogue: Vec<DialogueLine>,
    },
    /// Of a look.
    Check {
        /// Grants given so far.
        grants: Vec<Grant>,
        /// Turns taken for hand-offs so far.
        handoffs: Vec<Turn>,
    },
    /// Nothing: of every other command.
    None,
}

/// The parts of one session while it runs.
pub struct Stage {
    setup: Setup,
    ports: SessionPorts,
    sender: UnboundedSender<Observation>,
    sandbox: OnceLock<Arc<dyn Sandbox>>,
    wire: OnceLock<Box<dyn Wire>>,
    gateway: OnceLock<(Arc<dyn Gateway>, ModelAccess)>,
    conversation: OnceLock<Box<dyn Conversation>>,
    gathered: Mutex<Gathered>,
    /// Observations that the evidence has not taken in yet.
    unread: StdMutex<Vec<Observation>>,
    interrupt: StdMutex<Arc<Notify>>,
    is_frozen: AtomicBool,
    turn: AtomicU32,
    /// What steps of the task brought along, as it was then.
    brought: Mutex<BTreeMap<String, ManifestEntry>>,
    /// How much was said when the transcript was cut last.
    said: AtomicUsize,
    /// Whether the message that was worded last closes the network once it is delivered.
    closes_network: AtomicBool,
}

impl Stage {
    /// The parts of a session that has not begun.
    pub fn new(setup: Setup, ports: SessionPorts, sender: UnboundedSender<Observation>) -> Self {
        let scenario = &setup.scenario;
        let keeps_contents = scenario.checks.iter().any(|check| check.kind.since().is_some());
        let gathered =
            Gathered::new(scenario.channels.clone(), scenario.workdir.clone(), keeps_contents);
        Self {
            setup,
            ports,
            sender,
            sandbox: OnceLock::new(),
            wire: OnceLock::new(),
            gateway: OnceLock::new(),
            conversation: OnceLock::new(),
            gathered: Mutex::new(gathered),
            unread: StdMutex::new(Vec::new()),
            interrupt: StdMutex::new(Arc::new(Notify::new())),
            is_frozen: AtomicBool::new(false),
            turn: AtomicU32::new(0),
            brought: Mutex::new(BTreeMap::new()),
            said: AtomicUsize::new(0),
            closes_network: AtomicBool::new(false),
        }
    }

    /// The parts of a session whose end state was sealed earlier: a frozen sandbox that holds it, and the
    /// evidence as it stood. No agent is part of it.
    pub fn sealed(
        setup: Setup,
        ports: SessionPorts,
        sender: UnboundedSender<Observation>,
        sandbox: Arc<dyn Sandbox>,
        gathered: Gathered,
        turn: Turn,
    ) -> Self {
        Self {
            sandbox: OnceLock::from(sandbox),
            gathered: Mutex::new(gathered),
            is_frozen: AtomicBool::new(true),
            turn: AtomicU32::new(turn.0),
            ..Self::new(setup, ports, sender)
        }
    }

    /// An observation was recorded: evidence too.
    pub fn observed(&self, observation: &Observation) {
        if matches!(observation, Observation::Delivered { .. }) {
            self.close_network_if_told();
        }
        self.unread.lock().expect("no holder panics").push(observation.clone());
    }

    /// Carries out a command.
    pub async fn perform(&self, command: Command, context: Context) -> Answer {
        let is_preparation = matches!(command, Command::PrepareSandbox | Command::OpenAgent);
        let is_verification = matches!(
            command,
            Command::VerifyCompletion | Command::Check { look: Look::Sealed, .. }
        );
        match self.try_perform(command, context).await {
            Ok(answer) => answer,
            Err(stop) => failed(stop, is_preparation, is_verification),
        }
    }

    async fn try_perform(&self, command: Command, context: Context) -> Result<Answer, Stop> {
        match command {
            Command::PrepareSandbox => self.prepare_sandbox().await,
            Command::OpenAgent => self.open_agent().await,
            Command::Word { plan, nth, after } => {
                self.look_at_tellings(&plan);
                if nth >= TEMPLATE_TRY {
                    let text = domain::wording::template(&plan);
                    return Ok(Answer::Worded { text, by: Wordsmith::Template, exchange: None });
                }
                let Context::Word { voice, dialogue } = &context else {
                    return Err(bug("a wording without its context"));
                };
                let request = WordRequest { voice, dialogue, plan: &plan, nth, after: &after };
                let worded = self.ports.user.word(request).await.map_err(|fault| {
                    let detail = fault.to_string();
                    // Not to have worded is no end: the machine tries again, and words by itself at last.
                    Stop::Other(Flag::UserFailed, None, detail)
                })?;
                Ok(Answer::Worded { text: worded.text, by: worded.by, exchange: worded.exchange })
            }
            Command::Prompt { turn, message, deadline_ms } => {
                self.prompt(turn, &message, deadline_ms).await
            }
            Command::AnswerPermission { request, allow } => {
                self.conversation()?.answer_permission(request, allow).await?;
                Ok(Answer::PermissionAnswered)
            }
            Command::BlockWire => {
                self.block_calls();
                if let Some(wire) = self.wire.get() {
                    wire.block();
                }
                Ok(Answer::WireBlocked)
            }
            Command::Interrupt { .. } => {
                self.interrupt.lock().expect("no holder panics").notify_one();
                let clock = self.ports.clock.as_ref();
                if let Some(stopped) = within(clock, GRACE, self.conversation()?.interrupt()).await
                {
                    stopped?;
                }
                Ok(Answer::Interrupted)
            }
            Command::Freeze { .. } => {
                let late_ms = self.ports.agent.identify().late_updates_ms;
                if late_ms > 0 {
                    self.ports.clock.sleep(Duration::from_millis(late_ms)).await;
                }
                self.freeze().await?;
                Ok(Answer::Frozen)
            }
            Command::Capture { turn } => self.capture(turn).await,
            // Without a model the rules have the last word.
            Command::Interpret { .. } => Ok(Answer::Interpreted { topics: Vec::new() }),
            Command::Check { look, checks } => self.check(look, &checks, context).await,
            Command::VerifyStep { turn, .. } => self.verify_step(turn).await,
            Command::PlaceStep { turn, .. } => self.place_step(turn).await,
            Command::Seal => self.seal().await,
            Command::VerifyCompletion => self.verify_completion().await,
            Command::End(_) => {
                self.close().await;
                // After a fault nothing was captured, and what was paid for until then is told all the same.
                self.take_calls(Turn(self.turn.load(Ordering::Relaxed)))?;
                Ok(Answer::Closed)
            }
        }
    }

    async fn prepare_sandbox(&self) -> Result<Answer, Stop> {
        let base = self.setup.base.as_ref().map_err(|fault| {
            let detail = fault.to_string();
            Stop::Other(Flag::MaterialiseFailed, Some(Ending::PreparationFailed), detail)
        })?;
        if let Some(fault) = self.setup.verifier_base_fault() {
            let detail = format!("the verifier's environment: {fault}");
            let ending = Some(Ending::PreparationFailed);
            return Err(Stop::Other(Flag::MaterialiseFailed, ending, detail));
        }
        let made = self.ports.sandboxes.provision(base, &self.setup.limits, Recording::Processes);
        let sandbox: Arc<dyn Sandbox> = Arc::from(made.await?);
        self.sandbox.set(sandbox).map_err(|_| twice("sandbox"))?;
        self.open_wire().await?;
        if let Some(check) = &self.setup.healthcheck {
            self.wait_until_healthy(check).await?;
            self.count_from_here().await?;
        }
        Ok(Answer::SandboxReady)
    }

    async fn open_agent(&self) -> Result<Answer, Stop> {
        let brief = Brief {
            workdir: self.setup.scenario.workdir.clone(),
            user: self.setup.agent_user.clone(),
            skills_dir: self.setup.skills_dir.clone(),
            tool_servers: self.setup.tool_servers.clone(),
            env: self.wire.get().map(|wire| wire.env()).unwrap_or_default(),
            model: self.gateway.get().map(|(_, access)| access.clone()),
        };
        let opened = self.ports.agent.open(self.sandbox()?.clone(), &brief).await?;
        let identity = opened.told_name().unwrap_or_else(|| self.ports.agent.identify().name);
        self.conversation.set(opened).map_err(|_| twice("agent"))?;
        Ok(Answer::AgentOpened { identity })
    }

    async fn prompt(&self, turn: Turn, message: &str, deadline_ms: u64) -> Result<Answer, Stop> {
        let (sandbox, conversation) = (self.sandbox()?, self.conversation()?);
        let clock = self.ports.clock.as_ref();
        self.turn.store(turn.0, Ordering::Relaxed);
        let interrupt = Arc::new(Notify::new());
        *self.interrupt.lock().expect("no holder panics") = interrupt.clone();
        self.thaw().await?;
        self.gathered.lock().await.prompted(turn, message);
        let observer = Observer::new(turn, sandbox.clone(), self.sender.clone());
        let paused_ms = self.begin_calls(turn);
        let began_ms = clock.now_ms();
        let mut work = conversation.prompt(message, &observer);
        let stopped = tokio::select! {
            biased;
            stopped = &mut work => Some(stopped),
            () = interrupt.notified() => {
                // Control that comes back within the grace is an answer to the interrupt, whatever it says.
                let came = within(clock, GRACE, &mut work).await;
                Some(came.unwrap_or(Ok(TurnStop::Interrupted)).map(|stop| match stop {
                    TurnStop::Finished => TurnStop::Interrupted,
                    other => other,
                }))
            }
            why = self.provider_given_up() => {
                let stopping = async { tokio::join!(conversation.interrupt(), &mut work).0 };
                // Whatever the agent says to that, it is not why.
                let _ = within(clock, GRACE, stopping).await;
                return Err(AgentFault::Provider(why).into());
            }
            () = self.agent_time(deadline_ms, began_ms, paused_ms) => None,
        };
        let (stop, agent_ms) = match stopped {
            Some(stopped) => {
                let passed_ms = clock.now_ms().saturating_sub(began_ms);
                let worked_ms = passed_ms.saturating_sub(self.paused_since_ms(paused_ms));
                (stopped?, worked_ms.min(deadline_ms))
            }
            None => {
                let stopping = async { tokio::join!(conversation.interrupt(), &mut work).0 };
                if let Some(stopped) = within(clock, GRACE, stopping).await {
                    stopped?;
                }
                (TurnStop::DeadlinePassed, deadline_ms)
            }
        };
        self.gathered.lock().await.turn_ended(turn, agent_ms);
        Ok(Answer::TurnEnded { stop, agent_ms })
    }

    async fn capture(&self, turn: Turn) -> Result<Answer, Stop> {
        let sandbox = self.sandbox()?;
        let capture = sandbox.capture(turn).await?;
        let (mut captured, manifest) = self.take_in(turn, &capture).await?;
        captured.overflow |= self.take_attempts(turn).await?;
        let breached: Vec<&str> = capture.limits_hit.iter().filter_map(limit_name).collect();
        Ok(Answer::Captured {
            manifest,
            changed: count(captured.changes.len()),
            processes: count(captured.started),
            overflow: captured.overflow,
            limit_hit: (!breached.is_empty()).then(|| breached.join(", ")),
            cpu_share_percent: None,
        })
    }

    /// Evidence and blobs of a capture, and the hash of its manifest.
    async fn take_in(
        &self,
        turn: Turn,
        capture: &crate::ports::sandbox::Capture,
    ) -> Result<(CapturedTurn, domain::ids::Hash), Stop> {
        let mut gathered = self.gathered.lock().await;
        self.read_unread(&mut gathered);
        let captured = gathered.capture(self.sandbox()?.as_ref(), turn, capture).await?;
        let messages = gathered.messages(turn);
        let said = gathered.messages_total();
        let record = self.ports.record.as_ref();
        // A later grading needs what earlier turns held where a check counts from a telling.
        for content in gathered.kept_contents() {
            record.put(Blob::Bytes(content))?;
        }
        drop(gathered);
        let manifest = record.put(Blob::Manifest(&capture.manifest))?;
        self.cut(
            Channel::Manifest,
            turn,
            captured.changes.len(),
            Blob::Changes(&captured.changes),
        )?;
        let processes = &captured.processes;
        self.cut(Channel::Processes, turn, processes.len(), Blob::Processes(processes))?;
        // The seal captures the last turn once more; what was said then is cut already.
        if self.said.swap(said, Ordering::Relaxed) != said {
            self.cut(Channel::Transcript, turn, messages.len(), Blob::Messages(&messages))?;
        }
        Ok((captured, manifest))
    }

    fn cut(
        &self,
        channel: Channel,
        turn: Turn,
        events: usize,
        blob: Blob<'_>,
    ) -> Result<(), RecordError> {
        if events > 0 {
            let blob = self.ports.record.put(blob)?;
            self.tell(Observation::Cut { channel, turn, count: count(events), blob });
        }
        Ok(())
    }

    async fn check(
        &self,
        look: Look,
        requests: &[CheckRequest],
        context: Context,
    ) -> Result<Answer, Stop> {
        let Context::Check { grants, handoffs } = context else {
            return Err(bug("a look without its context"));
        };
        let sandbox = self.sandbox()?;
        let mut gathered = self.gathered.lock().await;
        self.read_unread(&mut gathered);
        let evidence = LookEvidence::gather(
            &mut gathered,
            &self.setup,
            sandbox.clone(),
            look,
            requests,
            grants,
            handoffs,
        )
        .await?;
        let turn = match look {
            Look::Turn(turn) => turn,
            Look::Sealed => Turn(self.turn.load(Ordering::Relaxed)),
        };
        let diffs = &evidence.recorded_evidence().diffs;
        let files: usize = diffs.values().map(Vec::len).sum();
        self.cut(Channel::Diff, turn, files, Blob::Diffs(diffs))?;
        let readings = evidence.read_all(self.ports.checks.as_ref(), requests).await?;
        Ok(Answer::Read { readings })
    }

    async fn seal(&self) -> Result<Answer, Stop> {
        let sandbox = self.sandbox()?;
        if let Some(conversation) = self.conversation.get() {
            // A driver that cannot close dies with the sandbox's processes.
            let _ = within(self.ports.clock.as_ref(), GRACE, conversation.close()).await;
        }
        self.freeze().await?;
        let turn = Turn(self.turn.load(Ordering::Relaxed));
        let capture = sandbox.capture(turn).await?;
        self.take_in(turn, &capture).await?;
        self.take_attempts(turn).await?;
        let base = self.setup.base.as_ref().ok().map(|base| base.digest.clone());
        let record = self.ports.record.as_ref();
        let digest = seal::keep(sandbox.as_ref(), base, &capture.manifest, record).await??;
        let rule = &self.setup.scenario.completion;
        if rule.verify == VerifyMode::Fresh {
            sandbox.end().await?;
        }
        let verifier = self.verifier_at_seal();
        let verifier_tools_changed = self.tools_changed(verifier, &capture.manifest).await;
        Ok(Answer::Sealed { digest, verifier_tools_changed })
    }

    /// Nothing of the session goes on after this, whatever its parts say to it.
    pub async fn close(&self) {
        let clock = self.ports.clock.as_ref();
        if let Some(conversation) = self.conversation.get() {
            let _ = within(clock, GRACE, conversation.close()).await;
        }
        if let Some(sandbox) = self.sandbox.get() {
            let _ = within(clock, GRACE, sandbox.end()).await;
        }
        if let Some(wire) = self.wire.get() {
            let _ = within(clock, GRACE, wire.close()).await;
        }
    }

    async fn freeze(&self) -> Result<(), Stop> {
        if !self.is_frozen.load(Ordering::Relaxed) {
            self.sandbox()?.freeze().await?;
            self.is_frozen.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn thaw(&self) -> Result<(), Stop> {
        if self.is_frozen.load(Ordering::Relaxed) {
            self.sandbox()?.thaw().await?;
            self.is_frozen.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    fn sandbox(&self) -> Result<&Arc<dyn Sandbox>, Stop> {
        self.sandbox.get().ok_or_else(|| bug("there is no sandbox yet"))
    }

    fn conversation(&self) -> Result<&dyn Conversation, Stop> {
        self.conversation.get().map(Box::as_ref).ok_or_else(|| bug("there is no agent yet"))
    }

    fn read_unread(&self, gathered: &mut Gathered) {
        for observation in self.unread.lock().expect("no holder panics").drain(..) {
            gathered.observe(&observation);
        }
    }

    fn tell(&self, observation: Observation) {
        // The driver listens as long as a command is performed.
        let _ = self.sender.send(observation);
    }
}

/// Slowness is no breach: the share of processors has no name here.
fn limit_name(limit: &LimitKind) -> Option<&'static str> {
    match limit {
        LimitKind::Memory => Some("memory"),
        LimitKind::Processes => Some("processes"),
        LimitKind::Disk => Some("disk"),
        LimitKind::Cpu => None,
    }
}

fn count(events: usize) -> u32 {
    u32::try_from(events).unwrap_or(u32::MAX)
}
