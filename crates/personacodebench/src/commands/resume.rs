//! `pcb resume`: finishes what is missing as new attempts.

use clap::Args;

use crate::arguments::RunFolder;

/// Arguments of `pcb resume`.
#[derive(Clone, Debug, Args)]
pub struct ResumeArgs {
    /// The run or group.
    #[command(flatten)]
    pub folder: RunFolder,
    /// Processors to use at once [default: as planned].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub jobs: Option<u32>,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
}
