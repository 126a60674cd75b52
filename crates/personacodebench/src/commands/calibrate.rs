//! `pcb calibrate`: runs who must pass and who must fail, and prints what is not as it must be.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use domain::{
    acceptance::glob::Glob,
    calibration::{Breach, Calibration},
    plan::Arm,
    release::{Pair, Release},
};
use report::{
    context::{CalibrationContext, calibration, rereading},
    render,
};
use store::{
    reader::{GroupReader, RunReader},
    release_files::LoadedRelease,
};

use super::run::{ArmArg, SandboxArg, group_folder, runtime};
use crate::{
    arguments::Format,
    attempts::read_failure,
    calibration::{bases::admitted, fixtures, runs, sessions},
    conduct::{self, Bases},
    exit_code::ExitCode,
    failure::Failure,
    host::Host,
    interrupts::Interrupts,
    options::{self, JOBS_MAX, REPEATS_MAX},
    releases,
};

/// Arms of a calibration for which none are named.
const ARMS: [Arm; 3] = [Arm::Progressive, Arm::Opening, Arm::NoPersona];

/// Arguments of `pcb calibrate`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Runs oracle, eager, nop and every saboteur, evader and liar of each pair in every arm, looks at the tasks' bases, and \
prints the matrix. Exits with 1 if something is not as it must be. The sessions stay on disk: `pcb show` tells each \
as a story, and after Ctrl-C `pcb resume GROUP` finishes them and `--group GROUP` prints the matrix.

Examples:
  pcb calibrate starter
  pcb calibrate ./my-release --pairs 'caretaker--*' --arms progressive
  pcb calibrate ./my-release --record fixtures
  pcb calibrate ./my-release --from fixtures
  pcb calibrate ./my-release --group runs/calibration-my-release-20260101T120000")]
pub struct CalibrateArgs {
    /// A bundled release (see `pcb list releases`) or the path of one.
    pub release: String,
    /// Only pairs whose id matches.
    #[arg(long, value_name = "GLOB")]
    pub pairs: Option<String>,
    /// In these arms [default: progressive,opening,no-persona; with --group those of its runs].
    #[arg(long, value_enum, value_delimiter = ',')]
    pub arms: Vec<ArmArg>,
    /// How often oracle and nop are verified in the cheapest arm, so that a verifier that changes its mind is seen.
    #[arg(
        long,
        value_name = "K",
        default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=REPEATS_MAX as i64)
    )]
    pub repeats: u32,
    /// Where the agents work.
    #[arg(long, value_enum, default_value_t)]
    pub sandbox: SandboxArg,
    /// Processors to use at once; a session takes its task's [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX as i64))]
    pub jobs: Option<u32>,
    /// Folder in which the folder of the sessions is made.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Run nothing: judge the sessions of an earlier calibration of the same release.
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["jobs", "out", "repeats"])]
    pub group: Option<PathBuf>,
    /// Keep the sessions of oracle and counterexamples in this new folder, to be read again later.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// Run nothing: read recorded sessions again with the checks as they are now, and say what differs.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["group", "record", "arms", "out", "repeats"])]
    pub from: Option<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Print JSON instead of the matrix.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// Runs, judges and prints.
pub fn run(args: &CalibrateArgs) -> Result<ExitCode, Failure> {
    let loaded = releases::open_clean(&args.release)?;
    runtime()?.block_on(calibrate(args, &loaded))
}

async fn calibrate(args: &CalibrateArgs, loaded: &LoadedRelease) -> Result<ExitCode, Failure> {
    let began = Instant::now();
    let pairs = chosen(args, &loaded.release)?;
    let mut arms = arms(args);
    if let Some(folder) = &args.record {
        if args.group.is_none() {
            fixtures::recorded_arm(&arms)?;
        }
        fixtures::takes_record(folder)?;
    }
    let host = Host::probe(args.sandbox).await?;
    let jobs = args.jobs.unwrap_or_else(options::processors);
    let mut interrupts = Interrupts::new()?;
    let making = conduct::bases(loaded, runs::ids(&pairs), &host, jobs);
    let Some(bases) = interrupts.unless_heard(making).await else {
        eprintln!("interrupted while the bases were made: nothing was run");
        return Ok(ExitCode::Interrupted);
    };
    let bases = bases?;
    if let Some(folder) = &args.from {
        return reread(args, folder, loaded, &pairs, &host, &bases).await;
    }
    let looking = admitted(loaded, &pairs, &host, &bases);
    let Some(admission) = interrupts.unless_heard(looking).await else {
        eprintln!("interrupted while the bases were looked at: nothing was run");
        return Ok(ExitCode::Interrupted);
    };
    let (read, took_ms) = match &args.group {
        Some(group) => {
            let read = of_group(group, loaded)?;
            if args.arms.is_empty() {
                let is_there = |arm: &Arm| read.iter().any(|run| run.plan.arm == *arm);
                arms = Arm::ALL.into_iter().filter(is_there).collect();
            }
            (read, None)
        }
        None => {
            let wanted = runs::Wanted {
                loaded,
                pairs: pairs.clone(),
                arms: arms.clone(),
                repeats: args.repeats,
                jobs,
            };
            match execute(args, &wanted, &host, &bases, interrupts).await? {
                Some(read) => (read, Some(began.elapsed().as_millis() as u64)),
                None => return Ok(ExitCode::Interrupted),
            }
        }
    };
    let shown = sessions::shown(&read, &pairs)?;
    let judged = Calibration { release: &loaded.release, pairs, arms, shown, admission };
    let show = |breach: &Breach| runs::show(&read, &loaded.release, breach);
    let context = calibration(&loaded.release, &judged.matrix(), took_ms, show);
    print!("{}", text(args, &context)?);
    if let Some(folder) = &args.record {
        let kept = fixtures::record(&read, folder)?;
        eprintln!("{kept} runs kept in {}", folder.display());
    }
    Ok(if context.is_clean { ExitCode::Done } else { ExitCode::Findings })
}

/// The runs once all sessions have ended; none if the operator stopped them.
async fn execute(
    args: &CalibrateArgs,
    wanted: &runs::Wanted<'_>,
    host: &Host,
    bases: &Bases,
    interrupts: Interrupts,
) -> Result<Option<Vec<RunReader>>, Failure> {
    let name = format!("calibration-{}", wanted.loaded.release.id);
    let group = group_folder(&args.out, &name)?;
    let made = wanted.create(&group, host, bases)?;
    eprintln!("{}", group.display());
    let (read, is_interrupted) = runs::execute(made, wanted, host, bases, interrupts).await?;
    if is_interrupted {
        let group = group.display();
        eprintln!(
            "interrupted: `pcb resume {group}` goes on, `pcb calibrate {} --group {group}` judges it",
            args.release
        );
        return Ok(None);
    }
    Ok(Some(read))
}

/// Recorded sessions read again.
async fn reread(
    args: &CalibrateArgs,
    folder: &Path,
    loaded: &LoadedRelease,
    pairs: &[&Pair],
    host: &Host,
    bases: &Bases,
) -> Result<ExitCode, Failure> {
    let runs = GroupReader::open(folder).map_err(read_failure)?.runs;
    let found = fixtures::reread(&runs, loaded, pairs, host, bases).await?;
    let context = rereading(found.sessions, &found.differences);
    print!(
        "{}",
        match format(args) {
            Format::Table => render::rereading_terminal(&context),
            Format::Markdown => render::rereading_markdown(&context),
            Format::Json => render::rereading_json(&context).map_err(Failure::input)?,
        }
    );
    Ok(if context.is_same { ExitCode::Done } else { ExitCode::Findings })
}

fn of_group(folder: &Path, loaded: &LoadedRelease) -> Result<Vec<RunReader>, Failure> {
    let runs = GroupReader::open(folder).map_err(read_failure)?.runs;
    if let Some(other) = runs.iter().find(|run| run.plan.digest != loaded.release.digest) {
        return Err(Failure::mismatch(format!(
            "{} is of another state of the release: calibrate it anew",
            other.layout().root().display()
        )));
    }
    Ok(runs)
}

fn chosen<'a>(args: &CalibrateArgs, release: &'a Release) -> Result<Vec<&'a Pair>, Failure> {
    let glob = args.pairs.as_deref().map(Glob::new);
    let fits = |pair: &&Pair| glob.as_ref().is_none_or(|glob| glob.matches(pair.id.as_str()));
    let pairs: Vec<&Pair> = release.pairs.values().filter(fits).collect();
    if pairs.is_empty() {
        return Err(releases::no_pair(args.pairs.as_deref().unwrap_or("*"), &args.release));
    }
    Ok(pairs)
}

/// Each arm once, in the order of reports.
fn arms(args: &CalibrateArgs) -> Vec<Arm> {
    let asked: Vec<Arm> = args.arms.iter().map(|arm| Arm::from(*arm)).collect();
    let asked = if asked.is_empty() { ARMS.to_vec() } else { asked };
    Arm::ALL.into_iter().filter(|arm| asked.contains(arm)).collect()
}

fn text(args: &CalibrateArgs, context: &CalibrationContext) -> Result<String, Failure> {
    Ok(match format(args) {
        Format::Table => render::calibration_terminal(context, options::terminal_width()),
        Format::Markdown => render::calibration_markdown(context),
        Format::Json => render::calibration_json(context).map_err(Failure::input)?,
    })
}

fn format(args: &CalibrateArgs) -> Format {
    if args.json { Format::Json } else { args.format }
}
