//! An interrupt ends sessions on the record, and a resume goes on where they stopped.

use nix::sys::signal::Signal;
use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use crate::{
    bench::{Bench, Running, log_lines},
    kill_and_resume::nothing_left,
};

/// Works for a while in the first turn, so that a signal meets it at work.
const SLEEPER: &str = r#"
[[on]]
when = "opening"
do   = [{ run = "sleep 3" }, { say = "The work is done." }]

[[on]]
when = "otherwise"
do   = [{ say = "The work is done." }]
"#;

#[test]
fn an_interrupt_is_on_the_record_and_costs_no_rerun() {
    let bench = Bench::new();
    bench.write("sleeper.toml", SLEEPER);
    let run = ["run", "tiny", "--agent", "sleeper.toml", "--out", "out"];
    let mut running = Running::start(bench.command(&run));
    assert!(running.says("out/"), "the run did not start");
    let mut groups = fs::read_dir(bench.out()).expect("out");
    let group = groups.next().expect("a group").expect("an entry").path();
    let shown = group.to_str().expect("a plain path");

    // A terminal signals the whole group, `kill` the command alone. Were an abort counted as a fault, two of them
    // would use up the only re-run.
    for (attempt, signal) in [(1, Signal::SIGINT), (2, Signal::SIGTERM)] {
        let log = log_of(&group, attempt);
        wait_for_work(&log);
        match signal {
            Signal::SIGINT => running.signal_group(signal),
            _ => running.signal(signal),
        }
        let done = running.wait();
        assert_eq!(done.code, Some(130), "{signal}\n{}\n{}", done.stdout, done.stderr);
        assert!(done.stderr.contains("`pcb resume` goes on later"), "{}", done.stderr);
        assert!(done.stdout.contains("operator_abort (harness) 1"), "{}", done.stdout);
        assert_eq!(ending(&log), "operator_abort");
        bench.expect(0, &["replay", shown]);
        bench.expect(3, &["report", shown]);
        running = Running::start(bench.command(&["resume", shown]));
    }

    let done = running.wait();
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    assert_ne!(ending(&log_of(&group, 3)), "operator_abort");
    assert!(!log_of(&group, 4).exists());
    let report = bench.report(&[&group]);
    let row = &report["rows"][0];
    assert_eq!(row["sessions"][0]["attempt"], 3, "{row}");
    assert_eq!(row["sessions"][0]["class"], "agent stopped", "{row}");
    assert_eq!(row["census"]["assigned"], 1);
}

#[test]
fn an_interrupt_while_bases_are_made_leaves_nothing() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    let setup = release.join("tasks/greet/environment/setup.sh");
    let quick = fs::read_to_string(&setup).unwrap_or_else(|_| "#!/bin/sh\n".to_owned());
    fs::write(&setup, format!("{quick}\nsleep 60\n")).expect("a slow setup");
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let began = Instant::now();
        let running =
            Running::start(bench.command(&["run", "mine", "--agent", "nop", "--out", "out"]));
        let is_begun = || fs::read_dir(bench.out()).is_ok_and(|mut out| out.next().is_some());
        while !is_begun() && began.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(500));
        match signal {
            Signal::SIGINT => running.signal_group(signal),
            _ => running.signal(signal),
        }
        let done = running.wait();
        assert_eq!(done.code, Some(130), "{signal}\n{}\n{}", done.stdout, done.stderr);
        assert!(done.stderr.contains("no run was begun"), "{}", done.stderr);
        assert!(began.elapsed() < Duration::from_secs(45), "it waited for the setup");
        assert!(!is_begun(), "a group without a run is left");
        nothing_left(&bench);
    }
}

fn log_of(group: &Path, attempt: u32) -> PathBuf {
    group.join(format!("sleeper/sessions/caretaker--greet/repeat-1/attempt-{attempt}/log.jsonl"))
}

fn wait_for_work(log: &Path) {
    let has_turn = || fs::read_to_string(log).is_ok_and(|log| log.contains("\"agent_acted\""));
    for _ in 0..6_000 {
        if has_turn() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("no turn began in {}", log.display());
}

fn ending(log: &Path) -> String {
    let lines = log_lines(log);
    let ending = lines.iter().find_map(|line| line.pointer("/event/decided/1/end")?.as_str());
    ending.expect("an end").to_owned()
}
