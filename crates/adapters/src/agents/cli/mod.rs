//! Agents that are started anew for each turn ([`CliAgent`]), driven by a description: a command for the first turn, one that
//! goes on with its session, and what the lines that it prints mean.

mod description;
mod events;
mod shipped;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::session::TurnStop;
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity, Observer},
    sandbox::{CommandSpec, Ended, FileEntry, FileNode, Sandbox},
};
use tokio::{io::AsyncWriteExt as _, sync::Notify, time::timeout};

use self::description::{OF_GATEWAY, holds};
pub use self::{
    description::{
        BadDescription, CallMeaning, CliDescription, EventMeaning, Expected, KindWord, Output,
        Place, PromptBy, ReturnMeaning, SessionName, UseMeaning, UseSpan,
    },
    shipped::{SHIPPED, shipped},
};
use super::{
    child::{Child, command},
    intake::Intake,
    lines::read_lines,
    placeholders::Fillable,
};

pub(super) use self::events::{Reader, microusd};

/// What is printed at the very end arrives within this, whoever still holds the stream.
const DRAINS_WITHIN: Duration = Duration::from_millis(300);

/// Nothing is waited for any longer.
const DRAINED_AT_LAST: Duration = Duration::from_secs(2);

/// An agent that was interrupted has so long to end by itself.
const STOPS_WITHIN: Duration = Duration::from_secs(3);

/// How long a command may take that tells a version.
const VERSION_MAX: Duration = Duration::from_secs(60);

/// Bytes of one argument of a command, its end included: the kernel takes no more.
const ARGUMENT_MAX: usize = 128 << 10;

/// A folder for what an agent keeps between its turns, outside the workspace.
const STATE: &str = "/var/tmp/agent";

/// How an agent is started that is driven by a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliLaunch {
    /// As it is called in rows.
    pub name: String,
    /// How it is driven.
    pub description: CliDescription,
    /// Its variables, over those of the description.
    pub env: BTreeMap<String, Fillable>,
}

/// An agent that is started anew for each turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliAgent {
    launch: CliLaunch,
}

impl CliAgent {
    /// An agent that is started like this.
    pub fn new(launch: CliLaunch) -> Self {
        Self { launch }
    }
}

#[async_trait::async_trait]
impl Agent for CliAgent {
    fn identify(&self) -> Identity {
        Identity { name: self.launch.name.clone(), channels: super::channels(), late_updates_ms: 0 }
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        let description = self.launch.description.clone();
        let values = values(&description, brief)?;
        let of_description = description.env.iter();
        let mut spec = command(Vec::new(), &self.launch.env, brief)?;
        for (name, value) in of_description.filter(|(name, _)| !self.launch.env.contains_key(*name))
        {
            spec.env.insert(name.clone(), filled(value, &values));
        }
        let mut conversation = CliConversation {
            sandbox,
            spec,
            values,
            told_name: None,
            state: tokio::sync::Mutex::new(State {
                reader: Reader::new(description.clone()),
                intake: Intake::default(),
                has_begun: false,
            }),
            description,
            running: Mutex::default(),
            stopping: Notify::new(),
        };
        conversation.told_name = conversation.look_up().await?;
        conversation.make_state().await?;
        Ok(Box::new(conversation))
    }
}

struct CliConversation {
    sandbox: Arc<dyn Sandbox>,
    description: CliDescription,
    /// What every command of it has in common.
    spec: CommandSpec,
    /// Names in braces and what stands for them, but for the message and the session.
    values: BTreeMap<&'static str, String>,
    told_name: Option<String>,
    state: tokio::sync::Mutex<State>,
    running: Mutex<Option<Arc<Child>>>,
    stopping: Notify,
}

/// What goes on from turn to turn.
struct State {
    reader: Reader,
    intake: Intake,
    has_begun: bool,
}

#[async_trait::async_trait]
impl Conversation for CliConversation {
    fn told_name(&self) -> Option<String> {
        self.told_name.clone()
    }

    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        // A turn that was given up may have left its process behind.
        self.kill().await?;
        let mut state = self.state.lock().await;
        let argv = self.command(message, &state)?;
        state.has_begun = true;
        state.reader.begin();
        state.intake.begin(observer.clone());
        if self.description.prompt == PromptBy::File {
            self.place(FileNode::File(message.as_bytes().to_vec())).await?;
        }
        let stop = self.turn(argv, message, observer, &mut state).await;
        if self.description.prompt == PromptBy::File {
            self.place(FileNode::Absent).await?;
        }
        stop
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        self.stopping.notify_waiters();
        Ok(())
    }

    async fn close(&self) -> Result<(), AgentFault> {
        self.kill().await
    }
}

impl CliConversation {
    async fn turn(
        &self,
        argv: Vec<String>,
        message: &str,
        observer: &Observer,
        state: &mut State,
    ) -> Result<TurnStop, AgentFault> {
        let stopping = self.stopping.notified();
        tokio::pin!(stopping);
        stopping.as_mut().enable();
        let command = self.spec(argv);
        let (child, mut stdin, stdout) = Child::start(self.sandbox.clone(), &command).await?;
        let child = Arc::new(child);
        *self.running.lock().expect("no holder panics") = Some(child.clone());
        let mut lines = read_lines(stdout);
        if !child.is_started() {
            observer.noted(format!("{} is not there any more", command.argv[0]));
            return Ok(TurnStop::Crashed);
        }
        if self.description.prompt == PromptBy::Stdin {
            let written = async {
                stdin.write_all(message.as_bytes()).await?;
                stdin.flush().await
            };
            // One that ends before it has read all was not told: its end says how.
            if written.await.is_ok() {
                observer.delivered();
            }
        } else {
            observer.delivered();
        }
        // Nothing more will be told: an agent that asks for more reads an end.
        drop(stdin);
        let mut was_stopped = false;
        let mut is_open = true;
        let ended = loop {
            tokio::select! {
                biased;
                () = &mut stopping, if !was_stopped => {
                    was_stopped = true;
                    self.stop(&child).await?;
                }
                line = lines.recv(), if is_open => match line {
                    Some(line) => take(state, line, observer),
                    None => is_open = false,
                },
                ended = child.ended() => break ended?,
            }
        };
        // What it started and left there lives on: its user may want it. Its process is gone, and its number is free.
        *self.running.lock().expect("no holder panics") = None;
        let drained = async {
            // Whoever it left behind may hold its stream open, and even go on writing.
            while let Ok(Some(line)) = timeout(DRAINS_WITHIN, lines.recv()).await {
                take(state, line, observer);
            }
        };
        let _ = timeout(DRAINED_AT_LAST, drained).await;
        state.reader.end(&mut state.intake);
        if was_stopped {
            return Ok(TurnStop::Interrupted);
        }
        Ok(self.stop_of(ended, &child, state, observer).await)
    }

    async fn stop_of(
        &self,
        ended: Ended,
        child: &Child,
        state: &State,
        observer: &Observer,
    ) -> TurnStop {
        if let Some(why) = &state.reader.failure {
            let why = super::intake::shortened(why);
            observer.noted(format!("the agent says that its turn failed: {why}"));
            return TurnStop::Crashed;
        }
        match ended {
            Ended::Exited(code) if self.description.finished.contains(&code) => TurnStop::Finished,
            Ended::OutOfMemory => {
                observer.noted(child.told(ended).await);
                TurnStop::LimitBreached
            }
            _ => {
                observer.noted(child.told(ended).await);
                TurnStop::Crashed
            }
        }
    }

    /// The command of a turn, with what belongs into it.
    fn command(&self, message: &str, state: &State) -> Result<Vec<String>, AgentFault> {
        let template =
            if state.has_begun { &self.description.next } else { &self.description.first };
        let session = state.reader.session.as_deref();
        if holds(template, "{session}") && session.is_none() {
            return Err(AgentFault::Channel(format!(
                "{} named no session in its first turn; [session] of its description says where one stands",
                self.description.name
            )));
        }
        let mut values = self.values.clone();
        let prompt = match self.description.prompt {
            PromptBy::File => format!("{STATE}/{MESSAGE}"),
            PromptBy::Argument | PromptBy::Stdin => message.to_owned(),
        };
        values.insert("{prompt}", prompt);
        values.extend(session.map(|session| ("{session}", session.to_owned())));
        let argv: Vec<String> = template
            .iter()
            .map(|argument| {
                let filled = filled(argument, &values);
                // What begins with a dash would be read as an option.
                match argument.starts_with("{prompt}") && filled.starts_with('-') {
                    true => format!("\n{filled}"),
                    false => filled,
                }
            })
            .collect();
        match argv.iter().find(|argument| argument.len() >= ARGUMENT_MAX) {
            None => Ok(argv),
            Some(argument) => Err(AgentFault::Channel(format!(
                "a message of {} bytes is too long for an argument; prompt = \"stdin\" or \"file\" takes it",
                argument.len()
            ))),
        }
    }

    fn spec(&self, argv: Vec<String>) -> CommandSpec {
        CommandSpec { argv, ..self.spec.clone() }
    }

    /// Asks for the version, if the description says how; a program that is not there is told before the session.
    async fn look_up(&self) -> Result<Option<String>, AgentFault> {
        let program = &self.description.first[0];
        let absent = || {
            let why = format!("{program} is not in the sandbox, or cannot be executed there");
            Err(AgentFault::NotOpened(why))
        };
        if self.description.version.is_empty() {
            let code = "command -v -- \"$0\"";
            let argv = ["sh", "-c", code, program].map(str::to_owned).to_vec();
            let spec = CommandSpec { timeout: VERSION_MAX, output_max: 1 << 10, ..self.spec(argv) };
            return match self.sandbox.exec(&spec).await?.ended {
                Ended::Exited(0) | Ended::NotStarted => Ok(None),
                _ => absent(),
            };
        }
        let argv = self.description.version.clone();
        let spec = CommandSpec { timeout: VERSION_MAX, output_max: 4 << 10, ..self.spec(argv) };
        let told = self.sandbox.exec(&spec).await?;
        match told.ended {
            Ended::NotStarted => absent(),
            Ended::Exited(0) => {
                let text = String::from_utf8_lossy(&told.stdout);
                let line = text.lines().map(str::trim).find(|line| !line.is_empty());
                Ok(line.map(|line| format!("{} {line}", self.description.name)))
            }
            _ => {
                let says = String::from_utf8_lossy(&told.stderr);
                let why = format!("{} does not run: {}", spec.argv.join(" "), says.trim());
                Err(AgentFault::NotOpened(super::intake::shortened(&why)))
            }
        }
    }

    async fn make_state(&self) -> Result<(), AgentFault> {
        let commands = [&self.description.first, &self.description.next];
        let in_env = self.spec.env.values().any(|value| value.contains(STATE));
        let is_named = commands.iter().any(|command| holds(command, "{state}"));
        if !is_named && !in_env && self.description.prompt != PromptBy::File {
            return Ok(());
        }
        let path = STATE.trim_start_matches('/').to_owned();
        let folder = FileEntry { path, node: FileNode::Directory, mode: 0o777 };
        Ok(self.sandbox.put("/", &[folder]).await?)
    }

    async fn place(&self, node: FileNode) -> Result<(), AgentFault> {
        let file = FileEntry { path: MESSAGE.to_owned(), node, mode: 0o644 };
        Ok(self.sandbox.put(STATE, &[file]).await?)
    }

    /// Asks the process to stop as a terminal would, and kills it and all that it started if it does not.
    async fn stop(&self, child: &Child) -> Result<(), AgentFault> {
        let group = format!("-{}", child.pid());
        let argv = ["sh", "-c", "kill -INT -- \"$0\"", &group].map(str::to_owned).to_vec();
        let spec = CommandSpec { timeout: STOPS_WITHIN, ..self.spec(argv) };
        let asked = async {
            let _ = self.sandbox.exec(&spec).await;
            child.ended().await
        };
        let _ = timeout(STOPS_WITHIN, asked).await;
        Ok(self.sandbox.kill(child.pid()).await?)
    }

    async fn kill(&self) -> Result<(), AgentFault> {
        let running = self.running.lock().expect("no holder panics").take();
        match running {
            Some(child) => child.end(Duration::ZERO).await,
            None => Ok(()),
        }
    }
}

/// The file in which a message stands.
const MESSAGE: &str = "message.md";

fn take(state: &mut State, line: Result<String, String>, observer: &Observer) {
    match line {
        Ok(line) => state.reader.take(&line, &mut state.intake),
        Err(why) => observer.noted(format!("its output is not read any further: {why}")),
    }
}

/// What stands for names in braces in a session, as far as the description has them.
fn values(
    description: &CliDescription,
    brief: &Brief,
) -> Result<BTreeMap<&'static str, String>, AgentFault> {
    let mut values = BTreeMap::from([("{state}", STATE.to_owned())]);
    let texts = || {
        let commands = description.first.iter().chain(&description.next);
        commands.chain(description.env.values())
    };
    for name in OF_GATEWAY {
        if !texts().any(|text| text.contains(name)) {
            continue;
        }
        let value = Fillable::parse(name).expect("it is one of its places");
        let value = value.fill(brief.model.as_ref());
        let value = value.map_err(|lack| {
            let agent = &description.name;
            AgentFault::NotOpened(format!("the description of {agent}: {lack}"))
        })?;
        values.insert(name, value);
    }
    Ok(values)
}

/// A text with what belongs into it; what is put in is not looked at again.
fn filled(text: &str, values: &BTreeMap<&'static str, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(**name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}
