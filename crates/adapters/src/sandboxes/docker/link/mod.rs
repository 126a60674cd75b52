//! The harness's end of the program in a container: [`Link`] carries the sandbox's verbs over two byte streams.

mod connection;
mod files;
mod outputs;
mod streams;
mod types;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::ids::Turn;
use engine::ports::sandbox::{Ended, FileEntry, Finished, SandboxFault, Started};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::oneshot,
};

use self::{
    connection::{Connection, Streams},
    outputs::{Output, Waited, wait},
};
use super::frames::{Answer, Question};
use crate::sandboxes::supervision::{
    channel,
    protocol::{ended_by, realtime_ns},
};

pub use super::frames::Listed;

pub use self::{
    files::Cargo,
    types::{Looked, Setup},
};
pub use crate::sandboxes::supervision::{
    capabilities::DEFAULT as DEFAULT_CAPABILITIES,
    program_log::Taken,
    protocol::{Count, Launch},
};

/// The argument that turns a binary into the program inside a container; the original command follows after `--`.
pub const INSIDE_ARGUMENT: &str = "__container";

/// A program that does not answer in this time is lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// So long may files be sent, read or hashed.
const FILES_TIMEOUT: Duration = Duration::from_secs(300);
/// A killed command that is not reaped by then is given up.
const REAP_TIMEOUT: Duration = Duration::from_secs(10);
/// Clocks that differ by less are one clock.
const ONE_CLOCK_NS: i64 = 1_000_000_000;

/// A living program in a container; clones share it, and when the last one goes the streams are closed.
#[derive(Clone, Debug)]
pub struct Link {
    connection: Arc<Connection>,
    origin_ns: i64,
    /// What to add to this host's clock; a container in a virtual machine has a clock of its own.
    skew_ns: i64,
    is_recording: bool,
}

fn unexpected(answer: &Answer) -> SandboxFault {
    SandboxFault::Lost(format!("unexpected answer {answer:?}"))
}

impl Link {
    /// Over the attached streams; sends the setup and waits until the image's own command runs.
    ///
    /// # Errors
    /// The original command cannot be run ([`SandboxFault::Setup`]), or the other end is gone.
    pub async fn open(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        setup: &Setup,
    ) -> Result<Link, SandboxFault> {
        let mut greeting = Vec::new();
        channel::write_frame(&mut greeting, setup)
            .map_err(|error| SandboxFault::Setup(error.to_string()))?;
        let (connection, asked) = Connection::over(reader, writer, greeting);
        match connection.answer(asked, ANSWER_TIMEOUT).await? {
            Answer::Ready { origin_ns, is_recording } => {
                let skew_ns = origin_ns - realtime_ns();
                let skew_ns = if skew_ns.abs() < ONE_CLOCK_NS { 0 } else { skew_ns };
                Ok(Link { connection: Arc::new(connection), origin_ns, skew_ns, is_recording })
            }
            Answer::Failed(reason) => Err(SandboxFault::Setup(reason)),
            other => Err(unexpected(&other)),
        }
    }

    /// The container kernel's wall clock when the image's own command ran.
    pub fn origin_ns(&self) -> i64 {
        self.origin_ns
    }

    /// Kernel time now, in milliseconds since the origin.
    pub fn now_ms(&self) -> i64 {
        (realtime_ns() + self.skew_ns - self.origin_ns).div_euclid(1_000_000)
    }

    /// Whether the process log is taken: asked for and allowed by the engine.
    pub fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Whether the program inside is gone; then every verb fails with [`SandboxFault::Lost`].
    pub fn is_lost(&self) -> bool {
        self.connection.is_lost()
    }

    /// Runs a command to its end; each output keeps `output_max` bytes of head and tail.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn exec(
        &self,
        launch: &Launch,
        stdin: Vec<u8>,
        timeout: Duration,
        output_max: usize,
    ) -> Result<Finished, SandboxFault> {
        let begun = Instant::now();
        let (pid, mut streams) = match self.launch(launch).await? {
            Ok(started) => started,
            Err(reason) => {
                let stderr = format!("{reason}\n").into_bytes();
                let (ended, stdout) = (Ended::NotStarted, Vec::new());
                return Ok(Finished { ended, stdout, stderr, took: begun.elapsed() });
            }
        };
        let mut input = streams.stdin;
        // A command that does not read its input closes it; that is its affair.
        tokio::spawn(async move { input.write_all(&stdin).await });
        let mut outputs =
            [Output::new(streams.stdout, output_max), Output::new(streams.stderr, output_max)];
        let mut waited = wait(&mut outputs, &mut streams.ended, timeout).await;
        let is_late = matches!(waited, Waited::TimedOut);
        if is_late {
            self.kill(pid).await?;
            waited = wait(&mut outputs, &mut streams.ended, REAP_TIMEOUT).await;
        }
        let ended = match waited {
            Waited::Lost => return Err(SandboxFault::Lost("the container's streams broke".into())),
            _ if is_late => Ended::TimedOut,
            Waited::TimedOut => Ended::TimedOut,
            Waited::Ended(status) => ended_by(status),
        };
        let took = begun.elapsed();
        let [stdout, stderr] = outputs;
        let (stdout, stderr) = (stdout.finish().await, stderr.finish().await);
        Ok(Finished { ended, stdout, stderr, took })
    }

    /// Starts a command and hands out its streams.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn start(&self, launch: &Launch) -> Result<Started, SandboxFault> {
        let (sender, ended) = oneshot::channel();
        let (pid, streams) = match self.launch(launch).await? {
            Ok(started) => started,
            Err(reason) => {
                // Told like a shell tells it: on standard error, with an end.
                let _ = sender.send(Ended::NotStarted);
                let stderr = std::io::Cursor::new(format!("{reason}\n").into_bytes());
                return Ok(Started {
                    stdin: Box::new(tokio::io::sink()),
                    stdout: Box::new(tokio::io::empty()),
                    stderr: Box::new(stderr),
                    ended,
                    pid: 0,
                });
            }
        };
        tokio::spawn(async move {
            // Without a status the sender is dropped, which says that the sandbox is lost.
            if let Ok(status) = streams.ended.await {
                let _ = sender.send(ended_by(status));
            }
        });
        Ok(Started {
            stdin: Box::new(streams.stdin),
            stdout: Box::new(streams.stdout),
            stderr: Box::new(streams.stderr),
            ended,
            pid,
        })
    }

    /// The inner error says why the command cannot be run.
    async fn launch(
        &self,
        launch: &Launch,
    ) -> Result<Result<(u32, Streams), String>, SandboxFault> {
        let question = Question::Exec(launch.clone());
        let (asked, streams) = self.connection.ask_for_command(&question)?;
        match self.connection.answer(asked, ANSWER_TIMEOUT).await? {
            Answer::Started(pid) => Ok(Ok((pid, streams))),
            Answer::Failed(reason) => Ok(Err(reason)),
            other => Err(unexpected(&other)),
        }
    }

    async fn done(&self, question: Question) -> Result<Count, SandboxFault> {
        let asked = self.connection.ask(&question)?;
        match self.connection.answer(asked, ANSWER_TIMEOUT).await? {
            Answer::Done(count) => Ok(count),
            Answer::Failed(reason) => Err(SandboxFault::TimedOut(reason)),
            other => Err(unexpected(&other)),
        }
    }

    /// Kills a command's process group and every descendant of its leader.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn kill(&self, pid: u32) -> Result<(), SandboxFault> {
        self.done(Question::Kill(pid)).await.map(drop)
    }

    /// Kills every process but pid 1 and ours; returns once they are proved dead.
    ///
    /// # Errors
    /// They do not die, or the program inside is gone.
    pub async fn kill_all(&self) -> Result<(), SandboxFault> {
        self.done(Question::KillAll).await.map(drop)
    }

    /// Stops every process; returns once they are proved quiet. A foreign pid 1, which cannot be stopped from within,
    /// counts as alive if it works.
    ///
    /// # Errors
    /// They do not stop, or the program inside is gone.
    pub async fn stop(&self) -> Result<Count, SandboxFault> {
        self.done(Question::Stop).await
    }

    /// Continues what [`Link::stop`] stopped.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn go_on(&self) -> Result<(), SandboxFault> {
        self.done(Question::Continue).await.map(drop)
    }

    /// Counts processes and processor time.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn count(&self) -> Result<Count, SandboxFault> {
        self.done(Question::Count).await
    }

    /// Places files below an absolute directory, by the contract of the port's `put`.
    ///
    /// # Errors
    /// A file cannot be placed, or the program inside is gone.
    pub async fn put(&self, directory: &str, files: &[FileEntry]) -> Result<(), SandboxFault> {
        files::put(&self.connection, directory, files).await
    }

    /// Everything below an absolute path, by the contract of the port's `get`. `/proc`, `/sys` and `/dev` are read only
    /// when they are asked for by name.
    ///
    /// # Errors
    /// A file cannot be read, or the program inside is gone.
    pub async fn read(&self, path: &str) -> Result<Option<Vec<FileEntry>>, SandboxFault> {
        files::read(&self.connection, path).await
    }

    /// What stands at these absolute paths, each without what lies below it, with owners and times; what is not there
    /// is left out.
    ///
    /// # Errors
    /// A file cannot be read, or the program inside is gone.
    pub async fn carry(&self, paths: &[String]) -> Result<Cargo, SandboxFault> {
        files::carry(&self.connection, paths).await
    }

    /// Places what another sandbox carried, after these absolute paths are cleared away.
    ///
    /// # Errors
    /// Something cannot be placed, or the program inside is gone.
    pub async fn unload(&self, absent: &[String], cargo: &Cargo) -> Result<(), SandboxFault> {
        files::unload(&self.connection, absent, cargo).await
    }

    /// What stands at these absolute paths, in their order; none where there is nothing.
    ///
    /// # Errors
    /// A file cannot be read, or the program inside is gone.
    pub async fn look(&self, paths: &[String]) -> Result<Vec<Option<Looked>>, SandboxFault> {
        files::look(&self.connection, paths, self.origin_ns).await
    }

    /// Everything below an absolute path by its absolute path, other mounts left out; nothing if there is no directory.
    ///
    /// # Errors
    /// A file cannot be read, or the program inside is gone.
    pub async fn walk(&self, path: &str) -> Result<Vec<(String, Looked)>, SandboxFault> {
        files::walk(&self.connection, path, self.origin_ns).await
    }

    /// What directories hold by their absolute paths, other mounts left out; none where there is no directory.
    ///
    /// # Errors
    /// A directory cannot be read, or the program inside is gone.
    pub async fn list(&self, paths: &[String]) -> Result<Vec<Option<Vec<Listed>>>, SandboxFault> {
        files::list(&self.connection, paths).await
    }

    /// What the process log has seen since the last call. Once the program inside is gone: what had arrived, marked
    /// overflown.
    ///
    /// # Errors
    /// The program inside does not answer.
    pub async fn taken(&self, turn: Turn) -> Result<Taken, SandboxFault> {
        if self.is_recording {
            match self.done(Question::Sync).await {
                // The log itself says that something is missing.
                Ok(_) | Err(SandboxFault::Lost(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut taken = self.connection.log().take(turn, self.origin_ns);
        taken.is_overflown |= self.is_recording && self.is_lost();
        Ok(taken)
    }
}
