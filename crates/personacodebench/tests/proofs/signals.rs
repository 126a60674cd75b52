//! An interrupt ends sessions on the record, and a resume goes on where they stopped.

use nix::sys::signal::Signal;
use std::{fs, thread, time::Duration};

use crate::bench::{Bench, Running, log_lines};

/// To whom a signal goes.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// The whole group, as a terminal does.
    Group,
    /// The command alone, as `kill` does.
    Command,
}

#[test]
fn an_interrupt_is_on_the_record_and_costs_no_rerun() {
    let cases = [(Signal::SIGINT, Target::Group), (Signal::SIGTERM, Target::Command)];
    for (signal, target) in cases {
        check(signal, target);
    }
}

fn check(signal: Signal, target: Target) {
    let bench = Bench::new();
    let agent = bench.write(
        "sleeper.toml",
        r#"
[[on]]
when = "opening"
do   = [{ run = "touch /tmp/was_here; sleep 4" }, { say = "The work is done." }]

[[on]]
when = "otherwise"
do   = [{ say = "The work is done." }]
"#,
    );
    let agent = agent.to_str().expect("a plain path");
    let running = Running::start(bench.command(&["run", "tiny", "--agent", agent, "--out", "out"]));
    assert!(running.says("out/"), "the run did not start");
    let group =
        fs::read_dir(bench.out()).expect("out").next().expect("a group").expect("it").path();
    let attempt = |n: u32| {
        group.join(format!("sleeper/sessions/caretaker--greet/repeat-1/attempt-{n}/log.jsonl"))
    };
    let has_turn = || fs::read_to_string(attempt(1)).is_ok_and(|log| log.contains("\"delivered\""));
    for _ in 0..2_000 {
        if has_turn() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert!(has_turn(), "no turn began");
    match target {
        Target::Group => running.signal_group(signal),
        Target::Command => running.signal(signal),
    }
    let done = running.wait();
    assert_eq!(done.code, Some(130), "{signal} to {target:?}\n{}\n{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("`pcb resume` goes on later"), "{}", done.stderr);
    let ending = |n: u32| {
        let lines = log_lines(&attempt(n));
        lines.iter().find_map(|line| line.pointer("/event/decided/1/end").cloned())
    };
    assert_eq!(ending(1), Some("operator_abort".into()), "{signal} to {target:?}");

    // A second interruption takes nothing from the repeat either.
    let shown = group.to_str().expect("a plain path");
    bench.expect(0, &["replay", shown]);
    bench.expect(0, &["resume", shown]);
    assert!(ending(2).is_some(), "the resume made no second attempt");
    let report = bench.report(&[&group]);
    let row = &report["rows"][0];
    assert_eq!(row["sessions"][0]["attempt"], 2, "{row}");
    assert_eq!(row["census"]["assigned"], 1);
}
