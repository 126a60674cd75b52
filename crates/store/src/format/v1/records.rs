//! Written forms of the records around a log: `run.json`, the head of a log, claim, seal and end.

use std::collections::BTreeMap;

use domain::plan::Plan;
use serde::{Deserialize, Serialize};

use super::{
    evidence::{Manifest, WireFormat},
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
    /// The environment class of a run; only runs of equal classes are ranked together.
    struct Host = run::HostRecord {
        /// Kind of sandbox.
        sandbox: String,
        /// Channels that the sandbox gives.
        channels: Vec<Channel>,
        /// Limits that hold, by name.
        enforced: Vec<String>,
        /// What the host cannot enforce, in plain sentences.
        shortfalls: Vec<String>,
        /// Whether sessions run as the host's root.
        is_root: bool,
        /// Processors of the host.
        cpus: u32,
        /// Memory of the host in MiB, if it says.
        memory_mb: Option<u64>,
        /// Kernel and machine, for instance `Linux 6.8 x86_64`.
        kernel: String,
        /// Toolchains found, with their versions.
        toolchains: BTreeMap<String, String>,
    }

    /// How the agents of a run reach their model.
    struct Models = run::ModelsRecord {
        /// Hash of the models file.
        file: String,
        /// The entry of the configured model, then those by which the same model is reached in other forms.
        entries: Vec<RecordedModel>,
        /// What models cost.
        prices: Vec<Price>,
    }

    /// Where a model is.
    struct RecordedModel = run::RecordedModel {
        /// As the models file calls it.
        name: String,
        /// As its provider calls it.
        model: String,
        /// The form that is spoken.
        format: WireFormat,
        /// The provider's base address.
        base: String,
        /// The variable of the host that holds the key.
        key_variable: Option<String>,
        /// Certificates of the authorities that the provider is trusted by, as PEM; none means those of the host.
        authorities: Option<String>,
    }

    /// What a model costs, in millionths of a US dollar for a million tokens.
    struct Price = domain::usage::Price {
        /// The model's name; a `*` at its end stands for any rest.
        model: String,
        /// Fresh input.
        input: u64,
        /// Input read from a cache; none if that has no price of its own.
        cached_input: Option<u64>,
        /// Input written to a cache; none if that has no price of its own.
        cache_write: Option<u64>,
        /// Output.
        output: u64,
    }

    /// The first line of an attempt's log.
    struct AttemptHead = run::AttemptHead {
        /// The pair.
        pair: String,
        /// Which repeat.
        repeat: u32,
        /// Which attempt.
        attempt: u32,
        /// Who words in this attempt; after a fault of the simulator not the plan's user.
        user: UserKind,
        /// Channels that sandbox and driver give together.
        channels: Vec<Channel>,
        /// When the attempt began, see `crate::utc::text`.
        started_utc: String,
    }

    /// Who answers for an ending or a flag.
    struct Claim = claim::Owner {
        /// Name of its machine.
        host: String,
        /// Which start of the machine.
        boot: String,
        /// Its namespace of processes.
        pid_namespace: String,
        /// Its process.
        pid: u32,
        /// When that process began, in the kernel's ticks.
        pid_started: u64,
        /// When the claim was made, UTC.
        claimed_utc: String,
    }

    /// A sealed state on top of its base.
    struct Seal = seal::Seal {
        /// Digest of the base.
        base: Option<String>,
        /// Every path that differs from the base; contents of regular files are blobs under their hashes.
        manifest: Manifest,
        /// Regular files whose content was not kept, by path, and why.
        unkept: BTreeMap<String, String>,
    }

    /// When an attempt ended and what its log is; a log that was touched later does not fit it any more.
    struct End = end::EndRecord {
        /// When it ended, see `crate::utc::text`.
        ended_utc: String,
        /// Entries of the log.
        entries: u64,
        /// Hash of the whole log.
        log: String,
    }
}

/// What a run was asked for and where it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunFile {
    /// Version of the format of the whole run directory.
    format: u32,
    /// The program that made it, with its version.
    tool: String,
    /// Version of controller, checks, session note and prompts.
    protocol: u32,
    /// When the run began, UTC.
    started_utc: String,
    /// The plan without its specs.
    plan: PlanHead,
    /// The environment class.
    host: Host,
    /// How its agents reach their model; absent if they have no gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Models>,
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
            models: Wire::from_domain(&record.models),
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
            models: self.models.into_domain(),
        };
        (record, plan)
    }
}

/// A record with the number of its format before it.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Versioned<T> {
    /// Version of the format.
    format: u32,
    /// The record itself.
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
