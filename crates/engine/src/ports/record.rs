//! The journal and blobs of one session: [`Record`].
//!
//! Contract. An appended entry survives the process when `append` returns, the host when `sync` returns. A
//! failed `append` leaves the journal as it was, so that the same entry may be tried once more. Blobs are
//! written once under the hash of their bytes; putting the same bytes again is no error.

use std::collections::BTreeMap;

use domain::{
    evidence::{
        AgentMessage, Change, Collected, FileDiff, Manifest, ModelCall, NetAttempt, ProcessEvent,
        UserWords,
    },
    ids::{Hash, Turn},
    session::Entry,
};
use thiserror::Error;

/// Why something could not be kept.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("record could not be written: {0}")]
pub struct RecordError(pub String);

/// A payload that enters the log by its hash.
#[derive(Clone, Copy, Debug)]
pub enum Blob<'a> {
    /// The paths that differ from the base (E1).
    Manifest(&'a Manifest),
    /// File changes of a turn (E1 as events).
    Changes(&'a [Change]),
    /// Line differences by the turn that they count from (E2).
    Diffs(&'a BTreeMap<Turn, Vec<FileDiff>>),
    /// Programs started in a turn, and those of earlier turns whose end was seen in it (E3).
    Processes(&'a [ProcessEvent]),
    /// Network attempts of a turn (E4).
    Network(&'a [NetAttempt]),
    /// The agent's calls of its model since the capture before (E9).
    Calls(&'a [ModelCall]),
    /// What the agent said in a turn (E5).
    Messages(&'a [AgentMessage]),
    /// What the user said (E5).
    UserWords(&'a [UserWords]),
    /// What the sealed state is made of.
    Seal(&'a Seal),
    /// What was kept beside the result.
    Artifacts(&'a Collected),
    /// Plain bytes: a file's content, a program's output.
    Bytes(&'a [u8]),
}

/// What a sealed state is made of, on top of its base.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seal {
    /// Digest of the base.
    pub base: Option<Hash>,
    /// Every path that differs from the base; the content of regular files is kept as blobs under their hashes.
    pub manifest: Manifest,
    /// Regular files whose content could not be kept, by path, and why.
    pub unkept: BTreeMap<String, String>,
}

/// Journal and blobs of one session.
pub trait Record: Send + Sync {
    /// Writes one entry.
    fn append(&self, entry: &Entry) -> Result<(), RecordError>;

    /// Makes everything appended survive the host.
    fn sync(&self) -> Result<(), RecordError>;

    /// Keeps a payload and names it. A [`Blob::Seal`] is kept as the attempt's seal too.
    fn put(&self, blob: Blob<'_>) -> Result<Hash, RecordError>;
}

/// What an earlier record kept, by hash; the counterpart of [`Record::put`].
pub trait Archive: Send + Sync {
    /// A manifest.
    fn manifest(&self, hash: &Hash) -> Result<Manifest, RecordError>;

    /// File changes of a turn.
    fn changes(&self, hash: &Hash) -> Result<Vec<Change>, RecordError>;

    /// Programs of a turn.
    fn processes(&self, hash: &Hash) -> Result<Vec<ProcessEvent>, RecordError>;

    /// Network attempts of a turn.
    fn network(&self, hash: &Hash) -> Result<Vec<NetAttempt>, RecordError>;

    /// What the agent said in a turn.
    fn messages(&self, hash: &Hash) -> Result<Vec<AgentMessage>, RecordError>;

    /// Plain bytes.
    fn bytes(&self, hash: &Hash) -> Result<Vec<u8>, RecordError>;
}
