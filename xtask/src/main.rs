//! House tasks: `simulate` runs whole sessions over simulated parts.

mod simulate;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((task, rest)) = arguments.split_first() else { return usage("no task is named") };
    match task.as_str() {
        "simulate" => match simulate::Simulate::parse(rest) {
            Ok(asked) => simulate::run(&asked),
            Err(why) => usage(&why),
        },
        other => usage(&format!("unknown task {other}")),
    }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("{why}\n\nusage: xtask simulate [--seeds N] [--from S] [--out DIR]");
    ExitCode::from(2)
}
