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

/// A value that stands nowhere but in the environment of the tool.
const PLANTED: &str = "planted-7f3a9c51e2";

#[test]
fn a_variable_of_the_host_reaches_the_container_and_nothing_else() {
    let bench = Bench::new();
    let settings = "schema_version = \"1.4\"\n[environment]\nworkdir = \"/app\"\n\
                    network_mode = \"no-network\"\n[environment.env]\nTOKEN = \"${PCB_TEST_PLANTED}\"\n\
                    [verifier.env]\nTOKEN = \"${PCB_TEST_PLANTED}\"\n";
    bench.write("task/task.toml", settings);
    bench.write("task/instruction.md", "Write the length of TOKEN into /app/done.\n");
    bench.write("task/environment/Dockerfile", "FROM debian:bookworm-slim\nWORKDIR /app\n");
    let test = "#!/bin/bash\nif [ \"$(cat /app/done)\" = \"${#TOKEN}\" ]; then echo 1; else echo 0; fi \
                > /logs/verifier/reward.txt\n";
    bench.write("task/tests/test.sh", test);
    let act = "[[on]]\nwhen = \"otherwise\"\n\
               do   = [{ run = \"echo ${#TOKEN} > /app/done; sleep 5\" }, { say = \"The work is done.\" }]\n";
    bench.write("measurer.toml", act);
    let arguments =
        ["run", "task", "--agent", "measurer.toml", "--sandbox", "docker", "--out", "out"];
    let mut run = command(&bench, &arguments);
    run.env("PCB_TEST_PLANTED", PLANTED);
    let running = Running::start(run);
    let mut tries = 0;
    let found = loop {
        let found = containers(&bench, "label=personacodebench.run=measurer");
        if !found.is_empty() {
            break found;
        }
        tries += 1;
        assert!(tries < 300, "no container came");
        thread::sleep(Duration::from_millis(100));
    };
    thread::sleep(Duration::from_millis(500));
    let mut asked = Command::new("docker");
    asked.arg("inspect").args(&found);
    let mut asked = bench.cleared(asked);
    if let Ok(address) = std::env::var("DOCKER_HOST") {
        asked.env("DOCKER_HOST", address);
    }
    let told = asked.output().expect("the program `docker`").stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(told.contains("personacodebench.run"), "{told}");
    assert!(!told.contains(PLANTED), "the engine tells it to everybody");
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(PLANTED), "on a command line: {line}");
    }
    let done = running.wait();
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("1/1"), "it was there: {}", done.stdout);
    let mut searched = 0;
    let mut folders = vec![bench.out()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path());
                continue;
            }
            searched += 1;
            let bytes = fs::read(entry.path()).expect("a file");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.contains(PLANTED), "{}", entry.path().display());
        }
    }
    assert!(searched > 5, "{searched} files");
}
