//! `pcb report`: the table of runs, folded anew from their logs.

use std::path::PathBuf;

use clap::Args;

use crate::arguments::Format;

/// Arguments of `pcb report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// Folders of runs or of groups.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
