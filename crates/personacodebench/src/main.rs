//! The binary `pcb`: arguments, wiring and exit codes; it does nothing else.

mod arguments;
mod commands;
mod exit_code;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let arguments = arguments::Arguments::parse();
    drop(arguments);
    exit_code::ExitCode::BadInput.into()
}
