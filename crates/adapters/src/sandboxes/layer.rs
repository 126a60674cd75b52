//! What an agent brings along into a sandbox ([`AgentLayer`]): its program, mounted read-only beside the system and never part of
//! it, and an empty home of its own that goes with the sandbox.

use std::path::PathBuf;

/// Where the programs of an agent stand inside: among the devices, where no base has files that count, so that neither layer nor home
/// is ever a difference from the base.
pub const AGENT_FOLDER: &str = "/dev/.agent";

/// The home of an agent inside: empty at first, for everybody to write, in memory, gone with the sandbox.
pub const AGENT_HOME: &str = "/dev/.agent/home";

/// The folder of a layer over which the home is mounted.
pub const HOME_IN_LAYER: &str = "home";

/// The most that an agent writes into its home, in MiB.
pub(super) const HOME_MAX_MB: u64 = 1024;

/// An agent's programs on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentLayer {
    /// The folder that holds them, with an empty folder [`HOME_IN_LAYER`] in it; it never changes.
    pub folder: PathBuf,
    /// What names its content.
    pub digest: String,
}
