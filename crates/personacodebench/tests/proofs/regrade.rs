//! A grading from the seal that is killed or stopped settles nothing: the next resume makes it again.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;

use crate::bench::{Bench, Running, log_lines};

#[test]
fn a_grading_that_is_killed_or_stopped_is_made_again() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    let tests = release.join("tasks/greet/tests/test.sh");
    let quick = fs::read_to_string(&tests).expect("the tests");
    fs::write(&tests, quick.replacen("mkdir", "sleep 2\nmkdir", 1)).expect("slow tests");
    let run = ["run", "mine", "--agent", "oracle", "--out", "out"];
    let mut running = Running::start(bench.command(&run));
    assert!(running.says("out/"), "the run did not start");
    let group = fs::read_dir(bench.out()).expect("out").next().expect("a group").expect("a folder");
    let group = group.path();
    let shown = group.to_str().expect("a plain path");
    let repeat = group.join("oracle/sessions/caretaker--greet/repeat-1");
    let grading = |name: &str| repeat.join("attempt-1").join(name);

    verified_then(&grading("log.jsonl"), || running.signal_group(Signal::SIGKILL));
    running.wait();
    running = Running::start(bench.command(&["resume", shown]));
    verified_then(&grading("regrade-1.jsonl"), || running.signal_group(Signal::SIGKILL));
    running.wait();
    bench.expect(0, &["replay", shown]);
    running = Running::start(bench.command(&["resume", shown]));
    verified_then(&grading("regrade-2.jsonl"), || running.signal_group(Signal::SIGINT));
    let stopped = running.wait();
    assert_eq!(stopped.code, Some(130), "{}\n{}", stopped.stdout, stopped.stderr);
    assert_eq!(ending(&grading("regrade-2.jsonl")), "operator_abort");
    // What a kill leaves between the making of the file and its head.
    fs::write(grading("regrade-3.jsonl"), "").expect("a file");
    bench.expect(0, &["replay", shown]);
    bench.expect(3, &["report", shown]);

    bench.expect(0, &["resume", shown]);
    assert_eq!(ending(&grading("regrade-4.jsonl")), "accepted");
    assert!(!repeat.join("attempt-2").exists(), "the agent was run again");
    bench.expect(0, &["replay", shown]);
    let report = bench.report(&[&group]);
    assert_eq!(report["rows"][0]["sessions"][0]["class"], "joint pass", "{report}");
}

/// A seal that cannot be used is said once in a grading of its own; then the agent is run anew.
#[test]
fn a_seal_that_is_gone_is_said_once() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle"], &[]);
    let shown = group.to_str().expect("a plain path");
    let repeat = group.join("oracle/sessions/caretaker--greet/repeat-1");
    let first: PathBuf = repeat.join("attempt-1");
    let log = fs::read_to_string(first.join("log.jsonl")).expect("a log");
    let seal = log.lines().position(|line| line.contains("\"sealed\"")).expect("a seal");
    let until: String = log.split_inclusive('\n').take(seal + 1).collect();
    fs::write(first.join("log.jsonl"), until).expect("a log");
    for gone in ["seal.json", "end.json"] {
        fs::remove_file(first.join(gone)).expect("a file");
    }
    let resumed = bench.expect(0, &["resume", shown]);
    assert!(resumed.stderr.contains("its seal is gone"), "{}", resumed.stderr);
    bench.expect(0, &["resume", shown]);
    assert!(first.join("regrade-1.jsonl").exists() && !first.join("regrade-2.jsonl").exists());
    assert!(repeat.join("attempt-2").exists() && !repeat.join("attempt-3").exists());
    let report = bench.report(&[&group]);
    assert_eq!(report["rows"][0]["sessions"][0]["class"], "joint pass", "{report}");
}

/// Waits until the verification of a log has begun, then does something.
fn verified_then(log: &Path, act: impl FnOnce()) {
    let has_begun =
        || fs::read_to_string(log).is_ok_and(|log| log.contains("\"verify_completion\""));
    for _ in 0..6_000 {
        if has_begun() {
            act();
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("no verification began in {}", log.display());
}

fn ending(log: &Path) -> String {
    let lines = log_lines(log);
    let ending = lines.iter().find_map(|line| line.pointer("/event/decided/1/end")?.as_str());
    ending.expect("an end").to_owned()
}
