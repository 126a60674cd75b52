//! `pcb list`: bundled releases, agents, personas and pairs.

use adapters::{agents::presets::Preset, catalog::AgentKind};
use clap::{Args, ValueEnum};
use store::release_files::LoadedRelease;

use crate::{bundled, exit_code::ExitCode, failure::Failure, releases};

/// Arguments of `pcb list`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb list releases
  pcb list agents
  pcb list pairs ./my-release")]
pub struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub what: Listed,
    /// For personas and pairs: the release.
    #[arg(default_value = "starter")]
    pub release: String,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Bundled releases.
    Releases,
    /// Built-in agents.
    Agents,
    /// Personas of a release.
    Personas,
    /// Pairs of a release.
    Pairs,
}

/// Prints a line each.
pub fn run(args: &ListArgs) -> Result<ExitCode, Failure> {
    match args.what {
        Listed::Releases => list_releases()?,
        Listed::Agents => {
            for (name, what) in AgentKind::NAMES {
                println!("{name:16} {what}");
            }
            for name in Preset::names() {
                let preset = Preset::named(name).map_err(Failure::input)?;
                let Some(preset) = preset else { continue };
                let asks = if preset.asking.is_some() { "can ask" } else { "never asks" };
                let (driver, form) = (preset.driver.name(), preset.form.name());
                println!("{name:16} {} ({driver}, {form}, {asks})", preset.what);
            }
        }
        Listed::Personas => list_personas(&releases::open(&args.release)?),
        Listed::Pairs => list_pairs(&releases::open(&args.release)?),
    }
    Ok(ExitCode::Done)
}

fn list_releases() -> Result<(), Failure> {
    for name in bundled::names().map_err(Failure::input)? {
        let loaded = releases::open(&name)?;
        let release = &loaded.release;
        let requirements: usize = release.pairs.values().map(|pair| pair.requirements.len()).sum();
        println!(
            "{name:8} {}, {} pairs, {} tasks, {requirements} requirements, {}",
            release.version,
            release.pairs.len(),
            release.tasks.len(),
            if release.locked { release.digest.as_str() } else { "unlocked" }
        );
    }
    Ok(())
}

fn list_personas(loaded: &LoadedRelease) {
    for persona in loaded.release.personas.values() {
        println!("{:24} {}", persona.id.as_str(), persona.role);
    }
}

fn list_pairs(loaded: &LoadedRelease) {
    for pair in loaded.release.pairs.values() {
        let areas: Vec<&str> = pair.requirements.iter().map(|r| r.area.name()).collect();
        println!(
            "{:40} suite {}, {} requirements ({})",
            pair.id.as_str(),
            pair.suite,
            pair.requirements.len(),
            areas.join(", ")
        );
    }
}
