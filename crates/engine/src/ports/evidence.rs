//! All that a check sees ([`Evidence`]): the tree at a state, content, recorded events, and throw-away runs.
//!
//! Contract. The engine builds one for each look; nothing in it changes while checks read. Two checks never
//! see each other's runs: each run gets a fork of its own that is dropped when the run has ended. Paths are
//! absolute inside the sandbox. Everything is read from outside; links are not followed. A fault means that
//! the world broke and nothing can be said of any check.

use domain::{
    acceptance::{Look, glob::Globs},
    evidence::{Manifest, Recorded},
    ids::Turn,
};

use super::sandbox::{CommandSpec, FileEntry, FileNode, Finished, SandboxFault};

/// A state of the sandbox's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateAt {
    /// Before the first message.
    Base,
    /// After a turn; [`Turn::BASE`] is the base.
    After(Turn),
    /// The state that is looked at: the end of the turn or the seal.
    Look,
}

/// A command in a fork of its own, without network and process log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedRun {
    /// What the fork holds.
    pub of: ForkOf,
    /// Files placed before the command starts.
    pub placed: Vec<Placed>,
    /// The command; no working directory means the task's.
    pub command: CommandSpec,
}

/// What a fork holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkOf {
    /// The whole state that is looked at, whatever the agent did to it.
    Look,
    /// The pristine base with the changes at or below these paths of the looked-at state laid over it.
    BaseWith(Vec<String>),
}

/// Files placed below a directory of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The absolute directory; made if absent.
    pub directory: String,
    /// What is placed there.
    pub files: Vec<FileEntry>,
}

/// The evidence of one session at one look.
#[async_trait::async_trait]
pub trait Evidence: Send + Sync {
    /// At which moment it is looked.
    fn look(&self) -> Look;

    /// Events of all channels up to the look, the working directory among them.
    fn recorded(&self) -> &Recorded;

    /// The pair's `checks/` folder, paths relative to it.
    fn check_files(&self) -> &[FileEntry];

    /// Every path that differs from the base at a state: empty for the base, none if the state was not kept.
    fn tree(&self, at: StateAt) -> Option<&Manifest>;

    /// Regular files and links that exist at a state and fit a pattern, in order of paths.
    ///
    /// Answered for the base and the look; another state is a fault of the caller and lists nothing.
    async fn list(&self, at: StateAt, globs: &Globs) -> Result<Vec<String>, SandboxFault>;

    /// What stands at a path at the base or the look, with its permission bits; none if nothing does.
    async fn read(&self, at: StateAt, path: &str) -> Result<Option<(FileNode, u32)>, SandboxFault>;

    /// Runs a command in a fork of its own.
    async fn run(&self, run: &ForkedRun) -> Result<Finished, SandboxFault>;
}
