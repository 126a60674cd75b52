//! Written forms of the records around a log: `run.json`, the head of a log, claim, seal and end.

use std::collections::BTreeMap;

use domain::plan::Plan;
use serde::{Deserialize, Serialize};

use super::{
    evidence::Manifest,
    plan::{BenchmarkSide, Configuration, PlanHead},
    wire::{Wire, wire},
    words::{Arm, Channel, UserKind},
};
use crate::{
    claim, end,
    format::{FORMAT, FormatError},
    run, seal,
};

wire! {
    struct Host = run::HostRecord {
        sandbox: String,
        channels: Vec<Channel>,
        enforced: Vec<String>,
        shortfalls: Vec<String>,
        is_root: bool,
        cpus: u32,
        memory_mb: Option<u64>,
        kernel: String,
        toolchains: BTreeMap<String, String>,
    }

    struct AttemptHead = run::AttemptHead {
        pair: String,
        repeat: u32,
        attempt: u32,
        user: UserKind,
        channels: Vec<Channel>,
        started_utc: String,
    }

    struct Claim = claim::Owner {
        host: String,
        boot: String,
        pid_namespace: String,
        pid: u32,
        pid_started: u64,
        claimed_utc: String,
    }

    struct Seal = seal::Seal {
        base: Option<String>,
        manifest: Manifest,
        unkept: BTreeMap<String, String>,
    }

    struct End = end::EndRecord { ended_utc: String, entries: u64, log: String }
}

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunFile {
    format: u32,
    tool: String,
    protocol: u32,
    started_utc: String,
    plan: PlanHead,
    host: Host,
}

impl RunFile {
    pub(crate) fn new(record: &run::RunRecord, plan: &Plan) -> Self {
        Self {
            format: FORMAT,
            tool: record.tool.clone(),
            protocol: record.protocol,
            started_utc: record.started_utc.clone(),
            plan: PlanHead {
                release: Wire::from_domain(&plan.release),
                release_version: plan.release_version.clone(),
                digest: Wire::from_domain(&plan.digest),
                locked: plan.locked,
                configuration: Configuration::from_domain(&plan.configuration),
                arm: Arm::from_domain(&plan.arm),
                side: BenchmarkSide::from_domain(&plan.side),
                seed: plan.seed,
                repeats: plan.repeats,
                excluded: Wire::from_domain(&plan.excluded),
            },
            host: Host::from_domain(&record.host),
        }
    }

    /// The record, and the plan without its specs.
    pub(crate) fn into_domain(self) -> (run::RunRecord, Plan) {
        let plan = Plan {
            release: self.plan.release.into_domain(),
            release_version: self.plan.release_version,
            digest: self.plan.digest.into_domain(),
            locked: self.plan.locked,
            configuration: self.plan.configuration.into_domain(),
            arm: self.plan.arm.into_domain(),
            side: self.plan.side.into_domain(),
            seed: self.plan.seed,
            repeats: self.plan.repeats,
            specs: Vec::new(),
            excluded: self.plan.excluded.into_domain(),
        };
        let record = run::RunRecord {
            tool: self.tool,
            protocol: self.protocol,
            started_utc: self.started_utc,
            host: self.host.into_domain(),
        };
        (record, plan)
    }
}

/// A record with the number of its format before it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Versioned<T> {
    format: u32,
    record: T,
}

/// Bytes of a record with its format, on one line without its end.
pub(crate) fn write_record<D, W: Wire<D> + Serialize>(
    value: &D,
    written: fn(&D) -> W,
) -> Result<Vec<u8>, FormatError> {
    Ok(serde_json::to_vec(&Versioned { format: FORMAT, record: written(value) })?)
}

/// Reads what [`write_record`] wrote; another format is refused before its content is looked at.
pub(crate) fn read_record<'a, D, W: Wire<D> + Deserialize<'a>>(
    bytes: &'a [u8],
    read: fn(W) -> D,
) -> Result<D, FormatError> {
    check_format(bytes)?;
    let versioned: Versioned<W> = serde_json::from_slice(bytes)?;
    Ok(read(versioned.record))
}

pub(crate) fn read_run_file(bytes: &[u8]) -> Result<RunFile, FormatError> {
    check_format(bytes)?;
    Ok(serde_json::from_slice(bytes)?)
}

fn check_format(bytes: &[u8]) -> Result<(), FormatError> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let found: Format = serde_json::from_slice(bytes)?;
    FormatError::check(found.format)
}
