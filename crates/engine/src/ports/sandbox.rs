//! Where an agent works: [`Sandboxes`] makes bases and sandboxes, [`Sandbox`] is one of them.
//!
//! Contract. A base is what many sessions share and never changes once made. A sandbox sees an allow-list of
//! the host and its base, never the release, the run, a home or a secret. Dropping a sandbox kills every
//! process in it; [`Sandbox::end`] proves it. A command that fails, is killed by a limit or runs out of time
//! is an outcome ([`Finished`]); a [`SandboxFault`] means that the world broke and nothing can be said of the
//! command.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use domain::{
    evidence::{Channel, Manifest, NetTransport, ProcessEvent},
    ids::Hash,
};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

/// Which implementer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxKind {
    /// Virtual time and a virtual tree.
    Simulated,
    /// Namespaces of the host's kernel, no daemon.
    Local,
    /// A Docker engine.
    Docker,
}

/// Why the world, not the agent, stopped a sandbox verb.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SandboxFault {
    /// The host cannot make such a sandbox; the text says what to change.
    #[error("this host cannot make a sandbox: {0}")]
    Unsupported(String),
    /// The base could not be made from the task's environment.
    #[error("environment setup failed: {0}")]
    Setup(String),
    /// The sandbox or its supervisor vanished.
    #[error("sandbox lost: {0}")]
    Lost(String),
    /// The host ran out of disk, memory or processes (not the sandbox's own limits).
    #[error("host limit reached: {0}")]
    HostLimit(String),
    /// A verb did not come back in its bounded time.
    #[error("sandbox verb timed out: {0}")]
    TimedOut(String),
}

/// What a host and this implementer can enforce and see; stands in the run's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Channels that the sandbox gives.
    pub channels: Vec<Channel>,
    /// Limits that hold for the whole process tree.
    pub enforced: Vec<LimitKind>,
    /// Plain sentences about what this host cannot enforce and what to change.
    pub shortfalls: Vec<String>,
    /// Whether sessions run as the host's root.
    pub is_root: bool,
}

/// A limit that a sandbox can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKind {
    /// Memory of the whole tree.
    Memory,
    /// Number of processes.
    Processes,
    /// Bytes written to disk.
    Disk,
    /// Share of processor.
    Cpu,
}

/// Limits of a sandbox; `None` means the implementer's default.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Memory of the whole tree in MiB.
    pub memory_mb: Option<u64>,
    /// Processes at once.
    pub processes_max: Option<u64>,
    /// Written data in MiB, `/tmp` included.
    pub disk_mb: Option<u64>,
    /// Processors; fractions allowed.
    pub cpus: Option<f64>,
    /// Graphics processors, which only some implementers can give.
    pub gpus: u32,
    /// What of the network is reached.
    pub network: Network,
}

/// One file, directory or link to be placed in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Path relative to where the tree is placed, forward slashes, no `..`.
    pub path: String,
    /// What it is.
    pub node: FileNode,
    /// Permission bits.
    pub mode: u32,
}

/// The content of a [`FileEntry`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNode {
    /// A regular file with its bytes.
    File(Vec<u8>),
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Link(String),
    /// The path is to be absent: what stands there is removed.
    Absent,
}

/// What a base is made of; its digest names it.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseSpec {
    /// Digest over everything below; equal digest, equal base.
    pub digest: Hash,
    /// Where the root comes from.
    pub image: Image,
    /// The task's `environment/` without the Dockerfile: without an image placed at `/environment` while `setup.sh`
    /// runs, with a Dockerfile its build context, with a named image placed in the working directory.
    pub environment: Vec<FileEntry>,
    /// Absolute working directory inside, made if the setup does not; empty means that of the image.
    pub workdir: String,
    /// Environment variables of the setup and of every later command.
    pub env: BTreeMap<String, String>,
    /// Host toolchains that the task declares, for instance `cargo`; mounted read-only, on `PATH`.
    pub toolchains: Vec<String>,
    /// Time limit of the setup.
    pub setup_timeout: Duration,
    /// Limits during the setup.
    pub limits: Limits,
}

/// Where the root of a base comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// The host's own system; for implementers that need no image.
    None,
    /// Built from this Dockerfile.
    Dockerfile(Vec<u8>),
    /// An image by its name, made beforehand.
    Named(String),
}

/// What of the network a sandbox reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing but itself.
    #[default]
    Off,
    /// Whatever the host reaches.
    Public,
}

/// A base that was made, by an implementer's own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The digest of the [`BaseSpec`].
    pub digest: Hash,
    /// Absolute working directory inside.
    pub workdir: String,
    /// Versions of the toolchains found on the host, for the run's record.
    pub toolchain_versions: BTreeMap<String, String>,
}

/// A command to run inside a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// Program and arguments; the program is looked up on the sandbox's `PATH`.
    pub argv: Vec<String>,
    /// Working directory; none means the base's.
    pub cwd: Option<String>,
    /// Variables on top of the base's.
    pub env: BTreeMap<String, String>,
    /// Who runs it, as Docker writes users (`name`, `uid`, `uid:gid`); none means the base's own.
    pub user: Option<String>,
    /// What stands on standard input.
    pub stdin: Vec<u8>,
    /// After this the command's process group is killed.
    pub timeout: Duration,
    /// Each of stdout and stderr is cut after so many bytes (head and tail kept).
    pub output_max: usize,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited by itself.
    Exited(i32),
    /// A signal killed it.
    Signalled(i32),
    /// The memory limit of the sandbox killed it.
    OutOfMemory,
    /// Its time ran out and it was killed.
    TimedOut,
    /// The program does not exist or cannot be executed.
    NotStarted,
}

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// Standard output, possibly cut.
    pub stdout: Vec<u8>,
    /// Standard error, possibly cut.
    pub stderr: Vec<u8>,
    /// Time from start to end.
    pub took: Duration,
}

impl Finished {
    /// Whether it exited with 0.
    pub fn is_success(&self) -> bool {
        self.ended == Ended::Exited(0)
    }
}

/// A started command whose streams the caller owns (drivers of real agents).
pub struct Started {
    /// To the command.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// From the command.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// Resolves when the command has ended.
    pub ended: tokio::sync::oneshot::Receiver<Ended>,
    /// Process group leader inside the sandbox, for [`Sandbox::kill`].
    pub pid: u32,
}

/// The state at a freeze: the manifest against the base, and what the process log has seen since the last one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// E1: every path that differs from the base.
    pub manifest: Manifest,
    /// E3: programs that were started since the last capture, with `turn` as given to [`Sandbox::capture`].
    pub processes: Vec<ProcessEvent>,
    /// Programs of earlier captures that have ended since: pid, start, end, exit code.
    pub ended: Vec<ProcessEnd>,
    /// More events than the cap allows were dropped.
    pub overflow: bool,
    /// Processor time of the tree in milliseconds since the sandbox began, if the host counts it.
    pub cpu_ms: Option<u64>,
    /// Processes alive at the freeze, the sandbox's own supervisor not counted.
    pub alive: u32,
    /// Bytes written to disk.
    pub disk_bytes: u64,
    /// A limit of the sandbox was hit since the last capture.
    pub limits_hit: Vec<LimitKind>,
}

/// The end of a program that an earlier capture reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEnd {
    /// Process id inside.
    pub pid: u32,
    /// Its start, to tell reused ids apart.
    pub started_ms: i64,
    /// When it exited.
    pub ended_ms: i64,
    /// Exit code if it exited by itself.
    pub exit_code: Option<i32>,
}

/// What programs of a sandbox try to reach outside, as it arrives at the sandbox's own edge.
///
/// Every connection, datagram and packet to an address that is not the sandbox's loopback arrives, whatever its
/// address. Streams come from the ports that were asked for and datagrams from port 53, to every address, the
/// loopback's too; everything else is refused by the sandbox's network at once.
#[async_trait::async_trait]
pub trait Doorway: Send {
    /// Waits for what arrives next; none once the sandbox is dead and its network gone. Nothing is lost if the wait is
    /// given up.
    async fn next(&mut self) -> Option<Arrival>;

    /// Everything that has arrived until now and was not handed out. Of a frozen or dead sandbox it is complete.
    async fn settle(&mut self) -> Result<Vec<Arrival>, SandboxFault>;
}

/// Something that arrived at a [`Doorway`].
pub enum Arrival {
    /// A connection, accepted.
    Stream(ArrivedStream),
    /// A datagram to port 53.
    Datagram(ArrivedDatagram),
    /// A packet that was refused.
    Packet(ArrivedPacket),
    /// So many packets could not be looked at.
    Missed(u64),
}

/// An accepted connection.
pub struct ArrivedStream {
    /// When it began, in milliseconds since the sandbox's origin.
    pub at_ms: i64,
    /// Where the program meant it to go.
    pub to: SocketAddr,
    /// Both directions.
    pub stream: Box<dyn Duplex>,
}

/// Sends one datagram to whoever sent the one that it answers.
pub type DatagramReply = Box<dyn FnOnce(&[u8]) + Send>;

/// A datagram with the way back to who sent it.
pub struct ArrivedDatagram {
    /// When it was sent, in milliseconds since the sandbox's origin.
    pub at_ms: i64,
    /// Where the program meant it to go.
    pub to: SocketAddr,
    /// What it says.
    pub bytes: Vec<u8>,
    /// Sends one datagram back, from where the first was meant to go; a sandbox that is gone takes none.
    pub reply: DatagramReply,
}

/// A packet that the sandbox's network refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrivedPacket {
    /// When it was sent, in milliseconds since the sandbox's origin.
    pub at_ms: i64,
    /// Where it was to go.
    pub to: IpAddr,
    /// Its port, 0 if it has none.
    pub port: u16,
    /// Its protocol.
    pub transport: NetTransport,
}

/// A stream with two directions.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Makes bases and sandboxes.
#[async_trait::async_trait]
pub trait Sandboxes: Send + Sync {
    /// Which implementer this is.
    fn kind(&self) -> SandboxKind;

    /// What this host can enforce and see. Probes at most once.
    async fn capabilities(&self) -> Result<Capabilities, SandboxFault>;

    /// Makes a base, or finds the one already made from the same digest.
    async fn materialise(&self, spec: &BaseSpec) -> Result<Base, SandboxFault>;

    /// A new sandbox on a base. Processes are recorded if `record` says so.
    async fn provision(
        &self,
        base: &Base,
        limits: &Limits,
        record: Recording,
    ) -> Result<Box<dyn Sandbox>, SandboxFault>;
}

/// Whether the process log is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// For sessions.
    Processes,
    /// For throw-away forks and verification.
    Nothing,
}

/// One sandbox.
#[async_trait::async_trait]
pub trait Sandbox: Send + Sync {
    /// Kernel time now, in milliseconds since this sandbox's origin, on the clock of its events.
    fn now_ms(&self) -> i64;

    /// Runs a command to its end.
    async fn exec(&self, command: &CommandSpec) -> Result<Finished, SandboxFault>;

    /// Starts a command and hands out its streams; `timeout` and `stdin` of the spec are not used.
    async fn start(&self, command: &CommandSpec) -> Result<Started, SandboxFault>;

    /// Sends SIGKILL to a process group inside, and to every descendant of its leader.
    async fn kill(&self, pid: u32) -> Result<(), SandboxFault>;

    /// Places files below an absolute directory, owned by root inside, modes as given. Missing parents are made
    /// with mode 755; directories that exist and are not listed keep theirs.
    async fn put(&self, directory: &str, files: &[FileEntry]) -> Result<(), SandboxFault>;

    /// Reads everything below an absolute path (a file gives one entry with an empty path); none if absent.
    ///
    /// Read from outside: no program of the sandbox takes part, links are not followed.
    async fn get(&self, path: &str) -> Result<Option<Vec<FileEntry>>, SandboxFault>;

    /// One path as the pristine base has it, with a file's content and nothing below a directory (entry with
    /// an empty path); none if the base lacks it. Read from outside.
    async fn base(&self, path: &str) -> Result<Option<FileEntry>, SandboxFault>;

    /// Everything that the setup added to or changed in what the host gives every base, wherever it lies: entries
    /// with absolute paths, in their order. What it removed is not told. Read from outside.
    async fn base_written(&self) -> Result<Vec<FileEntry>, SandboxFault>;

    /// Stops every process; on return the tree is proved quiet.
    async fn freeze(&self) -> Result<(), SandboxFault>;

    /// Lets them go on.
    async fn thaw(&self) -> Result<(), SandboxFault>;

    /// Takes manifest and process log from outside; only while frozen.
    ///
    /// Content hashes are kept for files whose size, ctime and inode did not change since the last capture.
    async fn capture(&self, turn: domain::ids::Turn) -> Result<Capture, SandboxFault>;

    /// A throw-away sandbox that sees this one's state as it is now; only while frozen, ended before the thaw.
    /// Without process log, with its own limits.
    async fn fork(&self, limits: &Limits) -> Result<Box<dyn Sandbox>, SandboxFault>;

    /// A new sandbox on the pristine base with this one's changes below `paths` laid over it (deletions too).
    /// `paths` = `["/"]` takes every change. Only while frozen or after every process is dead.
    async fn restore(
        &self,
        paths: &[String],
        limits: &Limits,
    ) -> Result<Box<dyn Sandbox>, SandboxFault>;

    /// Cuts what it reaches of the network beside itself, for what runs and for what is started later. Whether it is
    /// frozen does not matter.
    async fn cut_network(&self) -> Result<(), SandboxFault>;

    /// Opens the sandbox's edge: from now on its programs find every address of the world behind their own network,
    /// and whatever they try arrives here. Connections are accepted on these ports; at most once for a sandbox.
    ///
    /// # Errors
    /// [`SandboxFault::Unsupported`] if its network is not closed, or this implementer cannot see into it.
    async fn doorway(&self, ports: &[u16]) -> Result<Box<dyn Doorway>, SandboxFault>;

    /// Kills every process and answers once the tree is proved dead; the file state stays readable by
    /// [`Sandbox::get`], [`Sandbox::fork`] and [`Sandbox::restore`] until the sandbox is dropped.
    async fn end(&self) -> Result<(), SandboxFault>;
}
