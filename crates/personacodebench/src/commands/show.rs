//! `pcb show`: one session as a story.

use std::path::PathBuf;

use clap::Args;
use domain::{
    ids::{PairId, Repeat},
    plan::scored,
    release::Release,
};
use report::render;
use store::reader::{GroupReader, RunReader};

use crate::{
    attempts::{Attempt, read_failure},
    exit_code::ExitCode,
    failure::Failure,
    told::told,
};

/// Arguments of `pcb show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb show runs/GROUP/oracle shop_owner--csv_report
  pcb show runs/GROUP/eager shop_owner--csv_report --repeat 2 --attempt 1
  pcb show runs/GROUP/eager shop_owner--csv_report --json")]
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

/// Tells the session.
pub fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let group = GroupReader::open(&args.run).map_err(read_failure)?;
    let [run] = &group.runs[..] else {
        let names: Vec<String> =
            group.runs.iter().map(|run| run.layout().root().display().to_string()).collect();
        return Err(Failure::input(format!(
            "{} holds several runs; name one: {}",
            args.run.display(),
            names.join(", ")
        )));
    };
    let release = run.release().map_err(read_failure)?;
    let attempt = find(run, &release.release, args)?;
    let Some(told) = told(run, &release, &attempt) else {
        return Err(Failure::input("the session still runs"));
    };
    if args.json {
        print!("{}", render::story_json(&told).map_err(Failure::input)?);
    } else {
        print!("{}", render::story_terminal(&told));
    }
    Ok(ExitCode::Done)
}

fn find(run: &RunReader, release: &Release, args: &ShowArgs) -> Result<Attempt, Failure> {
    let (pair, repeat) = (PairId::new(args.pair.as_str()), Repeat(args.repeat));
    let mut own = Vec::new();
    for found in run.attempts().map_err(read_failure)? {
        if found.pair == pair && found.repeat == repeat {
            own.push(Attempt::read(run, release, found)?);
        }
    }
    let wanted = match args.attempt {
        Some(number) => Some(number),
        None => {
            let results: Vec<_> = own.iter().filter_map(|attempt| attempt.result.clone()).collect();
            scored(&results).map(|result| result.attempt.0)
        }
    };
    let found = own.into_iter().find(|attempt| Some(attempt.found.attempt.0) == wanted);
    found.ok_or_else(|| {
        let mut pairs: Vec<&str> = run.plan.specs.iter().map(|spec| spec.pair.as_str()).collect();
        pairs.dedup();
        Failure::input(format!(
            "the run has no such attempt of `{}` repeat {}; its pairs: {}",
            args.pair,
            args.repeat,
            pairs.join(", ")
        ))
    })
}
