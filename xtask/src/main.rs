//! House tasks: `simulate` runs whole sessions over simulated parts, `bench` measures what the project promises, `fuzz`
//! throws bytes at every parser, `mutants` breaks the checks to see whether tests notice, `nightly` does what takes too long for every change.

mod bench;
mod fuzz;
mod mutants;
mod nightly;
mod simulate;

use std::process::ExitCode;

use adapters::sandboxes::{
    docker::{KEEPER_ARGUMENT, container_main, keeper_main, link::INSIDE_ARGUMENT},
    doorway::{DOORWAY_ARGUMENT, doorway_main},
    local::{SUPERVISOR_ARGUMENT, supervisor_main},
};

fn main() -> ExitCode {
    // The sandboxes that are measured are held by this program again.
    match std::env::args_os().nth(1) {
        Some(first) if first == SUPERVISOR_ARGUMENT => supervisor_main(),
        Some(first) if first == INSIDE_ARGUMENT => container_main(),
        Some(first) if first == DOORWAY_ARGUMENT => doorway_main(),
        Some(first) if first == KEEPER_ARGUMENT => keeper_main(),
        _ => {}
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((task, rest)) = arguments.split_first() else { return usage("no task is named") };
    match task.as_str() {
        "simulate" => match simulate::Simulate::parse(rest) {
            Ok(asked) => simulate::run(&asked),
            Err(why) => usage(&why),
        },
        "bench" => bench::run(rest),
        "fuzz" => match fuzz::Fuzz::parse(rest) {
            Ok(asked) => fuzz::run(&asked),
            Err(why) => usage(&why),
        },
        "mutants" => mutants::run(rest).unwrap_or_else(|why| usage(&why)),
        "nightly" => nightly::run(rest).unwrap_or_else(|why| usage(&why)),
        other => usage(&format!("unknown task {other}")),
    }
}

fn usage(why: &str) -> ExitCode {
    eprintln!(
        "{why}\n\nusage: xtask simulate [--seeds N] [--from S] [--out DIR]\n       xtask bench [NAME]…\n       \
         xtask fuzz [--seconds N] [TARGET]…\n       xtask mutants [acceptance|checks]… [-- ARGUMENTS]\n       \
         xtask nightly agents [NAME]… [--sandbox local|docker] [--image NAME]"
    );
    ExitCode::from(2)
}
