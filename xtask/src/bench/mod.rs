//! Measures the figures that the project promises; prints them beside the promise and fails nothing.

mod docker;
mod engine;
mod gateway;
mod help;
mod local;
mod manifest;
mod replay;
mod wire;

use std::process::ExitCode;

/// A measured figure beside the promised one.
pub(crate) struct Figure {
    name: &'static str,
    measured: String,
    promised: &'static str,
}

/// A measurement of one or more figures.
type Measure = fn() -> Vec<Figure>;

/// Runs the named measurements, all without a name.
pub(crate) fn run(names: &[String]) -> ExitCode {
    let measurements: [(&str, Measure); 9] = [
        ("engine", engine::measure),
        ("replay", replay::measure),
        ("local", local::measure),
        ("manifest", manifest::measure),
        ("docker", docker::measure),
        ("docker-crowd", docker::measure_crowd),
        ("gateway", gateway::measure),
        ("help", help::measure),
        ("wire", wire::measure),
    ];
    if let Some(unknown) =
        names.iter().find(|name| measurements.iter().all(|(known, _)| known != name))
    {
        let known: Vec<&str> = measurements.iter().map(|(name, _)| *name).collect();
        eprintln!("no measurement `{unknown}`; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    if cfg!(debug_assertions) {
        eprintln!(
            "this is a debug build: measure with `cargo run --release --package xtask -- bench`"
        );
    }
    for (name, measure) in measurements {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        for figure in measure() {
            println!("{:44} {:>26}   promised {}", figure.name, figure.measured, figure.promised);
        }
    }
    ExitCode::SUCCESS
}

/// The middle of a list of times.
fn median_ms(mut times_ms: Vec<f64>) -> f64 {
    times_ms.sort_by(f64::total_cmp);
    times_ms[times_ms.len() / 2]
}

/// Resident memory of this process in MiB.
fn resident_mb() -> f64 {
    memory_mb("self", "VmRSS:")
}

/// What the kernel says of the memory of a process in MiB; 0 of one that is gone.
fn memory_mb(process: &str, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
}
