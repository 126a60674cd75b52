//! `pcb replay`: decides every log again and compares.

use clap::Args;

use crate::arguments::RunFolder;

/// Arguments of `pcb replay`.
#[derive(Clone, Debug, Args)]
pub struct ReplayArgs {
    /// The run or group.
    #[command(flatten)]
    pub folder: RunFolder,
}
