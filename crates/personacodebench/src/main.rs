//! The binary `pcb`: arguments, wiring and exit codes; it does nothing else.

mod agent_check;
mod agents;
mod arguments;
mod attempts;
mod bundled;
mod calibration;
mod commands;
mod conduct;
mod exit_code;
mod failure;
mod host;
mod interrupts;
mod models;
mod options;
mod output;
mod pages;
mod programs;
mod record;
mod releases;
mod tables;
mod told;

use adapters::sandboxes::{
    docker::{KEEPER_ARGUMENT, container_main, keeper_main, link::INSIDE_ARGUMENT},
    doorway::{DOORWAY_ARGUMENT, doorway_main},
    local::{SUPERVISOR_ARGUMENT, supervisor_main},
};
use arguments::{Arguments, CommandLine};
use clap::Parser;
use commands::{
    agent, calibrate, clean, compare, completions, doctor, export, lint, list, lock, man, model,
    new, power, published, replay, report, resume, run, schema, show, task,
};

fn main() -> std::process::ExitCode {
    // A sandbox is held by this program again, before anything else has started.
    match std::env::args_os().nth(1) {
        Some(first) if first == SUPERVISOR_ARGUMENT => supervisor_main(),
        Some(first) if first == INSIDE_ARGUMENT => container_main(),
        Some(first) if first == DOORWAY_ARGUMENT => doorway_main(),
        Some(first) if first == KEEPER_ARGUMENT => keeper_main(),
        _ => {}
    }
    let command = Arguments::parse().command;
    output::end_with_its_reader(&command);
    let done = match command {
        CommandLine::Run(args) => run::run(&args),
        CommandLine::Resume(args) => resume::run(&args),
        CommandLine::Report(args) => report::run(&args),
        CommandLine::Compare(args) => compare::run(&args),
        CommandLine::Power(args) => power::run(&args),
        CommandLine::Replay(args) => replay::run(&args),
        CommandLine::Show(args) => show::run(&args),
        CommandLine::Export(args) => export::run(&args),
        CommandLine::Calibrate(args) => calibrate::run(&args),
        CommandLine::Lint(args) => lint::run(&args),
        CommandLine::Lock(args) => lock::run(&args),
        CommandLine::Task(args) => task::run(&args),
        CommandLine::Agent(args) => agent::run(&args),
        CommandLine::Model(args) => model::run(&args),
        CommandLine::Doctor(args) => doctor::run(&args),
        CommandLine::Clean(args) => clean::run(&args),
        CommandLine::List(args) => list::run(&args),
        CommandLine::Published(args) => published::run(&args),
        CommandLine::New(args) => new::run(&args),
        CommandLine::Schema(args) => schema::run(&args),
        CommandLine::Completions(args) => completions::run(&args),
        CommandLine::Man(args) => man::run(&args),
    };
    let code = done.unwrap_or_else(|failure| {
        eprintln!("{}", failure.message);
        failure.code
    });
    code.into()
}
