//! `pcb doctor`: what this host can run and what to change.

use clap::Args;

/// Arguments of `pcb doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Also look for what this release needs on the host.
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<String>,
}
