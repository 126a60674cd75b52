//! `pcb man`: the manual, a page for the tool and one for each command.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;

use crate::{arguments::Arguments, exit_code::ExitCode, failure::Failure};

/// Arguments of `pcb man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  pcb man | man -l -
  pcb man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder in which a page for each command is written, in place of older ones.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Prints the tool's page, or writes all.
pub fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let mut tool = Arguments::command();
    tool.build();
    let Some(folder) = &args.out else {
        io::stdout().write_all(&page(&tool)?).map_err(Failure::input)?;
        return Ok(ExitCode::Done);
    };
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, error))?;
    for command in commands(tool) {
        let path = folder.join(format!("{}.1", display_name(&command)));
        fs::write(&path, page(&command)?).map_err(|error| unwritten(&path, error))?;
        println!("wrote {}", path.display());
    }
    Ok(ExitCode::Done)
}

/// A command with all that are below it; `help` is none of ours.
pub fn commands(command: Command) -> Vec<Command> {
    let below = command.get_subcommands().filter(|one| one.get_name() != "help").cloned();
    let below: Vec<Command> = below.flat_map(commands).collect();
    [vec![command], below].concat()
}

fn display_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let name = display_name(command).to_owned();
    Man::new(command.clone())
        .title(name.to_uppercase())
        .render(&mut bytes)
        .map_err(Failure::input)?;
    Ok(bytes)
}

fn unwritten(path: &std::path::Path, error: io::Error) -> Failure {
    Failure::input(format!("`{}` cannot be written: {error}", path.display()))
}
