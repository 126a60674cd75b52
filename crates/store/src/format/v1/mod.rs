//! Format 1: JSON, one document or one line each; enums externally tagged, names in snake case, nothing flattened.

mod evidence;
mod plan;
mod records;
mod result;
mod schema;
mod session;
mod trajectory;
mod wire;
mod words;

pub(crate) use evidence::{
    AgentMessage, Change, Collected, FileDiff, Manifest, ModelCall, NetAttempt, ProcessEvent,
    UserWords,
};
pub(crate) use plan::SessionSpec;
pub(crate) use records::{
    AttemptHead, Claim, End, RunFile, Seal, read_record, read_run_file, write_record,
};
pub(crate) use result::SessionResult;
pub(crate) use schema::formats;
pub(crate) use session::Entry;
pub(crate) use wire::Wire;
