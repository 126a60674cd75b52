//! `pcb lint`: every problem of a release at once.

use clap::Args;
use domain::release::lint::{Severity, lint};

use crate::{exit_code::ExitCode, failure::Failure, releases};

/// Arguments of `pcb lint`.
#[derive(Clone, Debug, Args)]
pub struct LintArgs {
    /// A bundled release or the path of one.
    pub release: String,
}

/// Prints every problem; none is done, some are findings.
pub fn run(args: &LintArgs) -> Result<ExitCode, Failure> {
    let loaded = releases::open(&args.release)?;
    let notes = lint(&loaded.release);
    if notes.is_empty() {
        println!("{} {}: nothing to mend", loaded.release.id, loaded.release.version);
        return Ok(ExitCode::Done);
    }
    println!("{}", releases::shown_notes(&loaded, &notes));
    let has_error = notes.iter().any(|note| note.severity == Severity::Error);
    Ok(if has_error { ExitCode::Findings } else { ExitCode::Done })
}
