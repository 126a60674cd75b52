//! Sessions in containers through the whole tool: the same verdicts as on the host, nothing left behind, no secret told.
//!
//! They need a Docker engine, which `./check` starts where none answers.

use std::{collections::BTreeMap, fs, path::Path, process::Command, thread, time::Duration};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bench::{Bench, Done, Running};

fn command(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(arguments);
    let address = std::env::var("DOCKER_HOST");
    command.env("DOCKER_HOST", address.unwrap_or_else(|_| "unix:///var/run/docker.sock".into()));
    command
}

pub fn expect(bench: &Bench, code: i32, arguments: &[&str]) -> Done {
    let done = Running::start(command(bench, arguments)).wait();
    assert_eq!(done.code, Some(code), "pcb {arguments:?}\n{}\n{}", done.stdout, done.stderr);
    done
}

/// What the engine holds of ours with this label, by the engine's own program.
fn containers(bench: &Bench, filter: &str) -> Vec<String> {
    let mut asked = Command::new("docker");
    asked.args(["ps", "--all", "--quiet", "--no-trunc", "--filter", filter]);
    let mut asked = bench.cleared(asked);
    if let Ok(address) = std::env::var("DOCKER_HOST") {
        asked.env("DOCKER_HOST", address);
    }
    let listed = asked.output().expect("the program `docker`: ./check installs it");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

/// Every session's verdicts, without what differs from run to run.
fn verdicts(group: &Path) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for agent in ["oracle", "eager"] {
        let path = group.join(agent).join("derived/results.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for line in text.lines() {
            let result: Value = serde_json::from_str(line).expect("a result");
            let keys = [
                "ending",
                "flags",
                "completion",
                "completed",
                "personalized",
                "class",
                "requirements",
            ];
            let told = keys.iter().map(|key| ((*key).to_owned(), result[key].clone())).collect();
            found.insert(format!("{agent} {}", result["pair"]), Value::Object(told));
        }
    }
    found
}

#[test]
fn the_starter_comes_to_the_same_verdicts_in_both_sandboxes() {
    let bench = Bench::new();
    let mut both = Vec::new();
    for sandbox in ["local", "docker"] {
        let arguments = [
            "run",
            "starter",
            "--agent",
            "oracle",
            "--agent",
            "eager",
            "--sandbox",
            sandbox,
            "--out",
            sandbox,
        ];
        let done = expect(&bench, 0, &arguments);
        let group = bench.path().join(done.stderr.lines().next().expect("the group's folder"));
        expect(&bench, 0, &["report", group.to_str().expect("a plain path")]);
        both.push(verdicts(&group));
    }
    let [local, docker] = both.as_slice() else { unreachable!("two sandboxes") };
    assert!(local.len() >= 28, "{} sessions", local.len());
    for (session, verdicts) in local {
        assert_eq!(Some(verdicts), docker.get(session), "{session}");
    }
    assert_eq!(local.len(), docker.len());
}

/// Works for a while, so that a signal meets it at work.
const SLEEPER: &str = r#"
[[on]]
when = "opening"
do   = [{ run = "sleep 60" }, { say = "The work is done." }]

[[on]]
when = "otherwise"
do   = [{ say = "The work is done." }]
"#;

#[test]
fn what_a_killed_run_left_is_taken_away() {
    let bench = Bench::new();
    bench.write("sleeper.toml", SLEEPER);
    let run = ["run", "tiny", "--agent", "sleeper.toml", "--sandbox", "docker", "--out", "out"];
    let running = Running::start(command(&bench, &run));
    assert!(running.says("out/"), "the run did not start");
    let of_session = "label=personacodebench.session";
    let own = || {
        // The run's folder is named after the agent; other runs on the engine have other agents.
        containers(&bench, "label=personacodebench.run=sleeper")
    };
    let mut tries = 0;
    while own().is_empty() {
        tries += 1;
        assert!(tries < 300, "no container of {of_session} came");
        thread::sleep(Duration::from_millis(100));
    }
    running.signal_group(Signal::SIGKILL);
    running.wait();
    assert!(!own().is_empty(), "a killed program takes nothing away");
    // Its program inside has nobody to speak with, so it ends; the next run or `pcb clean` takes the rest away.
    let told = expect(&bench, 0, &["clean"]).stdout;
    assert!(told.contains("container ") && told.contains("sleeper"), "{told}");
    assert_eq!(own(), Vec::<String>::new());
}

#[test]
fn a_run_leaves_nothing_on_the_engine() {
    let bench = Bench::new();
    bench.write("passer.toml", &SLEEPER.replace("sleep 60", "true"));
    let run = ["run", "tiny", "--agent", "passer.toml", "--sandbox", "docker", "--out", "out"];
    expect(&bench, 0, &run);
    assert_eq!(containers(&bench, "label=personacodebench.run=passer"), Vec::<String>::new());
}
