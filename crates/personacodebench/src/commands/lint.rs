//! `pcb lint`: every problem of a release at once.

use clap::Args;

use crate::{exit_code::ExitCode, failure::Failure, releases};

/// Arguments of `pcb lint`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb lint starter
  pcb lint ./my-release")]
pub struct LintArgs {
    /// A bundled release or the path of one.
    pub release: String,
}

/// Prints every problem; none is done, some are findings.
pub fn run(args: &LintArgs) -> Result<ExitCode, Failure> {
    let loaded = releases::open(&args.release)?;
    let Some(findings) = releases::findings(&loaded) else {
        println!("{} {}: nothing to mend", loaded.release.id, loaded.release.version);
        return Ok(ExitCode::Done);
    };
    println!("{}", findings.text);
    Ok(if findings.has_error { ExitCode::Findings } else { ExitCode::Done })
}
