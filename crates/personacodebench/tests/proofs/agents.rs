//! Sessions with agents that are programs of their own: from the command line to the table, the story and an export.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::bench::Bench;

const FAKE: &str = include_str!("../../../adapters/tests/agents/fake_acp.py");

const TURNS: &str = r#"think I read the greeter first.
run printf '#!/bin/sh\nprintf "Hello, %%s!\\n" "${1:-World}"\n' > greet.sh
usage
say greet.sh now greets by name. The work is done.
---
plan write USAGE
run echo 'Start it with a name: sh greet.sh Ada' > USAGE
say I left a file called USAGE beside greet.sh. The work is done.
"#;

/// The smallest release, as `mine`, with this agent in its environment and these files beside it.
pub fn place_fake(bench: &Bench, files: &[(&str, &str)]) {
    let release = bench.copy_of("tiny", "mine");
    let environment = release.join("tasks/greet/environment");
    let mut names = Vec::new();
    for (name, text) in [("fake_acp.py", FAKE)].iter().chain(files) {
        fs::write(environment.join("files").join(name), text).expect("a file of the agent");
        names.push(format!("files/{name}"));
    }
    let setup = environment.join("setup.sh");
    let script = fs::read_to_string(&setup).expect("a setup");
    let placed = format!("mkdir -p /opt/fake\ncp {} /opt/fake/\n", names.join(" "));
    fs::write(&setup, script + &placed).expect("a longer setup");
}

/// The only folder in another.
pub fn only_folder(folder: &Path) -> PathBuf {
    fs::read_dir(folder).expect("a folder").next().expect("one in it").expect("a folder").path()
}

/// Runs it with this agent; answers the run's group.
fn with_fake(bench: &Bench, agent: &str, more: &[&str]) -> PathBuf {
    place_fake(bench, &[("turns.txt", TURNS)]);
    bench.pcb(&[&["run", "mine", "--agent", agent, "--out", "out"], more].concat());
    only_folder(&bench.out())
}

#[test]
fn an_acp_agent_is_run_scored_shown_and_exported() {
    let bench = Bench::new();
    let agent = "acp:/usr/bin/python3 /opt/fake/fake_acp.py turns";
    let group = with_fake(&bench, agent, &[]);
    let shown = group.to_str().expect("a plain path");
    let report = bench.report(&[&group]);
    assert_eq!(report["rows"][0]["sessions"][0]["class"], "joint pass", "{report}");
    bench.expect(0, &["replay", shown]);

    let run = only_folder(&group);
    let run = run.to_str().expect("a plain path");
    let told = bench.expect(0, &["show", run, "caretaker--greet"]).stdout;
    for words in [
        "thought: I read the greeter first.",
        "tool: shell — completed [0]",
        "plan [done] write USAGE",
        "says it used 10 in, 4 cached, 2 out",
    ] {
        assert!(told.contains(words), "{words} is not told in\n{told}");
    }
    let log = group.join(run).join("sessions/caretaker--greet/repeat-1/attempt-1/log.jsonl");
    let log = fs::read_to_string(log).expect("a log");
    assert!(log.contains(r#""identity":"fake 1.0""#), "the agent's own name is not in the log");

    bench.expect(0, &["export", "harbor", run, "--out", "job"]);
    let trajectory = "job/caretaker--greet__repeat-1.attempt-1/agent/trajectory.json";
    let trajectory: Value = serde_json::from_str(&bench.read(trajectory)).expect("JSON");
    let steps = trajectory["steps"].as_array().expect("steps");
    let thinks = |step: &&Value| step["reasoning_content"] == "I read the greeter first.";
    let step = steps.iter().find(thinks).unwrap_or_else(|| panic!("no thought in {trajectory}"));
    let call = &step["tool_calls"][0];
    assert!(
        call["arguments"]["command"].as_str().is_some_and(|c| c.contains("greet.sh")),
        "{call}"
    );
    let result = &step["observation"]["results"][0];
    assert_eq!(result["source_call_id"], call["tool_call_id"]);
}

/// A command for each turn, and what it says of itself.
const COMMAND: &str = r#"
name  = "mine"
first = ["sh", "/opt/fake/turn.sh", "greet", "{prompt}"]
next  = ["sh", "/opt/fake/turn.sh", "{session}", "{prompt}"]

[session]
at = ["/session"]

[[event]]
says = "/text"

[[event]]
uses = { span = "turn", input = "/tokens" }
"#;

const TURN: &str = r#"case "$1" in
greet)
    printf '#!/bin/sh\nprintf "Hello, %%s!\\n" "${1:-World}"\n' > greet.sh
    echo '{"session": "usage", "tokens": 7}'
    echo '{"text": "greet.sh now greets by name. The work is done."}' ;;
usage)
    echo 'Start it with a name: sh greet.sh Ada' > USAGE
    echo '{"text": "I left a file called USAGE beside greet.sh. The work is done."}' ;;
esac
"#;

#[test]
fn a_command_that_is_started_for_each_turn_is_run_and_scored() {
    let bench = Bench::new();
    place_fake(&bench, &[("turn.sh", TURN)]);
    fs::write(bench.path().join("mine.toml"), COMMAND).expect("a description");
    bench.pcb(&["run", "mine", "--agent", "cli:mine.toml", "--out", "out"]);
    let group = only_folder(&bench.out());
    let report = bench.report(&[&group]);
    assert_eq!(report["rows"][0]["sessions"][0]["class"], "joint pass", "{report}");
    assert!(
        report["rows"][0]["load"]["tokens"].is_null(),
        "what it says of its tokens is not counted"
    );
    bench.expect(0, &["replay", group.to_str().expect("a plain path")]);
}

#[test]
fn an_acp_agent_that_cannot_be_opened_is_a_fault_with_its_reason() {
    let bench = Bench::new();
    let group = with_fake(&bench, "acp:/opt/fake/absent --acp", &[]);
    let report = bench.report(&[&group]);
    let session = &report["rows"][0]["sessions"][0];
    assert_eq!(session["class"], "infra", "{report}");
    let run = only_folder(&group);
    let shown = run.to_str().expect("a plain path");
    let told = bench.pcb(&["show", shown, "caretaker--greet"]).stdout;
    assert!(told.contains("/opt/fake/absent is not in the sandbox"), "{told}");
}

#[test]
fn what_an_acp_agent_is_told_wrongly_is_refused_before_the_run() {
    let check = |arguments: &[&str], expect: &str| {
        let bench = Bench::new();
        let refused = bench.pcb(&[&["run", "tiny", "--out", "out"], arguments].concat());
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        // Lines are wrapped where they are shown.
        let told = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(expect), "{expect}: {told}");
        assert!(!bench.out().exists(), "something was begun");
    };
    check(&["--agent", "acp:"], "no command");
    check(&["--agent", "acp:goose 'acp"], "a quote that is not closed");
    let unknown = ["--agent", "acp:goose acp", "--set", "speed=9"];
    check(&unknown, "--set speed=9");
    check(&["--agent", "ndjson:"], "write it as for a shell: --agent 'ndjson:my-agent'");
    check(
        &["--agent", "claude-stream:claude", "--set", "mode=plan"],
        "has the settings env.NAME=VALUE",
    );
    check(
        &["--agent", "cli:nothing"],
        "`nothing` is no description of ours (aider, codex, copilot",
    );
    check(
        &["--agent", "cli:/etc/passwd"],
        "--agent cli:/etc/passwd: /etc/passwd: TOML parse error",
    );
    check(&["--agent", "loop"], "has no model; name one with --models FILE --agent-model NAME");
    check(&["--agent", "human:m-1"], "a person takes no model");
    check(&["--agent", "human", "--set", "env.A=b"], "the agent human has no settings");
}
