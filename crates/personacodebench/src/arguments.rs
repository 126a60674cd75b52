//! The command line as typed ([`Arguments`]); the doc comments are its help texts.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands;

/// Evaluates coding agents in sessions with a simulated user: correct software, and the person respected.
#[derive(Debug, Parser)]
#[command(name = "pcb", version, about, after_help = EXIT_CODES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: CommandLine,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done (whatever the scores), 1 findings, 2 bad usage or input, 3 ended with repeats not \
scored, 4 replay or lock mismatch, 130 interrupted.

Example:
  pcb run starter --agent oracle --agent eager --agent nop";

/// One file a command.
#[derive(Debug, Subcommand)]
pub enum CommandLine {
    /// Run agents on a release and print the table.
    Run(commands::run::RunArgs),
    /// Finish what is missing of a run or a group as new attempts.
    Resume(commands::resume::ResumeArgs),
    /// Print the table of runs from their logs.
    Report(commands::report::ReportArgs),
    /// Decide every log again and compare.
    Replay(commands::replay::ReplayArgs),
    /// Tell one session as a story.
    Show(commands::show::ShowArgs),
    /// Prove a release: run who must pass and who must fail, and print what is not as it must be.
    Calibrate(commands::calibrate::CalibrateArgs),
    /// Check a release and print every problem with file, line and remedy.
    Lint(commands::lint::LintArgs),
    /// Lock a release by a digest over all its files.
    Lock(commands::lock::LockArgs),
    /// Say what this host can run and what to change.
    Doctor(commands::doctor::DoctorArgs),
    /// List what there is.
    List(commands::list::ListArgs),
    /// Print the tables of the benchmark's paper, or recompute them.
    Published(commands::published::PublishedArgs),
}

/// Output format of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    #[default]
    Table,
    /// GitHub-flavoured Markdown.
    Markdown,
    /// For programs.
    Json,
}

/// A run or a group.
#[derive(Clone, Debug, clap::Args)]
pub struct RunFolder {
    /// Folder of a run or of a group of runs.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
}
