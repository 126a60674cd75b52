#!/bin/sh
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
# Adds the command `slow`: times in the records, percentiles in the library, files in the program.
set -eu
cd /app
if grep -q slow src/main.rs; then exit 0; fi

sed -i \
    -e 's|^    pub bytes: u64,$|&\n    /// Time that it took in milliseconds, if the line has a usable one.\n    pub time_ms: Option<u64>,|' \
    -e 's|^        bytes,$|&\n        time_ms: fields.next().and_then(milliseconds),|' \
    src/lib.rs
sed -i \
    -e 's|bytes: 0 }|bytes: 0, time_ms: None }|' \
    -e 's|bytes: 512, |bytes: 512, time_ms: Some(183), |' \
    tests/library.rs
sed -i 's|^    accesslog status FILE .*|&\n    accesslog slow FILE      path, timed requests, median, 95th percentile, maximum (ms)|' README.md

cat >> src/lib.rs <<'RS'

/// How long the requests of a path took, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slowness {
    pub path: String,
    pub count: usize,
    pub median: u64,
    pub p95: u64,
    pub max: u64,
}

/// The paths with at least `min` timed requests, slowest first.
pub fn slowest(records: &[Record], min: usize) -> Vec<Slowness> {
    let mut times: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for record in records {
        if let Some(ms) = record.time_ms {
            times.entry(&record.path).or_default().push(ms);
        }
    }
    let mut rows = Vec::new();
    for (path, mut all) in times {
        if all.len() >= min {
            all.sort_unstable();
            rows.push(Slowness {
                path: path.to_string(),
                count: all.len(),
                median: percentile(&all, 50),
                p95: percentile(&all, 95),
                max: *all.last().unwrap(),
            });
        }
    }
    rows.sort_by(|a, b| b.p95.cmp(&a.p95));
    rows
}

/// By nearest rank; `sorted` holds at least one value.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent + 99) / 100 - 1]
}

/// `183ms`, or seconds with up to six decimals, rounded to milliseconds.
fn milliseconds(field: &str) -> Option<u64> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(whole) = field.strip_suffix("ms") {
        return if digits(whole) { whole.parse().ok() } else { None };
    }
    let (whole, fraction) = field.split_once('.').unwrap_or((field, "0"));
    if !digits(whole) || !digits(fraction) || fraction.len() > 6 {
        return None;
    }
    let micros: u128 = format!("{fraction:0<6}").parse().ok()?;
    let whole: u128 = whole.parse().ok()?;
    let micros = whole.checked_mul(1_000_000)?.checked_add(micros)?;
    u64::try_from((micros + 500) / 1000).ok()
}
RS

cat > src/main.rs <<'RS'
//! The program: counts requests in access logs and shows which paths are slow.

use std::process::ExitCode;

use accesslog::{count_by_path, count_by_status, parse_line, slowest};

const USAGE: &str = "usage: accesslog top FILE...
       accesslog status FILE...
       accesslog slow [--min N] FILE...";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = if arguments.is_empty() { String::new() } else { arguments.remove(0) };
    let mut min = 1;
    if command == "slow" && arguments.first().map(String::as_str) == Some("--min") {
        match arguments.get(1).map(|number| number.parse()) {
            Some(Ok(number)) => min = number,
            _ => return usage(),
        }
        arguments.drain(..2);
    }
    if arguments.is_empty() || !["top", "status", "slow"].contains(&command.as_str()) {
        return usage();
    }
    let (mut records, mut skipped) = (Vec::new(), 0);
    for file in &arguments {
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("accesslog: {file}: {error}");
                return ExitCode::FAILURE;
            }
        };
        for line in String::from_utf8_lossy(&bytes).lines().filter(|l| !l.trim().is_empty()) {
            if let Some(record) = parse_line(line) {
                records.push(record);
            } else {
                skipped += 1;
            }
        }
    }
    match command.as_str() {
        "top" => count_by_path(&records).iter().for_each(|(path, n)| println!("{n}\t{path}")),
        "status" => count_by_status(&records).iter().for_each(|(code, n)| println!("{n}\t{code}")),
        _ => {
            for row in slowest(&records, min) {
                println!("{}\t{}\t{}\t{}\t{}", row.path, row.count, row.median, row.p95, row.max);
            }
        }
    }
    match skipped {
        0 => {}
        lines => eprintln!("accesslog: skipped {lines} lines"),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
RS
