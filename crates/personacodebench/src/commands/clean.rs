//! `pcb clean`: takes away what dead runs left on a Docker engine.

use adapters::sandboxes::docker::{LeftoverKind, Swept, sweep};
use clap::Args;

use crate::{exit_code::ExitCode, failure::Failure, options};

/// Arguments of `pcb clean`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb clean
  pcb clean --everything")]
pub struct CleanArgs {
    /// Also containers of runs that may still go on, here or on other machines.
    #[arg(long)]
    pub running: bool,
    /// Also images that were built and the volumes of this program: the next run makes them again.
    #[arg(long)]
    pub everything: bool,
}

/// Takes away and tells.
pub fn run(args: &CleanArgs) -> Result<ExitCode, Failure> {
    let swept = match (args.everything, args.running) {
        (true, _) => Swept::Everything,
        (false, true) => Swept::Containers,
        (false, false) => Swept::Dead,
    };
    let address = options::docker_address();
    let sweeping = sweep(&address, swept);
    let gone = super::run::runtime()?.block_on(sweeping).map_err(Failure::input)?;
    for leftover in &gone {
        let kind = match leftover.kind {
            LeftoverKind::Container => "container",
            LeftoverKind::Program => "program",
            LeftoverKind::Volume => "volume",
            LeftoverKind::Image => "image",
        };
        let line = format!("{kind} {} {}", leftover.id, leftover.of);
        println!("{}", line.trim_end());
    }
    if gone.is_empty() {
        println!("nothing to take away");
    }
    Ok(ExitCode::Done)
}
