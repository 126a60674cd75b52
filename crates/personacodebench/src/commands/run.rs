//! `pcb run`: plans, materialises, executes in parallel and prints the table.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use adapters::executors::LocalExecutor;
use clap::{Args, ValueEnum};
use domain::plan::{BenchmarkSide, Configuration, Plan, PlanError, PlanRequest, expand, remaining};
use domain::{evidence::ChannelSet, release::VerifyMode};
use engine::cancel::Canceller;
use report::live::Live;
use store::{
    reader::RunReader, release_files::LoadedRelease, run::RunRecord, utc, writer::RunWriter,
};

use crate::{
    agents::Agents,
    arguments::Format,
    attempts::{Attempts, read_failure},
    conduct::{self, Bases, Conduct},
    exit_code::ExitCode,
    failure::Failure,
    host::Host,
    interrupts::Interrupts,
    models::AgentModel,
    options::{JOBS_MAX, REPEATS_MAX, RunOptions},
    releases,
    tables::Tables,
};

/// Arguments of `pcb run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb run starter --agent oracle --agent eager --agent nop
  pcb run ./my-release --agent ./my-agent.toml --arm opening --repeats 3
  pcb run ./harbor-tasks --agent oracle --completion 'reward>=0.5'")]
pub struct RunArgs {
    /// A bundled release (see `pcb list releases`), the path of one, or a Harbor task or folder of them.
    pub release: String,
    /// Agent as NAME[:MODEL[@EFFORT]]; NAME is a built-in or the path of a script. `acp:COMMAND` starts a program
    /// of the sandbox that speaks the Agent Client Protocol. Each one is a run of the group.
    #[arg(long = "agent", value_name = "NAME[:MODEL[@EFFORT]]")]
    pub agents: Vec<String>,
    /// A setting of the configuration; may be given several times. Of `acp:`: mode=NAME, option.NAME=VALUE,
    /// env.NAME=VALUE.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// The model of every agent that works with one, by its name in the models file.
    #[arg(long, value_name = "NAME")]
    pub agent_model: Option<String>,
    /// The file that says where models are and what they cost: the agent reaches its model through a gateway that
    /// measures, and finds it by the placeholders {gateway.openai}, {gateway.anthropic}, {gateway.gemini},
    /// {gateway.token} and {model} in env.NAME=VALUE.
    #[arg(long, value_name = "FILE")]
    pub models: Option<PathBuf>,
    /// What the user tells when [default: progressive; for Harbor tasks: no-persona].
    #[arg(long, value_enum)]
    pub arm: Option<ArmArg>,
    /// Where the agent works [default: local].
    #[arg(long, value_enum)]
    pub sandbox: Option<SandboxArg>,
    /// Who words the user's messages [default: template].
    #[arg(long, value_enum)]
    pub user: Option<UserArg>,
    /// Planned repeats of each pair [default: 1].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=REPEATS_MAX as i64))]
    pub repeats: Option<u32>,
    /// Processors to use at once; a session takes its task's [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX as i64))]
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
    /// The reward that completes a Harbor task [default: reward>=1].
    #[arg(long, value_name = "KEY>=VALUE")]
    pub completion: Option<String>,
    /// Where the tests of Harbor tasks run: on a copy in which nothing of the agent runs, or in place beside what still runs
    /// [default: fresh; live where a task has a healthcheck or services].
    #[arg(long, value_enum)]
    pub verify: Option<VerifyArg>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SandboxArg {
    /// Namespaces of this host.
    #[default]
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

/// Where the tests of Harbor tasks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VerifyArg {
    /// On a copy of what the agent left.
    Fresh,
    /// In place, its network cut.
    Live,
}

impl From<VerifyArg> for VerifyMode {
    fn from(arg: VerifyArg) -> Self {
        match arg {
            VerifyArg::Fresh => VerifyMode::Fresh,
            VerifyArg::Live => VerifyMode::Live,
        }
    }
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

/// Plans, runs and prints.
pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let options = RunOptions::resolve(args)?;
    let loaded = match &options.adhoc {
        Some(adhoc) => releases::open_adhoc(&adhoc.path, &adhoc.completion)?,
        None => releases::open_clean(&options.release)?,
    };
    runtime()?.block_on(start(&options, &loaded))
}

async fn start(options: &RunOptions, loaded: &LoadedRelease) -> Result<ExitCode, Failure> {
    let host = Host::probe(options.sandbox).await?;
    let mut plans = Vec::new();
    for configuration in &options.configurations {
        let model = match (&options.models, &configuration.model) {
            (Some(file), Some(name)) => Some(AgentModel::of_file(file, name)?),
            _ => None,
        };
        let agents = Agents::new(configuration, loaded)?.with_model(model);
        let channels = host.channels().union(&agents.channels()).copied().collect();
        let plan = plan(options, configuration, loaded, &host, channels)?;
        agents.refuse_missing(&plan)?;
        if let Some(model) = agents.model() {
            model.refuse_unreachable(&plan, loaded, &host)?;
        }
        plans.push((plan, Arc::new(agents.installed().await?)));
    }
    let group = group_folder(&options.out, loaded.release.id.as_str())?;
    let pairs = plans.iter().flat_map(|(plan, _)| &plan.specs).map(|spec| &spec.pair);
    let mut interrupts = Interrupts::new()?;
    let making = conduct::bases(loaded, pairs, &host, options.jobs);
    let made = interrupts.unless_heard(making).await;
    if !matches!(made, Some(Ok(_))) {
        // Nobody has written into it; one that cannot be removed harms nobody.
        let _ = std::fs::remove_dir(&group);
    }
    let Some(bases) = made.transpose()? else {
        eprintln!("interrupted while the bases were made: no run was begun");
        return Ok(ExitCode::Interrupted);
    };
    let mut runs = Vec::new();
    for (plan, agents) in plans {
        let path = group.join(run_name(&plan, &runs));
        runs.push((create(&path, &plan, loaded, &host, &bases, &agents)?, agents));
    }
    eprintln!("{}", group.display());
    finish(runs, loaded, &host, &bases, options.jobs, options.json, interrupts).await
}

/// Makes the folder of a run.
///
/// # Errors
/// It cannot be written.
pub fn create(
    path: &Path,
    plan: &Plan,
    loaded: &LoadedRelease,
    host: &Host,
    bases: &Bases,
    agents: &Agents,
) -> Result<RunReader, Failure> {
    let made = bases.values().flat_map(conduct::PairBases::made);
    let versions = made.flat_map(|base| base.toolchain_versions.clone()).chain(agents.recipe());
    let record = RunRecord {
        tool: format!("pcb {}", env!("CARGO_PKG_VERSION")),
        protocol: domain::plan::PROTOCOL,
        started_utc: utc::text(SystemTime::now()),
        host: host.record(versions.collect::<BTreeMap<_, _>>()),
        models: agents.model().map(|model| model.record().clone()),
    };
    RunWriter::create(path, &record, plan, loaded).map_err(|error| {
        Failure::input(format!("the run {} cannot be written: {error}", path.display()))
    })?;
    RunReader::open(path).map_err(read_failure)
}

/// Runs what remains of every run of a group, then prints the table.
pub async fn finish(
    runs: Vec<(RunReader, Arc<Agents>)>,
    loaded: &LoadedRelease,
    host: &Host,
    bases: &Bases,
    jobs: u32,
    json: bool,
    interrupts: Interrupts,
) -> Result<ExitCode, Failure> {
    let mut sessions = 0;
    for (run, _) in &runs {
        sessions += remaining(&run.plan, &Attempts::read(run, &loaded.release)?.records).len();
    }
    // A person plays one session after the other, at a terminal that is theirs.
    let is_a_person = runs.iter().any(|(_, agents)| agents.is_a_person());
    let (live, at_once) = match is_a_person {
        true => (Live::beside_a_person(sessions as u64), 1),
        false => (Live::new(sessions as u64), usize::MAX),
    };
    let live = Arc::new(live);
    let canceller = Canceller::default();
    let listening = tokio::spawn(listen(interrupts, canceller.clone(), live.clone()));
    let executor = LocalExecutor::new(f64::from(jobs), at_once);
    for (run, agents) in &runs {
        let conduct = Conduct {
            run,
            release: loaded,
            host,
            bases,
            agents: agents.clone(),
            executor: executor.clone(),
            live: live.clone(),
            canceller: canceller.clone(),
        };
        conduct::conduct(&conduct).await?;
    }
    live.close();
    listening.abort();
    let is_interrupted = canceller.listen().is_cancelled();
    let readers: Vec<RunReader> = runs.into_iter().map(|(run, _)| run).collect();
    let tables = Tables::fold(readers)?;
    print!("{}", tables.text(if json { Format::Json } else { Format::Table })?);
    if is_interrupted {
        return Ok(ExitCode::Interrupted);
    }
    Ok(tables.exit_code())
}

/// The first interrupt ends the sessions in order, the second ends the program.
pub async fn listen(mut interrupts: Interrupts, canceller: Canceller, live: Arc<Live>) {
    let mut is_first = true;
    loop {
        interrupts.heard().await;
        if !is_first {
            std::process::exit(i32::from(ExitCode::Interrupted.number()));
        }
        is_first = false;
        canceller.cancel();
        live.say("ending the sessions; `pcb resume` goes on later; a second Ctrl-C ends at once");
    }
}

/// The runtime that sessions run on.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::input(format!("no runtime: {error}")))
}

fn plan(
    options: &RunOptions,
    configuration: &Configuration,
    loaded: &LoadedRelease,
    host: &Host,
    channels: ChannelSet,
) -> Result<Plan, Failure> {
    let request = PlanRequest {
        configuration: configuration.clone(),
        arm: options.arm,
        side: BenchmarkSide {
            user: options.user,
            sandbox: host.name.to_owned(),
            budget_multiplier: options.budget_multiplier,
            interaction_limit_sec: options.interaction_limit_sec,
            jobs: options.jobs,
        },
        seed: options.seed,
        repeats: options.repeats,
        pairs: options.pairs.iter().cloned().collect(),
        limit: options.limit,
        channels,
    };
    expand(&loaded.release, &request).map_err(|error| match (&error, &options.pairs) {
        (PlanError::NoPair(_), Some(glob)) => releases::no_pair(glob, &options.release),
        _ => Failure::input(error),
    })
}

/// A new folder `<name>-<UTC time>`; a second group of the same second gets a number.
pub fn group_folder(out: &Path, name: &str) -> Result<PathBuf, Failure> {
    let now: String = utc::text(SystemTime::now())
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .take(15)
        .collect();
    let fault = |path: &Path, error: std::io::Error| {
        Failure::input(format!("the folder {} cannot be made: {error}", path.display()))
    };
    if let Some(release) = releases::around(out).map_err(|error| fault(out, error))? {
        return Err(Failure::input(format!(
            "{} lies inside the release {}: name a folder outside with --out",
            out.display(),
            release.display()
        )));
    }
    std::fs::create_dir_all(out).map_err(|error| fault(out, error))?;
    for number in 1.. {
        let again = if number == 1 { String::new() } else { format!("-{number}") };
        let path = out.join(format!("{name}-{now}{again}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fault(&path, error)),
        }
    }
    Err(Failure::input("no free folder name"))
}

/// The agent's name as a folder name; equal ones get a number.
fn run_name(plan: &Plan, runs: &[(RunReader, Arc<Agents>)]) -> String {
    let asked = &plan.configuration;
    let agent = Path::new(asked.agent.as_str())
        .file_stem()
        .map_or_else(|| asked.agent.to_string(), |stem| stem.to_string_lossy().into_owned());
    let parts = [Some(agent), asked.model.clone(), asked.effort.clone()];
    let base: String = parts
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("-")
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .collect();
    let is_taken = |name: &str| runs.iter().any(|(run, _)| run.layout().root().ends_with(name));
    let mut name = base.clone();
    let mut number = 2;
    while is_taken(&name) {
        name = format!("{base}-{number}");
        number += 1;
    }
    name
}
