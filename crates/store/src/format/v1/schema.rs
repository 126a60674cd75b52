//! JSON Schemas of what a run leaves on disk, derived from the written forms themselves.

use std::collections::BTreeMap;

use schemars::{JsonSchema, schema_for};

use super::{
    evidence::{
        AgentMessage, Change, Collected, FileDiff, Manifest, ModelCall, NetAttempt, ProcessEvent,
    },
    plan::SessionSpec,
    records::{AttemptHead, Claim, End, RunFile, Seal, Versioned},
    result::SessionResult,
    session::Entry,
};
use crate::schema::Format;

/// The formats of a run directory.
pub(crate) fn formats() -> Vec<Format> {
    vec![
        format::<RunFile>("run", "run.json of a run"),
        format::<SessionSpec>("plan-line", "a line of plan.jsonl"),
        format::<Versioned<AttemptHead>>("log-head", "the first line of log.jsonl"),
        format::<Entry>("log-line", "every further line of log.jsonl"),
        format::<Versioned<Claim>>("claim", "claim.json of an attempt"),
        format::<Versioned<Seal>>("seal", "seal.json of an attempt"),
        format::<Versioned<End>>("end", "end.json of an attempt"),
        format::<SessionResult>("result-line", "a line of derived/results.jsonl"),
        format::<Manifest>("manifest", "blob: every path that differs from the base"),
        format::<Collected>("artifacts", "blob: what was kept beside the result"),
        format::<Change>("changes-line", "blob: a line for each change of a file"),
        format::<BTreeMap<u32, Vec<FileDiff>>>("differences", "blob: differences by turn"),
        format::<ProcessEvent>("programs-line", "blob: a line for each program of a turn"),
        format::<NetAttempt>("network-line", "blob: a line for each attempt to reach a host"),
        format::<ModelCall>("calls-line", "blob: a line for each request to a model"),
        format::<AgentMessage>("agent-line", "blob: a line for each thing the agent said"),
    ]
}

fn format<T: JsonSchema>(name: &'static str, files: &'static str) -> Format {
    let mut schema = schema_for!(T);
    schema.insert("title".to_owned(), name.into());
    if schema.get("description").is_none() {
        schema.insert("description".to_owned(), files.into());
    }
    Format { name, files, schema: schema.to_value() }
}
