//! `pcb lint`: every problem of a release at once.

use clap::Args;

/// Arguments of `pcb lint`.
#[derive(Clone, Debug, Args)]
pub struct LintArgs {
    /// A bundled release or the path of one.
    pub release: String,
}
