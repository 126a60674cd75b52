//! `pcb lock`: a digest over all files of a release.

use clap::Args;

/// Arguments of `pcb lock`.
#[derive(Clone, Debug, Args)]
pub struct LockArgs {
    /// A bundled release or the path of one.
    pub release: String,
    /// Write nothing; say whether the lock agrees with the files.
    #[arg(long)]
    pub check: bool,
}
