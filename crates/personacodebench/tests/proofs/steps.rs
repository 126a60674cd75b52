//! A task of somebody else's that has three steps, run, shown, reported, replayed and graded again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::bench::Bench;

/// The second step brings files with a setup; of the third the agent's own look at the sandbox is kept.
const FILES: [(&str, &str); 13] = [
    (
        "task.toml",
        "schema_version = \"1.4\"\n\
         [verifier]\ntimeout_sec = 30.0\n\
         [environment]\nworkdir = \"/app\"\nnetwork_mode = \"no-network\"\n\
         [[steps]]\nname = \"bed\"\nmin_reward = 1.0\nagent = { timeout_sec = 60.0 }\n\
         [[steps]]\nname = \"path\"\n[steps.verifier]\nenv = { LEAST = \"3\" }\n\
         [[steps]]\nname = \"gate\"\nmin_reward = { reward = 1.0 }\n",
    ),
    ("environment/setup.sh", "#!/bin/sh\nset -eu\nmkdir -p /app\n"),
    (
        "tests/test.sh",
        "#!/bin/sh\nsh /tests/look.sh && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n\
         echo looked; touch trace_of_tests\n",
    ),
    ("steps/bed/instruction.md", "<!-- canary: not to be trained on -->\nMake the bed.\n"),
    ("steps/bed/tests/look.sh", "grep -q bed bed\n"),
    ("steps/bed/solution/solve.sh", "#!/bin/sh\necho bed > bed\n"),
    ("steps/path/instruction.md", "Make the path.\n"),
    ("steps/path/tests/look.sh", "test \"$(wc -l < path)\" -ge $LEAST && test ! -e seen\n"),
    ("steps/path/workdir/stones", "1\n2\n3\n"),
    ("steps/path/workdir/setup.sh", "cp stones prepared\n"),
    (
        "steps/path/solution/solve.sh",
        "#!/bin/sh\ncp prepared path\n\
         for at in /tests /logs/verifier trace_of_tests; do test -e $at && echo $at >> seen; done\n\
         true\n",
    ),
    ("steps/gate/instruction.md", "Make the gate.\n"),
    (
        "steps/gate/tests/test.sh",
        "#!/bin/sh\ntest -f gate && echo 0.5 > /logs/verifier/reward.txt\n",
    ),
];

fn garden(bench: &Bench) -> PathBuf {
    for (path, text) in FILES {
        bench.write(&format!("garden/{path}"), text);
    }
    bench.write("garden/steps/gate/solution/solve.sh", "#!/bin/sh\ntouch gate\n");
    bench.path().join("garden")
}

/// Runs the task with an agent and answers the run's folder.
fn run(bench: &Bench, agent: &str, more: &[&str]) -> PathBuf {
    let task = garden(bench);
    let mut arguments = vec!["run", task.to_str().expect("a plain path")];
    arguments.extend(["--agent", agent, "--sandbox", "local", "--out", "out"]);
    arguments.extend(more);
    let done = bench.expect(0, &arguments);
    let group =
        done.stderr.lines().find(|line| line.starts_with("out/")).expect("the group's folder");
    bench.path().join(group).join(agent)
}

fn story(bench: &Bench, run: &Path) -> Value {
    let done = bench.expect(0, &["show", run.to_str().expect("a plain path"), "garden", "--json"]);
    serde_json::from_str(&done.stdout).expect("JSON")
}

/// Name, what was left, and what is needed to go on, of each step.
fn steps(story: &Value) -> Value {
    let each = story["steps"].as_array().expect("steps").iter();
    let each = each.map(|step| json!([step["step"], step["outcome"], step["least"]]));
    each.collect()
}

#[test]
fn the_oracle_solves_each_step() {
    let bench = Bench::new();
    let run = run(&bench, "oracle", &["--completion", "reward>=0.8"]);
    let told = story(&bench, &run);
    let expect = json!([
        ["bed", "reward = 1", "reward of at least 1"],
        ["path", "reward = 1", null],
        ["gate", "reward = 0.5", "reward of at least 1"],
    ]);
    assert_eq!(steps(&told), expect);
    assert_eq!(told["ending"], "accepted");
    assert_eq!(told["facts"]["completed"], true, "the mean is 0.83");
    assert_eq!(told["completion"]["rule"], "reward of at least 0.8, mean of all 3 steps");
    let ended: Vec<&Value> =
        told["turns"].as_array().expect("turns").iter().map(|t| &t["ended"]).collect();
    assert_eq!(ended[1], "the agent returned control; the step path is over");
    assert!(
        told["turns"][1]["user"].as_str().expect("words").ends_with("```\nMake the path.\n```")
    );
    assert!(!told["turns"][0]["user"].as_str().expect("words").contains("canary"));
    // What the task brought along is no change of the agent's.
    let changed = told["turns"][1]["changed"].as_array().expect("changes");
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(changed[0]["path"], "/app/path");

    let group = run.parent().expect("a group").to_str().expect("a plain path").to_owned();
    let replayed = bench.expect(0, &["replay", &group]);
    assert!(replayed.stdout.starts_with("1 logs replayed: 1 agree"), "{}", replayed.stdout);
    let page = bench.expect(0, &["report", &group, "--format", "html"]).stdout;
    for words in [">Steps<", "What the tests of bed printed", "the step path is over"] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[test]
fn who_falls_short_in_the_first_step_is_not_asked_for_the_second() {
    let bench = Bench::new();
    let run = run(&bench, "nop", &[]);
    let told = story(&bench, &run);
    let expect = json!([
        ["bed", "reward = 0", "reward of at least 1"],
        ["path", "not reached", null],
        ["gate", "not reached", "reward of at least 1"],
    ]);
    assert_eq!(steps(&told), expect);
    assert_eq!(told["ending"], "step_unmet");
    assert_eq!(told["facts"]["completed"], false);
    assert_eq!(told["turns"].as_array().map(Vec::len), Some(1));
}

/// The seal holds the last step; what the earlier ones came to stands in the log before it.
#[test]
fn the_last_step_is_graded_again_from_the_seal() {
    let bench = Bench::new();
    let run = run(&bench, "oracle", &[]);
    let first = run.join("sessions/garden/repeat-1/attempt-1");
    let log = fs::read_to_string(first.join("log.jsonl")).expect("a log");
    let seal = log.lines().position(|line| line.contains("\"sealed\"")).expect("a seal");
    let until: String = log.split_inclusive('\n').take(seal + 1).collect();
    fs::write(first.join("log.jsonl"), until).expect("a log");
    fs::remove_file(first.join("end.json")).expect("a file");
    let group = run.parent().expect("a group").to_str().expect("a plain path").to_owned();
    bench.expect(0, &["resume", &group]);
    assert!(first.join("regrade-1.jsonl").exists(), "it was graded again");
    let told = story(&bench, &run);
    assert_eq!(steps(&told)[2][1], "reward = 0.5");
    assert_eq!(told["facts"]["completed"], false, "0.83 is less than 1");
    bench.expect(0, &["replay", &group]);
}

#[test]
fn a_persona_has_no_say_in_steps() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    let task = release.join("tasks/greet/task.toml");
    let text = fs::read_to_string(&task).expect("a task");
    fs::write(&task, text + "\n[[steps]]\nname = \"one\"\n").expect("a task");
    bench.write("mine/tasks/greet/steps/one/instruction.md", "Greet.\n");
    let linted = bench.pcb(&["lint", "mine"]);
    let shown = linted.stdout + &linted.stderr;
    assert_ne!(linted.code, Some(0), "{shown}");
    let words: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("a persona has no say in it"), "{shown}");
}
