//! The host as sessions see it: its sandboxes, what they can enforce, and the record of it ([`Host`]).

use std::{collections::BTreeMap, path::Path, sync::Arc};

use adapters::sandboxes::local::LocalSandboxes;
use domain::evidence::ChannelSet;
use engine::ports::sandbox::{Capabilities, LimitKind, Sandboxes};
use store::run::HostRecord;

use crate::{failure::Failure, options};

/// Name of the sandbox kind in plans and reports.
pub const LOCAL: &str = "local";

/// Sandboxes with what they can do.
pub struct Host {
    /// Where agents work.
    pub sandboxes: Arc<dyn Sandboxes>,
    /// What the host can enforce and see.
    pub capabilities: Capabilities,
}

impl Host {
    /// Finds out what this host can do.
    ///
    /// # Errors
    /// The host cannot make sandboxes; the message says what to change.
    pub async fn probe() -> Result<Self, Failure> {
        let state = options::state_folder()?;
        let sandboxes = LocalSandboxes::new(Path::new("/proc/self/exe"), &state).map_err(|error| {
            Failure::input(format!(
                "the state folder {} cannot be used: {error}; set PCB_STATE_DIR to a folder on a local disk",
                state.display()
            ))
        })?;
        let sandboxes = sandboxes.finding_toolchains_by(options::toolchain_variables());
        let capabilities = sandboxes
            .capabilities()
            .await
            .map_err(|fault| Failure::input(format!("{fault}\n`pcb doctor` says more")))?;
        Ok(Self { sandboxes: Arc::new(sandboxes), capabilities })
    }

    /// Channels of the sandbox.
    pub fn channels(&self) -> ChannelSet {
        self.capabilities.channels.iter().copied().collect()
    }

    /// What stands in the run.
    pub fn record(&self, toolchains: BTreeMap<String, String>) -> HostRecord {
        HostRecord {
            sandbox: LOCAL.to_owned(),
            channels: self.channels(),
            enforced: self
                .capabilities
                .enforced
                .iter()
                .map(|kind| limit(*kind).to_owned())
                .collect(),
            shortfalls: self.capabilities.shortfalls.clone(),
            is_root: self.capabilities.is_root,
            cpus: options::processors(),
            memory_mb: memory_mb(),
            kernel: kernel(),
            toolchains,
        }
    }
}

/// The name of a limit.
pub fn limit(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Memory => "memory",
        LimitKind::Processes => "processes",
        LimitKind::Disk => "disk",
        LimitKind::Cpu => "cpu",
    }
}

fn memory_mb() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok().map(|kib| kib / 1024)
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {} {}", release.trim(), std::env::consts::ARCH)
}
