//! What a caller of the link says and hears: [`Setup`], [`Launch`], [`Looked`], [`Count`], [`Taken`].

use std::collections::BTreeMap;

use domain::{
    evidence::{FileKind, ProcessEvent},
    ids::Hash,
};
use engine::ports::sandbox::ProcessEnd;
use serde::{Deserialize, Serialize};

/// What the program in the container is told once, before anything of the image runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Whether the process log is taken.
    pub record: bool,
    /// Numbers of the capabilities that commands and the image's own processes keep.
    pub keep_capabilities: Vec<u32>,
    /// User of the original command: `name`, `uid`, `uid:gid` or `name:group`; none is root.
    pub user: Option<String>,
    /// Working directory of the original command.
    pub cwd: String,
    /// The whole environment of the original command.
    pub env: BTreeMap<String, String>,
}

/// A command to start, inside terms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// The whole environment; `HOME` is added from the user's entry if it is missing.
    pub env: BTreeMap<String, String>,
    /// As in [`Setup::user`].
    pub user: Option<String>,
}

/// What stands at a path, links not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// What it is.
    pub kind: FileKind,
    /// Permission bits including setuid, setgid and sticky.
    pub mode: u32,
    /// Owner inside.
    pub uid: u32,
    /// Size in bytes; 0 for what has no content.
    pub size: u64,
    /// Kernel change time in milliseconds since the origin.
    pub ctime_ms: i64,
    /// Hash of a regular file's content.
    pub hash: Option<Hash>,
    /// Target of a link.
    pub link_target: Option<String>,
}

/// Processes of the container, ours not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Processes alive.
    pub alive: u32,
    /// Processor time in milliseconds, reaped descendants of commands included.
    pub cpu_ms: u64,
}

/// What the process log has seen since it was last asked.
#[derive(Debug, Default)]
pub struct Taken {
    /// Programs that were started.
    pub processes: Vec<ProcessEvent>,
    /// Ends of programs that were handed out before.
    pub ended: Vec<ProcessEnd>,
    /// Something is missing: there was too much of it, or the program inside is gone.
    pub is_overflown: bool,
}
