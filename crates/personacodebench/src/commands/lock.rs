//! `pcb lock`: a digest over all files of a release.

use clap::Args;
use store::release_files::{LockUse, open_release_with};

use crate::{exit_code::ExitCode, failure::Failure, releases};

/// Arguments of `pcb lock`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb lock ./my-release
  pcb lock starter --check")]
pub struct LockArgs {
    /// A bundled release or the path of one.
    pub release: String,
    /// Write nothing; say whether the lock agrees with the files.
    #[arg(long)]
    pub check: bool,
}

/// Writes the lock, or checks it.
pub fn run(args: &LockArgs) -> Result<ExitCode, Failure> {
    let folder = releases::folder(&args.release)?;
    if args.check {
        let loaded = releases::open(&args.release)?;
        if !loaded.release.locked {
            return Err(Failure::mismatch(format!(
                "{} is not locked: lock it with `pcb lock {}`",
                loaded.release.id, args.release
            )));
        }
        println!(
            "{} {}: locked, {}",
            loaded.release.id, loaded.release.version, loaded.release.digest
        );
        return Ok(ExitCode::Done);
    }
    let loaded = open_release_with(&folder, LockUse::Ignore)
        .map_err(|problems| Failure::input(releases::shown(&problems)))?;
    if let Some(findings) = releases::findings(&loaded) {
        eprintln!("{}", findings.text);
        if findings.has_error {
            return Ok(ExitCode::Findings);
        }
    }
    loaded
        .lock
        .write(&folder, &loaded.release)
        .map_err(|error| Failure::input(format!("the lock cannot be written: {error}")))?;
    println!("{} {}: locked, {}", loaded.release.id, loaded.release.version, loaded.lock.digest());
    Ok(ExitCode::Done)
}
