//! `pcb agent`: installs agents that are known by name, and tries what of them works.

use adapters::agents::{install::install, presets::Preset};
use clap::{Args, Subcommand};

use crate::{
    agent_check::{self, Report, Tried},
    commands::run::SandboxArg,
    exit_code::ExitCode,
    failure::Failure,
    host::Host,
    options,
};

/// Arguments of `pcb agent`.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AgentArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

const EXAMPLES: &str = "\
Examples:
  pcb agent install goose
  pcb agent check goose --sandbox local";

/// What can be done with agents.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Install an agent by its pinned recipe; a run does so by itself.
    Install(InstallArgs),
    /// Work with an agent in a sandbox, with a scripted model behind the gateway, and say what works.
    Check(CheckArgs),
}

/// Arguments of `pcb agent install`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb agent install goose
  pcb agent install codex-acp")]
pub struct InstallArgs {
    /// The agent; `pcb list agents` names them.
    pub name: String,
}

/// Arguments of `pcb agent check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb agent check goose
  pcb agent check opencode --sandbox docker --image debian:bookworm --faults")]
pub struct CheckArgs {
    /// The agent; `pcb list agents` names them.
    pub name: String,
    /// Where it works.
    #[arg(long, value_enum, default_value_t)]
    pub sandbox: SandboxArg,
    /// With containers: the image in which it works.
    #[arg(long, value_name = "NAME", default_value = "debian:bookworm")]
    pub image: String,
    /// Also what it does when its model fails, when it is killed and when it asks its user.
    #[arg(long)]
    pub faults: bool,
    /// Print JSON instead of lines.
    #[arg(long)]
    pub json: bool,
}

/// Installs or checks.
pub fn run(args: &AgentArgs) -> Result<ExitCode, Failure> {
    let runtime = super::run::runtime()?;
    match &args.action {
        Action::Install(args) => runtime.block_on(installed(args)),
        Action::Check(args) => runtime.block_on(check(args)),
    }
}

async fn installed(args: &InstallArgs) -> Result<ExitCode, Failure> {
    let preset = preset(&args.name)?;
    let below = options::agents_folder()?;
    let layer = install(&preset, &below, &options::registry_variables()).await;
    println!("{}", layer.map_err(Failure::input)?.folder.display());
    Ok(ExitCode::Done)
}

async fn check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let preset = preset(&args.name)?;
    let host = Host::probe(args.sandbox).await?;
    let report = agent_check::check(&preset, &host, &args.image, args.faults, |line| {
        if !args.json {
            println!("{}", line.told());
        }
    });
    let report: Report = report.await?;
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(Failure::input)?;
        println!("{text}");
    }
    let fails = report.lines.iter().any(|line| line.tried == Tried::Fails);
    Ok(if fails { ExitCode::Findings } else { ExitCode::Done })
}

/// The preset of a name.
fn preset(name: &str) -> Result<Preset, Failure> {
    Preset::named(name).map_err(Failure::input)?.ok_or_else(|| {
        let names: Vec<&str> = Preset::names().collect();
        Failure::input(format!("no agent `{name}` that can be installed: {}", names.join(", ")))
    })
}
