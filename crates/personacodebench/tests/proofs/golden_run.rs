//! The golden run of `tiny`: the tree of its directory, its logs, its report and its story, twice the same.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use crate::bench::{Bench, files_below, is_hash, log_lines, normalised};

const AGENTS: [&str; 3] = ["oracle", "eager", "nop"];
const LOG: &str = "sessions/caretaker--greet/repeat-1/attempt-1/log.jsonl";

#[test]
fn golden_run() {
    let bench = Bench::new();
    let group = bench.tiny(&AGENTS, &[]);

    insta::assert_snapshot!("tree", tree(&group));
    for agent in AGENTS {
        let lines = log_lines(&group.join(agent).join(LOG));
        let lines: Vec<String> = lines.iter().map(|line| untimed(line).to_string()).collect();
        insta::assert_snapshot!(format!("log_{agent}"), lines.join("\n"));
    }
    let report = normalised(&bench.report(&[&group]));
    insta::assert_snapshot!("report", pretty(&report));
    let run = group.join("oracle");
    let arguments = ["show", run.to_str().expect("a plain path"), "caretaker--greet", "--json"];
    let story: Value = serde_json::from_str(&bench.expect(0, &arguments).stdout).expect("JSON");
    insta::assert_snapshot!("story_oracle", pretty(&normalised(&story)));

    let again = bench.tiny(&AGENTS, &[]);
    assert_ne!(group, again);
    for agent in AGENTS {
        let [first, second] = [&group, &again].map(|group| decisions(&group.join(agent).join(LOG)));
        assert!(!first.is_empty());
        assert_eq!(first, second, "{agent} was decided otherwise at the second time");
    }
    let replayed = bench.expect(0, &["replay", again.to_str().expect("a plain path")]);
    assert_eq!(
        replayed.stdout.trim(),
        "3 logs replayed: 3 agree, 0 differ; 0 attempts without an end"
    );
}

/// The files of a group; payloads and kept release files count by their folder.
fn tree(group: &Path) -> String {
    let shown = |path: String| {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            [run, store, _, hash] if is_hash(hash) => format!("{run}/{store}/<aa>/<hash>"),
            _ => path,
        }
    };
    let files: BTreeSet<String> = files_below(group).into_iter().map(shown).collect();
    files.into_iter().collect::<Vec<_>>().join("\n")
}

/// A log line without times; how many programs a shell starts is the host's affair.
fn untimed(line: &Value) -> Value {
    let mut line = normalised(line);
    if let Some(cut) = line.pointer_mut("/event/observed/cut")
        && cut["channel"] == "processes"
    {
        cut["count"] = json!("SOME");
    }
    if let Some(captured) = line.pointer_mut("/event/answered/1/captured") {
        captured["processes"] = json!("SOME");
    }
    if line.get("channels").is_some() {
        line["channels"] = json!("HOST");
    }
    line
}

fn decisions(log: &Path) -> Vec<Value> {
    let lines = log_lines(log);
    let decided = lines.iter().filter_map(|line| line.pointer("/event/decided"));
    // A deadline is what is left of a budget, which is a matter of time.
    decided.map(normalised).collect()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON")
}

#[test]
fn a_bundled_release_runs_from_an_unpacked_copy() {
    let bench = Bench::new();
    let binary = bench.path().join("pcb");
    fs::copy(env!("CARGO_BIN_EXE_pcb"), &binary).expect("a copy");
    let mut command = std::process::Command::new(&binary);
    command.args(["run", "tiny", "--agent", "oracle", "--out", "out", "--json"]);
    let done = crate::bench::Running::start(bench.cleared(command)).wait();
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(report["rows"][0]["joint"]["count"], 1);
    assert!(bench.state().join("releases").is_dir());
}
