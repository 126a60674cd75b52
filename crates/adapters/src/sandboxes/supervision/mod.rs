//! What watches over a sandbox from within, whatever the sandbox is made of: the process log, the launcher of commands,
//! and how they talk to each other.

pub(crate) mod capabilities;
pub(crate) mod channel;
pub(crate) mod command;
pub(crate) mod cut;
pub(crate) mod descriptors;
pub(crate) mod directory;
pub(crate) mod launcher;
pub(crate) mod names;
pub(crate) mod placement;
pub(crate) mod process_log;
pub(crate) mod program_log;
pub(crate) mod protocol;
pub(crate) mod seccomp;
pub(crate) mod sweep;
pub(crate) mod tracee;
