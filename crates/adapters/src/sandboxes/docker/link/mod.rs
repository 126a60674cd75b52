//! The harness's end of the program in a container: [`Link`] carries the sandbox's verbs over two byte streams.

mod types;

use std::time::Duration;

use domain::ids::Turn;
use engine::ports::sandbox::{FileEntry, Finished, SandboxFault, Started};
use tokio::io::{AsyncRead, AsyncWrite};

pub use types::{Count, Launch, Looked, Setup, Taken};

/// The argument that turns a binary into the program inside a container; the original command follows after `--`.
pub const INSIDE_ARGUMENT: &str = "__container";

/// A living program in a container; clones share it, and when the last one goes the streams are closed.
#[derive(Clone, Debug)]
pub struct Link {
    origin_ns: i64,
    is_recording: bool,
}

fn not_yet<T>() -> Result<T, SandboxFault> {
    Err(SandboxFault::Unsupported("the program in the container is being written".into()))
}

impl Link {
    /// Over the attached streams; sends the setup and waits until the image's own command runs.
    ///
    /// # Errors
    /// The original command cannot be run ([`SandboxFault::Setup`]), or the other end is gone.
    pub async fn open(
        _reader: impl AsyncRead + Send + Unpin + 'static,
        _writer: impl AsyncWrite + Send + Unpin + 'static,
        _setup: &Setup,
    ) -> Result<Link, SandboxFault> {
        not_yet()
    }

    /// The container kernel's wall clock when the image's own command ran.
    pub fn origin_ns(&self) -> i64 {
        self.origin_ns
    }

    /// Kernel time now, in milliseconds since the origin.
    pub fn now_ms(&self) -> i64 {
        0
    }

    /// Whether the process log is taken: asked for and allowed by the engine.
    pub fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Whether the program inside is gone; then every verb fails with [`SandboxFault::Lost`].
    pub fn is_lost(&self) -> bool {
        true
    }

    /// Runs a command to its end; each output keeps `output_max` bytes of head and tail.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn exec(
        &self,
        _launch: &Launch,
        _stdin: Vec<u8>,
        _timeout: Duration,
        _output_max: usize,
    ) -> Result<Finished, SandboxFault> {
        not_yet()
    }

    /// Starts a command and hands out its streams.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn start(&self, _launch: &Launch) -> Result<Started, SandboxFault> {
        not_yet()
    }

    /// Kills a command's process group and every descendant of its leader.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn kill(&self, _pid: u32) -> Result<(), SandboxFault> {
        not_yet()
    }

    /// Kills every process but pid 1 and ours; returns once they are proved dead.
    ///
    /// # Errors
    /// They do not die, or the program inside is gone.
    pub async fn kill_all(&self) -> Result<(), SandboxFault> {
        not_yet()
    }

    /// Stops every process; returns once they are proved quiet.
    ///
    /// # Errors
    /// They do not stop, or the program inside is gone.
    pub async fn stop(&self) -> Result<Count, SandboxFault> {
        not_yet()
    }

    /// Continues what [`Link::stop`] stopped.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn go_on(&self) -> Result<(), SandboxFault> {
        not_yet()
    }

    /// Counts processes and processor time.
    ///
    /// # Errors
    /// The program inside is gone or does not answer.
    pub async fn count(&self) -> Result<Count, SandboxFault> {
        not_yet()
    }

    /// Places files below an absolute directory, by the contract of the port's `put`.
    ///
    /// # Errors
    /// A file cannot be placed, or the program inside is gone.
    pub async fn put(&self, _directory: &str, _files: &[FileEntry]) -> Result<(), SandboxFault> {
        not_yet()
    }

    /// Everything below an absolute path, by the contract of the port's `get`.
    ///
    /// # Errors
    /// A file cannot be read, or the program inside is gone.
    pub async fn read(&self, _path: &str) -> Result<Option<Vec<FileEntry>>, SandboxFault> {
        not_yet()
    }

    /// What stands at these absolute paths, in their order; none where there is nothing.
    ///
    /// # Errors
    /// A file cannot be read, or the program inside is gone.
    pub async fn look(&self, _paths: &[String]) -> Result<Vec<Option<Looked>>, SandboxFault> {
        not_yet()
    }

    /// Everything below an absolute path by its absolute path, other mounts left out.
    ///
    /// # Errors
    /// A file cannot be read, or the program inside is gone.
    pub async fn walk(&self, _path: &str) -> Result<Vec<(String, Looked)>, SandboxFault> {
        not_yet()
    }

    /// What the process log has seen since the last call. Once the program inside is gone: what had arrived, marked
    /// overflown.
    ///
    /// # Errors
    /// The program inside does not answer.
    pub async fn taken(&self, _turn: Turn) -> Result<Taken, SandboxFault> {
        not_yet()
    }
}
