//! `pcb completions`: what makes a shell complete commands, options and names.

use std::io::{self, Write as _};

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::{arguments::Arguments, exit_code::ExitCode, failure::Failure};

/// Arguments of `pcb completions`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb completions bash > ~/.local/share/bash-completion/completions/pcb
  pcb completions zsh > ~/.zfunc/_pcb
  pcb completions fish > ~/.config/fish/completions/pcb.fish")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut Arguments::command(), "pcb", &mut script);
    io::stdout().write_all(&script).map_err(Failure::input)?;
    Ok(ExitCode::Done)
}
