//! `pcb show`: one session as a story.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `pcb show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Folder of the run.
    pub run: PathBuf,
    /// The pair.
    pub pair: String,
    /// Which repeat.
    #[arg(long, default_value_t = 1)]
    pub repeat: u32,
    /// Which attempt; without it the one that is scored.
    #[arg(long)]
    pub attempt: Option<u32>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}
