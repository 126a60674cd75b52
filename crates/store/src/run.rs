//! What a run says of itself before its logs: [`RunRecord`], [`HostRecord`], [`ModelsRecord`], and the head of an attempt's
//! log.

use std::collections::BTreeMap;

use domain::{
    evidence::{ChannelSet, WireFormat},
    ids::{Attempt, Hash, PairId, Repeat},
    plan::UserKind,
    usage::Price,
};

/// What stands in `run.json` beside the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Name and version of the program that runs it.
    pub tool: String,
    /// Version of the protocol.
    pub protocol: u32,
    /// When the run began, see [`crate::utc::text`].
    pub started_utc: String,
    /// Where it runs.
    pub host: HostRecord,
    /// How its agents reach their model; none if they have no gateway.
    pub models: Option<ModelsRecord>,
}

/// How the agents of a run reach their model. No key is part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelsRecord {
    /// Hash of the models file as it was.
    pub file: Hash,
    /// The entry of the configured model, then those by which the same model is reached in other forms.
    pub entries: Vec<RecordedModel>,
    /// What models cost.
    pub prices: Vec<Price>,
}

/// Where a model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedModel {
    /// As the models file calls it.
    pub name: String,
    /// As its provider calls it.
    pub model: String,
    /// The form that is spoken.
    pub format: WireFormat,
    /// The provider's base address.
    pub base: String,
    /// The variable of the host that holds the key; none for a server without keys.
    pub key_variable: Option<String>,
    /// Certificates of the authorities that the provider is trusted by, as PEM; none means those of the host.
    pub authorities: Option<String>,
}

/// The environment class of a run; only runs of equal classes are ranked together.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRecord {
    /// Kind of sandbox.
    pub sandbox: String,
    /// Channels that the sandbox gives.
    pub channels: ChannelSet,
    /// Limits that hold, by name.
    pub enforced: Vec<String>,
    /// What the host cannot enforce, in plain sentences.
    pub shortfalls: Vec<String>,
    /// Whether sessions run as the host's root.
    pub is_root: bool,
    /// Processors of the host.
    pub cpus: u32,
    /// Memory of the host in MiB, if it says.
    pub memory_mb: Option<u64>,
    /// Kernel and machine, for instance `Linux 6.8 x86_64`.
    pub kernel: String,
    /// Toolchains found, with their versions.
    pub toolchains: BTreeMap<String, String>,
}

/// The first line of an attempt's log.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptHead {
    /// The pair.
    pub pair: PairId,
    /// Which repeat.
    pub repeat: Repeat,
    /// Which attempt.
    pub attempt: Attempt,
    /// Who words in this attempt; after a fault of the simulator not the plan's user.
    pub user: UserKind,
    /// Channels that sandbox and driver give together.
    pub channels: ChannelSet,
    /// When the attempt began, see [`crate::utc::text`].
    pub started_utc: String,
}
