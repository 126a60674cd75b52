//! `pcb list`: bundled releases, agents, personas and pairs.

use clap::{Args, ValueEnum};

/// Arguments of `pcb list`.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub what: Listed,
    /// For personas and pairs: the release.
    #[arg(default_value = "starter")]
    pub release: String,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Bundled releases.
    Releases,
    /// Built-in agents.
    Agents,
    /// Personas of a release.
    Personas,
    /// Pairs of a release.
    Pairs,
}
