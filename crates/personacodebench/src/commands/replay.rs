//! `pcb replay`: decides every log again and compares.

use clap::Args;
use store::reader::{GroupReader, RunReader, Standing};

use crate::{
    arguments::RunFolder,
    attempts::{Attempt, TOUCHED, read_failure},
    exit_code::ExitCode,
    failure::Failure,
};

/// Arguments of `pcb replay`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb replay runs/GROUP
  pcb replay runs/GROUP/oracle")]
pub struct ReplayArgs {
    /// The run or group.
    #[command(flatten)]
    pub folder: RunFolder,
}

/// Replays every attempt of every run and says where a log differs.
pub fn run(args: &ReplayArgs) -> Result<ExitCode, Failure> {
    let group = GroupReader::open(&args.folder.run).map_err(read_failure)?;
    let mut count = Count::default();
    for run in &group.runs {
        replay_run(run, &mut count)?;
    }
    println!(
        "{} logs replayed: {} agree, {} differ; {} attempts without an end",
        count.agree + count.differ,
        count.agree,
        count.differ,
        count.open
    );
    Ok(if count.differ > 0 { ExitCode::Mismatch } else { ExitCode::Done })
}

#[derive(Default)]
struct Count {
    agree: u32,
    differ: u32,
    open: u32,
}

fn replay_run(run: &RunReader, count: &mut Count) -> Result<(), Failure> {
    let release = run.release().map_err(read_failure)?.release;
    for found in run.attempts().map_err(read_failure)? {
        let place = format!("{} repeat {} attempt {}", found.pair, found.repeat, found.attempt);
        let differs = match Attempt::read(run, &release, found) {
            // A log that cannot be read differs from the one that was written.
            Err(unread) => Some(unread.message),
            Ok(attempt) => {
                count.open += u32::from(attempt.standing != Standing::Ended);
                let divergence = attempt.replay().err().map(|divergence| divergence.to_string());
                divergence.or(attempt.is_touched.then(|| TOUCHED.to_owned()))
            }
        };
        match differs {
            None => count.agree += 1,
            Some(why) => {
                count.differ += 1;
                println!("{place}: {why}");
            }
        }
    }
    Ok(())
}
