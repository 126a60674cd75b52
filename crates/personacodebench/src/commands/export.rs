//! `pcb export`: a run in the layout that programs of others read.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use domain::{
    plan::{SessionSpec, scored},
    result::Class,
    score::RunScore,
};
use report::context::export::{
    Audience, ExportedRun, RepeatExport, SessionExport, TrialStanding, WithoutResult,
};
use store::{
    harbor::job::{Trial, write_job},
    layout::{self, RunLayout},
    reader::{GroupReader, RunReader},
    release_files::LoadedRelease,
};

use crate::{
    attempts::{Attempt, read_failure},
    exit_code::ExitCode,
    failure::Failure,
    pages::named,
    told::with_sources,
};

/// Arguments of `pcb export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb export harbor runs/GROUP/oracle
  pcb export harbor runs/GROUP/oracle --public --out jobs/oracle")]
pub struct ExportArgs {
    /// In which layout.
    #[command(subcommand)]
    pub layout: ExportLayout,
}

/// Layouts that a run can be written in.
#[derive(Clone, Debug, Subcommand)]
pub enum ExportLayout {
    /// A Harbor job: `harbor view` on the folder around it opens it. A trial for each attempt, with its conversation in
    /// the format ATIF and what Harbor has no word for in `extra.pcb`.
    #[command(after_help = "\
Examples:
  pcb export harbor runs/GROUP/oracle
  pcb export harbor runs/GROUP/oracle --out jobs/oracle
  pcb export harbor runs/GROUP/oracle --public")]
    Harbor(HarborArgs),
}

/// Arguments of `pcb export harbor`.
#[derive(Clone, Debug, Args)]
pub struct HarborArgs {
    /// Folder of the run.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Folder of the job; without it `jobs/GROUP.RUN`. It may hold an earlier export of the same run, which is renewed.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Leave out the text of requirements that were never told to the agent.
    #[arg(long)]
    pub public: bool,
}

/// Exports.
pub fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    match &args.layout {
        ExportLayout::Harbor(args) => harbor(args),
    }
}

fn harbor(args: &HarborArgs) -> Result<ExitCode, Failure> {
    let run = one_run(&args.run)?;
    let name = named(&run);
    let out = args.out.clone().unwrap_or_else(|| Path::new("jobs").join(name.replace('/', ".")));
    refuse_inside(&out)?;
    let release = run.release().map_err(read_failure)?;
    let read = Read::of(&run, &release)?;
    let results: Vec<_> =
        read.attempts.iter().filter_map(|(attempt, _)| attempt.result.clone()).collect();
    let score = RunScore::of(&run.plan, &release.release, &results)
        .map_err(|error| Failure::mismatch(format!("the figures do not add up: {error}")))?;
    let exported = ExportedRun {
        name: &name,
        record: &run.record,
        plan: &run.plan,
        score: &score,
        audience: if args.public { Audience::Public } else { Audience::Full },
    };
    let repeats = run.plan.specs.iter().map(|spec| read.repeat(&exported, spec));
    let job = exported.job(repeats.collect::<Result<_, _>>()?).map_err(Failure::input)?;
    let sessions = job.trials.iter().filter(|trial| trial.result.is_some()).count();
    let done = write_job(&job, &out).map_err(Failure::input)?;
    println!(
        "{}: {sessions} sessions, {} without a result; {} files written, {} as they were, {} removed",
        out.display(),
        job.trials.len() - sessions,
        done.written,
        done.kept,
        done.removed
    );
    Ok(read.exit_code())
}

fn one_run(folder: &Path) -> Result<RunReader, Failure> {
    let mut runs = GroupReader::open(folder).map_err(read_failure)?.runs;
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        (last, _) => {
            let runs = runs.iter().chain(&last);
            let names: Vec<String> =
                runs.map(|run| run.layout().root().display().to_string()).collect();
            Err(Failure::input(format!(
                "{} holds several runs, and a job is one; name one: {}",
                folder.display(),
                names.join(", ")
            )))
        }
    }
}

/// What lies in a release is part of it, and nothing of a run is ever rewritten.
fn refuse_inside(out: &Path) -> Result<(), Failure> {
    let absolute = std::path::absolute(out).map_err(Failure::input)?;
    // Links are followed as far as the path exists.
    let known = absolute.ancestors().find_map(|folder| folder.canonicalize().ok());
    let around = absolute.ancestors().map(Path::to_owned);
    let around = around.chain(known.iter().flat_map(|known| known.ancestors()).map(Path::to_owned));
    for folder in around {
        let what = match () {
            () if layout::is_release(&folder) => "release",
            () if RunLayout::new(&folder).run_file().is_file() => "run",
            () => continue,
        };
        return Err(Failure::input(format!(
            "{} lies inside the {what} {}: name a folder outside with --out",
            out.display(),
            folder.display()
        )));
    }
    Ok(())
}

/// Every attempt of a run, as far as it can be read.
struct Read<'a> {
    run: &'a RunReader,
    release: &'a LoadedRelease,
    attempts: Vec<(Attempt, Option<String>)>,
}

impl<'a> Read<'a> {
    fn of(run: &'a RunReader, release: &'a LoadedRelease) -> Result<Self, Failure> {
        let mut attempts = Vec::new();
        for found in run.attempts().map_err(read_failure)? {
            let (attempt, fault) = Attempt::readable(run, &release.release, found)?;
            if let Some(why) = &fault {
                eprintln!("{}: {why}; exported as far as it can be read", attempt.places.log);
            }
            attempts.push((attempt, fault));
        }
        Ok(Self { run, release, attempts })
    }

    fn exit_code(&self) -> ExitCode {
        let is_whole = self.attempts.iter().all(|(_, fault)| fault.is_none());
        if is_whole { ExitCode::Done } else { ExitCode::Findings }
    }

    /// The attempts at a repeat, or that there is none.
    fn repeat(
        &self,
        exported: &ExportedRun<'_>,
        spec: &SessionSpec,
    ) -> Result<RepeatExport, Failure> {
        let own = || {
            let all = self.attempts.iter();
            all.filter(|(attempt, _)| {
                attempt.found.pair == spec.pair && attempt.found.repeat == spec.repeat
            })
        };
        let results: Vec<_> = own().filter_map(|(attempt, _)| attempt.result.clone()).collect();
        let counted = scored(&results).map(|result| (result.attempt, result.class));
        let mut trials = Vec::new();
        for (attempt, fault) in own() {
            let is_scored = counted.is_some_and(|(nth, _)| nth == attempt.found.attempt);
            trials.push(self.trial(exported, spec, attempt, (is_scored, fault))?);
        }
        if trials.is_empty() {
            let is_excluded = exported.plan.excluded.contains(&spec.pair);
            let why = if is_excluded { WithoutResult::Excluded } else { WithoutResult::NotRun };
            let trial = exported.without_result(spec, why);
            trials.push((trial, TrialStanding::WithoutResult(why)));
        }
        Ok(RepeatExport {
            pair: spec.pair.clone(),
            repeat: spec.repeat,
            class: counted.map_or(Class::NotRun, |(_, class)| class),
            trials,
        })
    }

    fn trial(
        &self,
        exported: &ExportedRun<'_>,
        spec: &SessionSpec,
        attempt: &Attempt,
        (scored, fault): (bool, &Option<String>),
    ) -> Result<(Trial, TrialStanding), Failure> {
        let told = with_sources(self.run, self.release, attempt, |sources| {
            let log_fault = fault.clone();
            SessionExport { run: *exported, sources, scored, log_fault }.trial()
        });
        match told {
            Some(trial) => {
                let standing =
                    if scored { TrialStanding::Scored } else { TrialStanding::Superseded };
                Ok((trial.map_err(Failure::input)?, standing))
            }
            None => {
                let why = WithoutResult::Running(attempt.found.attempt);
                Ok((exported.without_result(spec, why), TrialStanding::WithoutResult(why)))
            }
        }
    }
}
