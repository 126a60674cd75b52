//! A session with a program that speaks a protocol of lines of JSON ([`Talk`]), whatever the protocol: what its lines mean is
//! told by a [`Dialect`]; turns, permissions, interrupts and ends are the same for all.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{
    ids::{RequestId, Turn},
    session::TurnStop,
};
use engine::ports::{
    agent::{AgentFault, Brief, Conversation, Observer},
    sandbox::{CommandSpec, Ended, Sandbox},
};
use serde_json::Value;
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::timeout,
};

use super::{
    child::Child,
    intake::{Call, Intake, shortened},
    lines::{LineWriter, read_lines},
    placeholders::Fillable,
};

/// An agent has so long to open a session; slow ones were measured at five seconds.
const HANDSHAKE_MAX: Duration = Duration::from_secs(120);

/// An agent whose standard input was closed has so long to go by itself.
const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// How a program is started that speaks a protocol on its standard streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLaunch {
    /// As it is called in rows.
    pub name: String,
    /// Program and arguments inside the sandbox.
    pub argv: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, Fillable>,
}

/// What is said in a protocol. It is told of lines one after the other and keeps what it needs to know of them.
pub(super) trait Dialect: Send + 'static {
    /// What is said first.
    fn opening(&mut self, brief: &Brief) -> Value;

    /// The user's message.
    fn prompt(&mut self, turn: Turn, message: &str) -> Value;

    /// The answer to a request for permission.
    fn answer(&mut self, asked: &Asked, allow: bool) -> Value;

    /// The running turn is to stop.
    fn interrupt(&mut self) -> Value;

    /// A line of the agent; what it tells of its work goes to the intake.
    fn hear(&mut self, line: &str, intake: &mut Intake) -> Vec<Heard>;
}

/// What a line means beside what it tells of the agent's work.
pub(super) enum Heard {
    /// The session is open, with name and version of the agent if told; else why it cannot be.
    Opened(Result<Option<String>, String>),
    /// It asks for permission and waits.
    Asks(Asked),
    /// It does not wait for that answer any more.
    Withdrawn(String),
    /// It is to be told this at once.
    Reply(Value),
    /// The turn is over; an error is the agent's, in words.
    Ended(Result<TurnStop, String>),
}

/// A request for permission.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// The agent's own name of the request.
    pub(super) id: String,
    /// What it would do.
    pub(super) call: Call,
    /// What the answer needs of the request.
    pub(super) given: Value,
}

/// How a turn ended; an error is the agent's, in words.
type End = Result<TurnStop, String>;

/// A session with a program.
pub(super) struct Talk<D> {
    child: Child,
    writer: LineWriter,
    shared: Arc<Mutex<Shared<D>>>,
    ends: tokio::sync::Mutex<UnboundedReceiver<End>>,
    name: Option<String>,
}

/// What the reader of its lines and the session share.
struct Shared<D> {
    dialect: D,
    intake: Intake,
    turn: TurnState,
    /// Ends of turns that nobody waits for any more.
    overdue: u32,
    requests: u32,
    waiting: BTreeMap<RequestId, Asked>,
    /// Requests that need no answer any more.
    withdrawn: BTreeSet<RequestId>,
    opened: Option<oneshot::Sender<Result<Option<String>, String>>>,
    ends: UnboundedSender<End>,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnState {
    /// Between turns.
    None,
    Running,
    /// It was asked to stop.
    Stopping,
}

impl<D: Dialect> Talk<D> {
    /// Starts the program and opens a session with it.
    pub(super) async fn open(
        sandbox: Arc<dyn Sandbox>,
        command: &CommandSpec,
        brief: &Brief,
        mut dialect: D,
    ) -> Result<Self, AgentFault> {
        let (child, stdin, stdout) = Child::start(sandbox, command).await?;
        let writer = LineWriter::new(stdin);
        let (tell_end, ends) = unbounded_channel();
        let (tell_opened, opened) = oneshot::channel();
        let opening = dialect.opening(brief).to_string();
        let shared = Arc::new(Mutex::new(Shared {
            dialect,
            intake: Intake::default(),
            turn: TurnState::None,
            overdue: 0,
            requests: 0,
            waiting: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
            opened: Some(tell_opened),
            ends: tell_end,
        }));
        let (hears, answers) = (shared.clone(), writer.clone());
        let mut lines = read_lines(stdout);
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                let mut shared = hears.lock().expect("no holder panics");
                match line {
                    Ok(line) => {
                        for reply in shared.hear(&line) {
                            answers.send(reply.to_string());
                        }
                    }
                    Err(why) => shared.broke(&why),
                }
            }
            hears.lock().expect("no holder panics").broke("its stream broke");
        });
        writer.send(opening);
        let mut talk =
            Self { child, writer, shared, ends: tokio::sync::Mutex::new(ends), name: None };
        let why = match timeout(HANDSHAKE_MAX, opened).await {
            Ok(Ok(Ok(name))) => {
                talk.name = name;
                return Ok(talk);
            }
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => "its stream broke".to_owned(),
            Err(_) => format!("no answer within {} s", HANDSHAKE_MAX.as_secs()),
        };
        let why = talk.child.explain(&command.argv, &why).await;
        talk.writer.end();
        talk.child.end(Duration::ZERO).await?;
        Err(AgentFault::NotOpened(why))
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, Shared<D>> {
        self.shared.lock().expect("no holder panics")
    }

    /// The agent said that its turn failed, or its stream broke: if its process is gone, that tells more.
    async fn broke(&self, why: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        if let Ok(ended) = timeout(GOODBYE_MAX, self.child.ended()).await {
            return self.gone(ended, observer).await;
        }
        observer.noted(format!("the agent answered with an error: {}", shortened(why)));
        Ok(TurnStop::Crashed)
    }

    async fn gone(
        &self,
        ended: Result<Ended, AgentFault>,
        observer: &Observer,
    ) -> Result<TurnStop, AgentFault> {
        let ended = ended?;
        self.shared().intake.flush();
        observer.noted(self.child.told(ended).await);
        Ok(match ended {
            Ended::OutOfMemory => TurnStop::LimitBreached,
            _ => TurnStop::Crashed,
        })
    }
}

#[async_trait::async_trait]
impl<D: Dialect> Conversation for Talk<D> {
    fn told_name(&self) -> Option<String> {
        self.name.clone()
    }

    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        let mut ends = self.ends.lock().await;
        let line = self.shared().begin(message, observer);
        let delivers = observer.clone();
        self.writer.send_then(line.to_string(), move || delivers.delivered());
        tokio::select! {
            biased;
            end = ends.recv() => match end {
                Some(Ok(stop)) => Ok(stop),
                Some(Err(why)) => self.broke(&why, observer).await,
                None => self.broke("its stream broke", observer).await,
            },
            ended = self.child.ended() => self.gone(ended, observer).await,
        }
    }

    async fn answer_permission(&self, request: RequestId, allow: bool) -> Result<(), AgentFault> {
        match self.shared().answer(request, allow) {
            Ok(Some(line)) => self.writer.send(line.to_string()),
            // The turn was stopped in the meantime.
            Ok(None) => {}
            Err(why) => return Err(AgentFault::Channel(why)),
        }
        Ok(())
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        for line in self.shared().stop() {
            self.writer.send(line.to_string());
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), AgentFault> {
        self.writer.end();
        self.child.end(GOODBYE_MAX).await
    }
}

impl<D: Dialect> Shared<D> {
    fn begin(&mut self, message: &str, observer: &Observer) -> Value {
        if self.turn != TurnState::None {
            // Nobody waited for its end; should it come, it is not this turn's.
            self.overdue += 1;
        }
        self.turn = TurnState::Running;
        self.intake.begin(observer.clone());
        self.dialect.prompt(observer.turn(), message)
    }

    /// Takes in a line; what is to be answered at once.
    fn hear(&mut self, line: &str) -> Vec<Value> {
        self.intake.counts(line.len());
        let mut replies = Vec::new();
        for heard in self.dialect.hear(line, &mut self.intake) {
            match heard {
                Heard::Opened(opened) => {
                    if let Some(tell) = self.opened.take() {
                        let _ = tell.send(opened);
                    }
                }
                Heard::Asks(asked) => replies.extend(self.asked(asked)),
                Heard::Withdrawn(id) => {
                    let gone: Vec<RequestId> =
                        self.waiting.iter().filter(|(_, a)| a.id == id).map(|(r, _)| *r).collect();
                    for request in gone {
                        self.waiting.remove(&request);
                        self.withdrawn.insert(request);
                    }
                }
                Heard::Reply(value) => replies.push(value),
                Heard::Ended(end) => self.ended(end),
            }
        }
        if self.turn == TurnState::None {
            self.intake.flush();
        }
        replies
    }

    /// A request for permission: the controller answers it, or between turns nobody is there to be asked.
    fn asked(&mut self, asked: Asked) -> Option<Value> {
        self.requests += 1;
        let request = RequestId(self.requests);
        if self.turn != TurnState::Running || !self.intake.asks(request, &asked.call) {
            return Some(self.dialect.answer(&asked, false));
        }
        self.waiting.insert(request, asked);
        None
    }

    fn ended(&mut self, end: End) {
        if self.overdue > 0 {
            self.overdue -= 1;
            return;
        }
        let was = std::mem::replace(&mut self.turn, TurnState::None);
        self.intake.flush();
        let end = match was {
            TurnState::None => return,
            TurnState::Running => end,
            // However it says that it stopped.
            TurnState::Stopping => Ok(TurnStop::Interrupted),
        };
        let _ = self.ends.send(end);
    }

    fn broke(&mut self, why: &str) {
        if let Some(tell) = self.opened.take() {
            let _ = tell.send(Err(why.to_owned()));
        }
        let _ = self.ends.send(Err(why.to_owned()));
    }

    fn answer(&mut self, request: RequestId, allow: bool) -> Result<Option<Value>, String> {
        if self.withdrawn.remove(&request) {
            return Ok(None);
        }
        let asked = self.waiting.remove(&request);
        let asked = asked.ok_or_else(|| format!("request {request} waits for no answer"))?;
        Ok(Some(self.dialect.answer(&asked, allow)))
    }

    /// What is said to have the running turn stopped: whatever it waits for is refused first.
    fn stop(&mut self) -> Vec<Value> {
        if self.turn == TurnState::None {
            return Vec::new();
        }
        self.turn = TurnState::Stopping;
        let mut lines = Vec::new();
        for (request, asked) in std::mem::take(&mut self.waiting) {
            self.withdrawn.insert(request);
            lines.push(self.dialect.answer(&asked, false));
        }
        lines.push(self.dialect.interrupt());
        lines
    }
}
