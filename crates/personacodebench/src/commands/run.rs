//! `pcb run`: plans, materialises, executes in parallel and prints the table.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `pcb run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb run starter --agent oracle --agent eager --agent nop
  pcb run ./my-release --agent ./my-agent.toml --arm opening --repeats 3")]
pub struct RunArgs {
    /// A bundled release (see `pcb list releases`) or the path of one.
    pub release: String,
    /// Agent as NAME[:MODEL[@EFFORT]]; NAME is a built-in or the path of a script. Each one is a run of the group.
    #[arg(long = "agent", value_name = "NAME[:MODEL[@EFFORT]]")]
    pub agents: Vec<String>,
    /// A setting of the configuration; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// What the user tells when [default: progressive].
    #[arg(long, value_enum)]
    pub arm: Option<ArmArg>,
    /// Where the agent works [default: local].
    #[arg(long, value_enum)]
    pub sandbox: Option<SandboxArg>,
    /// Who words the user's messages [default: template].
    #[arg(long, value_enum)]
    pub user: Option<UserArg>,
    /// Planned repeats of each pair [default: 1].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Processors to use at once; a session takes its task's [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub jobs: Option<u32>,
    /// Multiplies seconds, tokens and cost of every budget, never turns [default: 1x].
    #[arg(long, value_enum)]
    pub budget: Option<BudgetArg>,
    /// Agent time of every pair in seconds, before the multiplier; makes a custom row.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub interaction_limit: Option<u64>,
    /// Only pairs whose id matches.
    #[arg(long, value_name = "GLOB")]
    pub pairs: Option<String>,
    /// At the most so many pairs, in order of their ids.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Seed of all drawing [default: 1].
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Folder in which the group's folder is made [default: runs].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A TOML file with these options by their long names; what is typed wins.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
}

/// An arm by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ArmArg {
    /// Requirements emerge turn by turn.
    Progressive,
    /// Every requirement is told in the first message.
    Opening,
    /// A neutral user without requirements.
    NoPersona,
    /// As no-persona, with content-free requests to check once more.
    NeutralTurns,
}

/// A sandbox kind by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SandboxArg {
    /// Namespaces of this host.
    Local,
    /// A Docker engine.
    Docker,
}

/// A user by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UserArg {
    /// The release's own words.
    Template,
}

/// A budget multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BudgetArg {
    /// As declared.
    #[value(name = "1x")]
    One,
    /// Twice.
    #[value(name = "2x")]
    Two,
    /// Three times.
    #[value(name = "3x")]
    Three,
}
