//! An agent's process inside a sandbox ([`Child`]): how it ended, the tail of what it complained of, and its end.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use engine::ports::{
    agent::{AgentFault, Brief},
    sandbox::{CommandSpec, Ended, Sandbox, Started},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    sync::{Mutex, watch},
    time::timeout,
};

use super::placeholders::Fillable;

/// What is kept of standard error.
const COMPLAINTS_MAX: usize = 16 << 10;

/// What of it is told.
const COMPLAINTS_TOLD: usize = 2_000;

/// A started agent, its standard input and output being somebody else's.
pub(super) struct Child {
    sandbox: Arc<dyn Sandbox>,
    pid: u32,
    /// How it ended: nothing yet, the end, or that the sandbox lost sight of it.
    ended: watch::Receiver<Option<Option<Ended>>>,
    complaints: Arc<Mutex<Vec<u8>>>,
}

/// Where a started agent reads from.
pub(super) type Stdin = Box<dyn AsyncWrite + Send + Unpin>;

/// Where a started agent writes to.
pub(super) type Stdout = Box<dyn AsyncRead + Send + Unpin>;

impl Child {
    /// Starts a command of the agent.
    pub(super) async fn start(
        sandbox: Arc<dyn Sandbox>,
        command: &CommandSpec,
    ) -> Result<(Self, Stdin, Stdout), AgentFault> {
        let Started { stdin, stdout, stderr, ended, pid } = sandbox.start(command).await?;
        let (tell, hear) = watch::channel(None);
        tokio::spawn(async move {
            let ended = ended.await.ok();
            // Whoever asked is gone: then nobody needs to know.
            let _ = tell.send(Some(ended));
        });
        let complaints = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(keep_tail(stderr, complaints.clone()));
        Ok((Self { sandbox, pid, ended: hear, complaints }, stdin, stdout))
    }

    /// Leader of its process group inside.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it ever was a process: the sandbox may lack its program.
    pub(super) fn is_started(&self) -> bool {
        self.pid != 0
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Result<Ended, AgentFault> {
        let mut hear = self.ended.clone();
        let ended = match hear.wait_for(Option::is_some).await {
            Ok(ended) => ended.flatten(),
            Err(_) => None,
        };
        ended.ok_or_else(|| AgentFault::Channel("the sandbox lost sight of the agent".to_owned()))
    }

    /// What is said of an agent that is gone.
    pub(super) async fn told(&self, ended: Ended) -> String {
        let how = match ended {
            Ended::Exited(code) => format!("exited with {code}"),
            Ended::Signalled(signal) => format!("was ended by signal {signal}"),
            Ended::OutOfMemory => "was ended by the memory limit of its sandbox".to_owned(),
            Ended::TimedOut => "was ended after its time".to_owned(),
            Ended::NotStarted => "could not be started".to_owned(),
        };
        format!("the agent {how}{}", self.complaints().await)
    }

    /// Why it could not be opened, with what its process has to say.
    pub(super) async fn explain(&self, argv: &[String], why: &str) -> String {
        let program = argv.first().map_or("", String::as_str);
        // The end of a process and the end of its stream are told by two roads.
        match timeout(Duration::from_millis(300), self.ended()).await {
            Ok(Ok(Ended::NotStarted)) => {
                format!("{program} is not in the sandbox, or cannot be executed there")
            }
            Ok(Ok(ended)) => self.told(ended).await,
            Ok(Err(fault)) => fault.to_string(),
            Err(_) => format!("{why}{}", self.complaints().await),
        }
    }

    async fn complaints(&self) -> String {
        let kept = self.complaints.lock().await;
        let text = String::from_utf8_lossy(&kept);
        let text = text.trim();
        if text.is_empty() {
            return String::new();
        }
        let from = text.char_indices().rev().nth(COMPLAINTS_TOLD).map_or(0, |(at, _)| at);
        format!("; at last it said: {}", &text[from..])
    }

    /// Waits so long for it to go, then kills it and all that it started: what it leaves behind goes too.
    pub(super) async fn end(&self, patience: Duration) -> Result<(), AgentFault> {
        let _ = timeout(patience, self.ended()).await;
        match self.is_started() {
            true => Ok(self.sandbox.kill(self.pid).await?),
            false => Ok(()),
        }
    }
}

/// How an agent's program is started in its session: in the working directory, as the task's user, with the variables that
/// lead to the wire. What its owner sets goes before.
pub(super) fn command(
    argv: Vec<String>,
    own: &BTreeMap<String, Fillable>,
    brief: &Brief,
) -> Result<CommandSpec, AgentFault> {
    let mut env = brief.env.clone();
    for (name, value) in own {
        let value = value.fill(brief.model.as_ref());
        let value = value.map_err(|lack| AgentFault::NotOpened(format!("{name}: {lack}")))?;
        env.insert(name.clone(), value);
    }
    Ok(CommandSpec {
        argv,
        cwd: Some(brief.workdir.clone()),
        env,
        user: brief.user.clone(),
        stdin: Vec::new(),
        timeout: Duration::MAX,
        output_max: 0,
    })
}

async fn keep_tail(mut from: Stdout, kept: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 4 << 10];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let mut kept = kept.lock().await;
        kept.extend_from_slice(&piece[..read]);
        let over = kept.len().saturating_sub(COMPLAINTS_MAX);
        kept.drain(..over);
    }
}
