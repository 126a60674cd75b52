//! A person who plays the agent at a terminal ([`HumanAgent`]): reads what the user says, types commands that run in the
//! sandbox, and ends a turn with a message. What a person does is never ranked.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use domain::session::{ToolKind, ToolOutcome, TurnStop, title_of};
use engine::ports::{
    agent::{Agent, AgentFault, Brief, Conversation, Identity, Observer, ToolCall, ToolResult},
    sandbox::{CommandSpec, Ended, Finished, Sandbox},
};
use tokio::{
    io::unix::AsyncFd,
    sync::{Mutex, Notify},
};

/// A command may run so long; the turn's own deadline is nearly always shorter.
const COMMAND_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Bytes of each of a command's streams that are shown, beginning and end.
const OUTPUT_MAX: usize = 256 << 10;

/// Bytes of a line that a person types.
const LINE_MAX: usize = 1 << 20;

const HELP: &str = "\
  COMMAND      runs in the sandbox's shell; cd stays where it goes
  /say WORDS   says this to the user and ends the turn
  /say         the same with the lines that follow, up to a line with a single dot
  /leave       leaves the session";

/// A person at a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HumanAgent {
    terminal: PathBuf,
}

impl Default for HumanAgent {
    /// At the terminal of this process.
    fn default() -> Self {
        Self::at(Path::new("/dev/tty"))
    }
}

impl HumanAgent {
    /// At this terminal.
    pub fn at(terminal: &Path) -> Self {
        Self { terminal: terminal.to_owned() }
    }
}

#[async_trait::async_trait]
impl Agent for HumanAgent {
    fn identify(&self) -> Identity {
        Identity { name: "human".to_owned(), channels: super::channels(), late_updates_ms: 0 }
    }

    async fn open(
        &self,
        sandbox: Arc<dyn Sandbox>,
        brief: &Brief,
    ) -> Result<Box<dyn Conversation>, AgentFault> {
        let terminal = Terminal::open(&self.terminal).map_err(|error| {
            AgentFault::NotOpened(format!(
                "a person needs a terminal, and {} cannot be opened: {error}",
                self.terminal.display()
            ))
        })?;
        Ok(Box::new(HumanConversation {
            sandbox,
            brief: brief.clone(),
            state: Mutex::new(State { terminal, directory: brief.workdir.clone(), commands: 0 }),
            stopped: Notify::new(),
        }))
    }
}

struct HumanConversation {
    sandbox: Arc<dyn Sandbox>,
    brief: Brief,
    state: Mutex<State>,
    stopped: Notify,
}

struct State {
    terminal: Terminal,
    /// Where the next command runs.
    directory: String,
    commands: u32,
}

#[async_trait::async_trait]
impl Conversation for HumanConversation {
    async fn prompt(&self, message: &str, observer: &Observer) -> Result<TurnStop, AgentFault> {
        let mut state = self.state.lock().await;
        let turn = observer.turn();
        let shown = format!("\n── turn {turn}: the user says ──\n{message}\n──\n{HELP}\n");
        state.terminal.write(&shown).await.map_err(gone)?;
        observer.delivered();
        let stop = tokio::select! {
            biased;
            () = self.stopped.notified() => TurnStop::Interrupted,
            stop = self.work(&mut state, observer) => stop?,
        };
        let words = match stop {
            TurnStop::Interrupted => {
                "\n── the turn is over: its time is up, or it was stopped ──\n"
            }
            _ => "── the turn is over ──\n",
        };
        state.terminal.write(words).await.map_err(gone)?;
        Ok(stop)
    }

    async fn interrupt(&self) -> Result<(), AgentFault> {
        self.stopped.notify_waiters();
        Ok(())
    }

    async fn close(&self) -> Result<(), AgentFault> {
        self.stopped.notify_waiters();
        Ok(())
    }
}

impl HumanConversation {
    async fn work(&self, state: &mut State, observer: &Observer) -> Result<TurnStop, AgentFault> {
        loop {
            let prompt = format!("{}$ ", state.directory);
            let Some(line) = state.terminal.ask(&prompt).await.map_err(gone)? else {
                return Ok(left(observer));
            };
            let line = line.trim();
            match line.split_once(char::is_whitespace).unwrap_or((line, "")) {
                ("", _) => {}
                ("/leave", _) => return Ok(left(observer)),
                ("/say", words) => {
                    let words = match words.trim() {
                        "" => state.terminal.lines_to_dot().await.map_err(gone)?,
                        words => words.to_owned(),
                    };
                    if words.trim().is_empty() {
                        state
                            .terminal
                            .write("There is nothing to say yet.\n")
                            .await
                            .map_err(gone)?;
                        continue;
                    }
                    observer.said(words);
                    return Ok(TurnStop::Finished);
                }
                (other, _) if other.starts_with('/') && !other[1..].contains('/') => {
                    state.terminal.write(&format!("{HELP}\n")).await.map_err(gone)?;
                }
                ("cd", to) => self.go(state, to.trim()).await?,
                _ => self.run(state, line, observer).await?,
            }
        }
    }

    /// Changes to a directory, if the sandbox has it.
    async fn go(&self, state: &mut State, to: &str) -> Result<(), AgentFault> {
        let to = if to.is_empty() { &self.brief.workdir } else { to };
        let found = self.exec(&state.directory, "cd -- \"$0\" && pwd", to).await?;
        let words = String::from_utf8_lossy(&found.stdout);
        if found.is_success() && words.starts_with('/') {
            state.directory = words.trim_end_matches('\n').to_owned();
            return Ok(());
        }
        state.terminal.write(&format!("there is no directory {to}\n")).await.map_err(gone)
    }

    async fn run(
        &self,
        state: &mut State,
        command: &str,
        observer: &Observer,
    ) -> Result<(), AgentFault> {
        state.commands += 1;
        let id = format!("command-{}", state.commands);
        observer.called(ToolCall {
            id: Some(id.clone()),
            title: title_of(command),
            kind: Some(ToolKind::Execute),
            input: Some(command.to_owned()),
        });
        let finished = self.exec(&state.directory, command, "sh").await?;
        let [out, err] = [&finished.stdout, &finished.stderr].map(|s| String::from_utf8_lossy(s));
        let output = format!("{out}{err}");
        let exit_code = match finished.ended {
            Ended::Exited(code) => Some(code),
            _ => None,
        };
        let is_good = finished.is_success();
        let how = match finished.ended {
            Ended::Exited(0) => String::new(),
            Ended::Exited(code) => format!("(exit code {code})\n"),
            other => format!("({other:?})\n"),
        };
        let gap = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        state.terminal.write(&format!("{output}{gap}{how}")).await.map_err(gone)?;
        observer.returned(ToolResult {
            id,
            outcome: if is_good { ToolOutcome::Completed } else { ToolOutcome::Failed },
            input: None,
            output: Some(output).filter(|output| !output.is_empty()),
            exit_code,
        });
        Ok(())
    }

    async fn exec(&self, directory: &str, code: &str, name: &str) -> Result<Finished, AgentFault> {
        let command = CommandSpec {
            argv: ["sh", "-c", code, name].map(str::to_owned).to_vec(),
            cwd: Some(directory.to_owned()),
            env: self.brief.env.clone(),
            user: self.brief.user.clone(),
            stdin: Vec::new(),
            timeout: COMMAND_MAX,
            output_max: OUTPUT_MAX,
        };
        Ok(self.sandbox.exec(&command).await?)
    }
}

/// A person who goes ends the session as a crash of an agent does.
fn left(observer: &Observer) -> TurnStop {
    observer.noted("the person left the terminal");
    TurnStop::Crashed
}

fn gone(error: io::Error) -> AgentFault {
    AgentFault::Channel(format!("the terminal is gone: {error}"))
}

/// A terminal, read line by line without a thread that would wait for a key at the end.
struct Terminal {
    file: AsyncFd<File>,
    /// What was typed and not read yet.
    typed: Vec<u8>,
}

impl Terminal {
    fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        // SAFETY: a file owns its descriptor and gives the same one as long as it lives.
        let file = unsafe { AsyncFd::register(file) }.map_err(|error| error.into_parts().1)?;
        Ok(Self { file, typed: Vec::new() })
    }

    async fn write(&mut self, text: &str) -> io::Result<()> {
        // What a sandbox prints must not drive the terminal.
        let text: String = text
            .chars()
            .map(|c| if c.is_control() && !"\n\t".contains(c) { '·' } else { c })
            .collect();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let mut ready = self.file.writable().await?;
            match ready.try_io(|file| file.get_ref().write(rest)) {
                Ok(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(Ok(written)) => rest = &rest[written..],
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Asks for a line; none once there will be no more.
    async fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.write(prompt).await?;
        self.line().await
    }

    async fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if self.typed.len() > LINE_MAX {
                return Err(io::Error::other("a line without an end"));
            }
            let mut piece = [0; 4 << 10];
            let mut ready = self.file.readable().await?;
            match ready.try_io(|file| file.get_ref().read(&mut piece)) {
                // The end is typed as Ctrl-D, or the terminal hung up.
                Ok(Ok(0)) => return Ok(None),
                Ok(Ok(read)) => self.typed.extend_from_slice(&piece[..read]),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) if error.raw_os_error() == Some(libc::EIO) => return Ok(None),
                Ok(Err(error)) => return Err(error),
                Err(_) => {}
            }
        }
    }

    async fn lines_to_dot(&mut self) -> io::Result<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.ask("> ").await? {
            if line.trim_end() == "." {
                break;
            }
            lines.push(line);
        }
        Ok(lines.join("\n"))
    }
}
