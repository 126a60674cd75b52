//! Breaks the checks one line at a time and runs the tests that must notice ([`run`]); `.cargo/mutants.toml` and
//! `docs/mutation.md` say what is left out and why.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

/// A part of the house with the tests that speak of it.
struct Room {
    name: &'static str,
    package: &'static str,
    files: &'static str,
    tests: &'static [&'static str],
    jobs: &'static str,
}

const ROOMS: [Room; 2] = [
    Room {
        name: "acceptance",
        package: "domain",
        files: "crates/domain/src/acceptance/**/*.rs",
        tests: &["acceptance", "acceptance_reference", "pure_checks", "exec_kinds", "secrets"],
        jobs: "2",
    },
    Room {
        name: "checks",
        package: "adapters",
        files: "crates/adapters/src/checks/**/*.rs",
        tests: &["checks"],
        jobs: "1",
    },
];

/// Mutants of the rooms that are named, or of all; further arguments after `--` go to `cargo mutants`.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (names, further) = arguments.split_at(end);
    if let Some(unknown) = names.iter().find(|name| ROOMS.iter().all(|room| room.name != **name)) {
        let known: Vec<&str> = ROOMS.iter().map(|room| room.name).collect();
        return Err(format!("no room `{unknown}`; there are {}", known.join(", ")));
    }
    let chosen =
        ROOMS.iter().filter(|room| names.is_empty() || names.iter().any(|n| n == room.name));
    let mut all_noticed = true;
    for room in chosen {
        all_noticed &= examine(room, further.get(1..).unwrap_or_default())?;
    }
    Ok(if all_noticed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the tests noticed every mutant of a room.
fn examine(room: &Room, further: &[String]) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = format!("target/mutants/{}", room.name);
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .args(["mutants", "--package", room.package, "--file", room.files])
        .args(["--output", &output, "--jobs", room.jobs])
        .args(further)
        .args(["--", "--lib"]);
    for test in room.tests {
        command.args(["--test", test]);
    }
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    match status.code() {
        Some(0) => Ok(true),
        // 2: some were missed; 3: some did not end.
        Some(2 | 3) => Ok(false),
        _ => Err("`cargo mutants` did not run: `cargo install cargo-mutants --locked`".into()),
    }
}
