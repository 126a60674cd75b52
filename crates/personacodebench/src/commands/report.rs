//! `pcb report`: the table of runs, folded anew from their logs.

use std::path::PathBuf;

use clap::Args;
use store::reader::GroupReader;

use crate::{
    arguments::Format, attempts::read_failure, exit_code::ExitCode, failure::Failure,
    tables::Tables,
};

/// Arguments of `pcb report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb report runs/GROUP
  pcb report runs/GROUP/oracle --format json
  pcb report runs/MONDAY runs/TUESDAY --format markdown")]
pub struct ReportArgs {
    /// Folders of runs or of groups.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Folds and prints.
pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let mut runs = Vec::new();
    for folder in &args.runs {
        runs.extend(GroupReader::open(folder).map_err(read_failure)?.runs);
    }
    let tables = Tables::fold(runs)?;
    print!("{}", tables.text(args.format)?);
    Ok(tables.exit_code())
}
