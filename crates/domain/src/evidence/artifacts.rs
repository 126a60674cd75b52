//! What a task keeps beside its result ([`Collected`]): paths of the end state, and the commands that were run before
//! they were taken.

use alloc::{string::String, vec::Vec};

use crate::ids::Hash;

/// What was taken from an end state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Commands that were run before, in order.
    pub hooks: Vec<HookRun>,
    /// Every declared path, in order.
    pub artifacts: Vec<KeptArtifact>,
}

/// A command that was run before artifacts were taken; that it failed keeps nothing from being taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRun {
    /// The shell's command line.
    pub command: String,
    /// How it ended, in words.
    pub ended: String,
    /// The end of what it printed.
    pub output: String,
}

/// A declared path and what was taken of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptArtifact {
    /// The path inside, as declared.
    pub source: String,
    /// Where it is kept, below the artifacts' folder.
    pub destination: String,
    /// The service that holds it.
    pub service: String,
    /// Globs of what was left out.
    pub exclude: Vec<String>,
    /// What became of it.
    pub state: KeptState,
    /// What is kept of it: a file has one entry with an empty path.
    pub files: Vec<KeptFile>,
    /// Links and special files below it that were left out, because they mean nothing elsewhere.
    pub left_out: Vec<String>,
}

/// What became of a declared path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptState {
    /// It was a file.
    File,
    /// It was a directory.
    Directory,
    /// It was a directory that held nothing.
    Empty,
    /// Its place in the folder was taken by an earlier one; it was carried, not kept.
    Skipped,
    /// It could not be taken; why.
    Failed(String),
}

/// A path that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// Below its artifact.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// What it is.
    pub node: KeptNode,
}

/// The content of a [`KeptFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptNode {
    /// A regular file: the blob of its content, and its size in bytes.
    File(Hash, u64),
    /// A directory.
    Directory,
    /// A link that stays within its artifact, with its target.
    Link(String),
}
