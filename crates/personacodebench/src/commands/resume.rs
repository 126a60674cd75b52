//! `pcb resume`: finishes what is missing as new attempts.

use std::sync::Arc;

use clap::{Args, ValueEnum as _};
use store::reader::{GroupReader, RunReader};

use super::run::{SandboxArg, finish, runtime};
use crate::{
    agents::Agents, arguments::RunFolder, attempts::read_failure, conduct, exit_code::ExitCode,
    failure::Failure, host::Host, interrupts::Interrupts, models::AgentModel, options::JOBS_MAX,
};

/// Arguments of `pcb resume`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb resume runs/GROUP
  pcb resume runs/GROUP/oracle --jobs 2")]
pub struct ResumeArgs {
    /// The run or group.
    #[command(flatten)]
    pub folder: RunFolder,
    /// Processors to use at once [default: as planned].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX as i64))]
    pub jobs: Option<u32>,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
}

/// Runs what remains and prints.
pub fn run(args: &ResumeArgs) -> Result<ExitCode, Failure> {
    let group = GroupReader::open(&args.folder.run).map_err(read_failure)?;
    runtime()?.block_on(resume(args, group.runs))
}

async fn resume(args: &ResumeArgs, runs: Vec<RunReader>) -> Result<ExitCode, Failure> {
    let first = runs.first().ok_or_else(|| Failure::input("there is no run to resume"))?;
    for run in &runs {
        resumable(run, first)?;
    }
    let sandbox = resumable_sandbox(first)?;
    let loaded = first.release().map_err(read_failure)?;
    let host = Host::probe(sandbox).await?;
    let jobs = args.jobs.unwrap_or(first.plan.side.jobs);
    let pairs = runs.iter().flat_map(|run| &run.plan.specs).map(|spec| &spec.pair);
    let mut agents = Vec::new();
    for run in &runs {
        let model = run.record.models.clone().map(AgentModel::of_record).transpose()?;
        let own = Agents::new(&run.plan.configuration, &loaded)?.with_model(model);
        agents.push(Arc::new(own.installed().await?));
    }
    let mut interrupts = Interrupts::new()?;
    let making = conduct::bases(&loaded, pairs, &host, jobs);
    let Some(bases) = interrupts.unless_heard(making).await else {
        eprintln!("interrupted while the bases were made: `pcb resume` goes on later");
        return Ok(ExitCode::Interrupted);
    };
    let bases = bases?;
    let with_agents = runs.into_iter().zip(agents).collect();
    finish(with_agents, &loaded, &host, &bases, jobs, args.json, interrupts).await
}

/// Only what this version and this host would run alike is gone on with.
fn resumable(run: &RunReader, first: &RunReader) -> Result<(), Failure> {
    let shown = run.layout().root().display();
    if run.record.protocol != domain::plan::PROTOCOL {
        return Err(Failure::mismatch(format!(
            "{shown} was begun with protocol {}; this is protocol {}: resume it with {}",
            run.record.protocol,
            domain::plan::PROTOCOL,
            run.record.tool
        )));
    }
    if run.plan.digest != first.plan.digest {
        return Err(Failure::input(format!(
            "{shown} is on another release than the first run: resume it alone"
        )));
    }
    if run.plan.side.sandbox != first.plan.side.sandbox {
        return Err(Failure::input(format!(
            "{shown} runs in another sandbox than the first run: resume it alone"
        )));
    }
    Ok(())
}

fn resumable_sandbox(run: &RunReader) -> Result<SandboxArg, Failure> {
    let name = &run.plan.side.sandbox;
    SandboxArg::from_str(name, false).map_err(|_| {
        let shown = run.layout().root().display();
        Failure::input(format!(
            "{shown} runs in the sandbox `{name}`, which this version does not have"
        ))
    })
}
