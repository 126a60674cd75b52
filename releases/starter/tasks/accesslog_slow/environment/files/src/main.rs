//! The program: `accesslog top FILE` and `accesslog status FILE`.

use std::fs;
use std::process::ExitCode;

use accesslog::{count_by_path, count_by_status, parse_line, Record};

const USAGE: &str = "usage: accesslog top FILE\n       accesslog status FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, file) = match arguments.as_slice() {
        [command, file] if command == "top" || command == "status" => (command, file),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("accesslog: {file}: {error}");
            return ExitCode::from(1);
        }
    };
    let (records, skipped) = read(&text);
    if command == "top" {
        for (path, count) in count_by_path(&records) {
            println!("{count}\t{path}");
        }
    } else {
        for (status, count) in count_by_status(&records) {
            println!("{count}\t{status}");
        }
    }
    if skipped > 0 {
        eprintln!("accesslog: skipped {skipped} lines");
    }
    ExitCode::SUCCESS
}

/// The requests in a log, and how many of its lines are none. Empty lines don't matter.
fn read(text: &str) -> (Vec<Record>, usize) {
    let mut records = Vec::new();
    let mut skipped = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match parse_line(line) {
            Some(record) => records.push(record),
            None => skipped += 1,
        }
    }
    (records, skipped)
}

// canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
