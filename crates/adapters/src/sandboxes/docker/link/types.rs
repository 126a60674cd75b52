//! What a caller of the link says and hears: [`Setup`] and [`Looked`].

use std::collections::BTreeMap;

use domain::{evidence::FileKind, ids::Hash};
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
