//! What the harness tells the local supervisor once: [`Setup`].

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The argument that turns a binary into the supervisor.
pub const SUPERVISOR_ARGUMENT: &str = "__sandbox";

/// Descriptor of the request socket in the supervisor.
pub(super) const CONTROL_FD: i32 = 3;
/// Descriptor of the log stream in the supervisor; its end of file is the lifeline.
pub(super) const LOG_FD: i32 = 4;

/// Everything the supervisor needs to build the namespaces.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// The session's directory: paths of mounts are relative to it, so that no host path shows inside.
    pub session: PathBuf,
    /// Overlays in order of mounting; the first one is `/`.
    pub overlays: Vec<OverlayMount>,
    /// Empty directories in memory, mounted over the overlays, each with its size in MiB.
    pub memory: Vec<(String, u64)>,
    /// `cgroup.procs` files that every command joins.
    pub cgroup_procs: Vec<PathBuf>,
    /// The file that thaws the tree, with the word to write.
    pub thaw: Option<(PathBuf, String)>,
    /// Whether the process log is taken.
    pub record: bool,
    /// Per-process limits.
    pub rlimits: Rlimits,
}

/// One overlay of the root view.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OverlayMount {
    /// Absolute target inside.
    pub target: String,
    /// Mount options with paths relative to the session's directory.
    pub options: String,
    /// Mounted read-only (toolchains).
    pub read_only: bool,
}

/// Limits that hold for each process rather than for the tree.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rlimits {
    /// Private writable memory in bytes (`RLIMIT_DATA`).
    pub data_bytes: Option<u64>,
    /// Processes of the user namespace (`RLIMIT_NPROC`).
    pub processes: Option<u64>,
    /// Largest file in bytes (`RLIMIT_FSIZE`).
    pub file_bytes: Option<u64>,
}
