//! What a harness and the programs that watch over a sandbox say to each other: [`Request`] and [`Reply`] with the
//! launcher of commands, and [`LogRecord`] from the process log.

use std::collections::BTreeMap;

use engine::ports::sandbox::{Ended, FileEntry, FileNode};
use serde::{Deserialize, Serialize};

/// Longest message on the request socket; longer payloads travel in a memory file.
pub(crate) const MESSAGE_MAX: usize = 64 * 1024;

/// What is asked of the launcher; `id` comes back in the reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Start a command. Descriptors: memory file with a [`Launch`], stdin, stdout, stderr.
    Exec { id: u64 },
    /// Kill a process group and every descendant of its leader.
    Kill { id: u64, pid: u32 },
    /// Place files. Descriptor: memory file with a [`Placement`].
    Put { id: u64 },
    /// Stop every process by signal until the tree is quiet.
    Stop { id: u64 },
    /// Continue what the last `Stop` stopped.
    Continue { id: u64 },
    /// Count processes and their processor time.
    Count { id: u64 },
    /// Kill every process but init.
    KillAll { id: u64 },
    /// Open the edge of the network with listeners on these ports.
    Doorway { id: u64, ports: Vec<u16> },
}

/// A command to start, inside terms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// Who runs it: `name`, `uid`, `uid:gid` or `name:group`; none is root. `HOME` is then added if it is missing.
    pub user: Option<String>,
}

/// The head of a placement; the bytes of its files follow it in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Placement {
    /// Absolute directory.
    pub directory: String,
    /// What to place.
    pub nodes: Vec<PlacedNode>,
}

impl Placement {
    /// The head for these files, and their bytes in its order.
    pub(crate) fn of<'f>(directory: &str, files: &'f [FileEntry]) -> (Self, Vec<&'f [u8]>) {
        let mut nodes = Vec::new();
        let mut bodies: Vec<&[u8]> = Vec::new();
        for file in files {
            let kind = match &file.node {
                FileNode::File(bytes) => {
                    bodies.push(bytes);
                    PlacedKind::File(bytes.len() as u64)
                }
                FileNode::Directory => PlacedKind::Directory,
                FileNode::Link(target) => PlacedKind::Link(target.clone()),
                FileNode::Absent => PlacedKind::Absent,
            };
            nodes.push(PlacedNode { path: file.path.clone(), mode: file.mode, kind, kept: None });
        }
        (Self { directory: directory.to_owned(), nodes }, bodies)
    }
}

/// One node of a placement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlacedNode {
    /// Path relative to the directory.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// What it is.
    pub kind: PlacedKind,
    /// Whose it stays and of when; without it it is root's and of now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

/// What a node keeps that is carried from one sandbox to another.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Owner inside.
    pub uid: u32,
    /// Group inside.
    pub gid: u32,
    /// When its content was written, in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// What a placed node is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum PlacedKind {
    /// A file of so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A link with its target.
    Link(String),
    /// Nothing may stand there.
    Absent,
}

/// What supervisor and init answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The root view stands; `origin_ns` is the kernel's wall clock at that moment.
    Ready { origin_ns: i64 },
    /// The namespaces could not be made.
    Refused(Refusal),
    /// A command runs.
    Started { id: u64, pid: u32 },
    /// A command could not be started or files could not be placed.
    Failed { id: u64, reason: String },
    /// A started command has ended, with the status of `waitpid`.
    Ended { id: u64, status: i32 },
    /// The request was carried out.
    Done { id: u64, count: Count },
    /// The edge of the network was opened. Descriptors: its sockets.
    Doorway { id: u64 },
}

/// Processes of the tree, the supervisor's own not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Processes alive.
    pub alive: u32,
    /// Processor time in milliseconds of all processes, dead ones that were reaped included.
    pub cpu_ms: u64,
}

/// Why the namespaces could not be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// Which step failed.
    pub step: Step,
    /// What was tried.
    pub what: String,
    /// The system's error number, 0 if there is none.
    pub errno: i32,
}

/// A step of the setup, so that a refusal can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Making the namespaces.
    Namespaces,
    /// Writing the id maps.
    IdMaps,
    /// Mounting an overlay.
    Overlay,
    /// Mounting a fresh `/proc`.
    Proc,
    /// Installing the process log.
    ProcessLog,
    /// Anything else.
    Other,
}

/// A line of the process log, all ids and paths as seen inside, times in nanoseconds of the kernel's wall clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LogRecord {
    /// A program was started by a successful `execve`.
    Started(Program),
    /// A process that ran a recorded program ended or went on to another program.
    Ended { pid: u32, started_ns: i64, ended_ns: i64, exit_code: Option<i32> },
    /// Everything up to the question with this number has been sent.
    Synced(u8),
    /// Init and with it every process of the namespace is dead.
    Gone,
}

/// A program that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    /// Process id inside.
    pub pid: u32,
    /// Parent's process id inside.
    pub parent: u32,
    /// User id inside.
    pub uid: u32,
    /// When the call was made.
    pub started_ns: i64,
    /// Resolved absolute path.
    pub program: String,
    /// Arguments, cut.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: String,
}

/// Nanoseconds of the kernel's wall clock, the clock of `ctime` and of the process log.
pub(crate) fn realtime_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The end of a command by its status of `waitpid`.
pub(crate) fn ended_by(status: i32) -> Ended {
    match libc::WIFEXITED(status) {
        true => Ended::Exited(libc::WEXITSTATUS(status)),
        false => Ended::Signalled(libc::WTERMSIG(status)),
    }
}
