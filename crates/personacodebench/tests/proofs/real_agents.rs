//! Real agents, installed from the registry and driven in real sandboxes against a scripted model: what of each works, and one
//! run of a pair from the command line to the table.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    agents::only_folder,
    bench::{Bench, Done, Running, Served},
};

/// Variables by which the registry's client finds its settings and the way out, whatever their case.
const REGISTRY: [&str; 5] = ["home", "npm_config_", "ssl_cert_", "node_extra_ca_certs", "_proxy"];

/// A command of the binary that may install agents; they stay for the next time.
fn with_registry(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(arguments);
    let is_theirs = |name: &str| REGISTRY.iter().any(|part| name.to_lowercase().contains(part));
    command.envs(std::env::vars().filter(|(name, _)| is_theirs(name)));
    command.env("PCB_AGENTS_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("agents"));
    command
}

/// Checks an agent: all works but what is named, with a part of what is told of it.
fn check(name: &str, more: &[&str], fails: &[(&str, &str)]) {
    let bench = Bench::new();
    let arguments = [&["agent", "check", name, "--json"], more].concat();
    let done = Running::start(with_registry(&bench, &arguments)).wait();
    let report: Value = serde_json::from_str(&done.stdout)
        .unwrap_or_else(|error| panic!("{name}: {error}: {}\n{}", done.stdout, done.stderr));
    let lines = report["lines"].as_array().expect("lines");
    let failed: Vec<(&str, &str)> = lines
        .iter()
        .filter(|line| line["tried"] == "fails")
        .map(|line| (line["what"].as_str().unwrap_or(""), line["detail"].as_str().unwrap_or("")))
        .collect();
    let is_as_expected = failed.len() == fails.len()
        && failed
            .iter()
            .zip(fails)
            .all(|(found, wanted)| found.0 == wanted.0 && found.1.contains(wanted.1));
    assert!(is_as_expected, "{name}: {failed:?}, expected {fails:?}\n{report:#}");
    assert_eq!(done.code, Some(if fails.is_empty() { 0 } else { 1 }), "{name}");
    // What was tried is all that there is to try.
    let wanted = 10 + if more.contains(&"--faults") { 4 } else { 0 };
    assert_eq!(lines.len(), wanted, "{name}: {report:#}");
}

#[test]
fn goose_works_in_fair_and_foul_weather() {
    // It cannot be stopped while its model says nothing; a session ends it then.
    check("goose", &["--faults"], &[("provider hangs", "goes on when it is asked to stop")]);
}

#[test]
fn codex_works_in_fair_and_foul_weather() {
    check("codex-acp", &["--faults"], &[]);
}

#[test]
fn claude_works() {
    check("claude-agent-acp", &[], &[]);
}

#[test]
fn opencode_works_and_leaves_its_mark_in_the_repository() {
    check("opencode", &[], &[("silence", "1 traces: /app/.git/opencode")]);
}

/// What a good model does for the manager of the starter release, message by message.
fn model_script() -> String {
    let task = "../../releases/starter/tasks/version_chore/solution/solve.sh";
    let solve = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(task));
    let solve = solve.expect("the task's solution");
    let package = "mkdir -p dist\ngit archive --prefix=tidewatch-1.5.0/ \
        --output=dist/tidewatch-1.5.0.tar.gz v1.5.0 tidewatch tidewatch.1 README.md CHANGELOG.md sample.tides";
    let result = "Result: Release 1.5.0 stands prepared and waits for its day. It is done.\nDecisions:\n\
        - Nothing went out to customers or partners yet.\n\
        - The download holds what customers use and nothing internal.\n";
    let block = |user: &str, run: &str, say: &str| {
        let [run, say] = [run, say].map(|text| serde_json::to_string(text).expect("a string"));
        let usage = "usage = { input = 2000, output = 100 }";
        format!(
            "[[on]]\nuser = '{user}'\n[[on.answer]]\nrun = [{run}]\n{usage}\n\
             [[on.answer]]\nsay = {say}\n{usage}\n"
        )
    };
    let prepared = "Release 1.5.0 is prepared, and nothing was sent anywhere. It is done.";
    [
        block("Decisions:", "ls -l dist", result),
        block("tar\\.gz", package, "What customers download is in place now. It is done."),
        block("tools/prepare", &solve, prepared),
        block("", "ls", result),
    ]
    .concat()
}

#[test]
fn a_pair_is_run_by_a_real_agent_from_command_to_table() {
    let bench = Bench::new();
    let served = Served::by(&bench, &model_script());
    let models = format!(
        "[[model]]\nname = \"good\"\nmodel = \"scripted\"\nformat = \"openai_chat\"\nbase = \"{}/v1\"\n\
         [[price]]\nmodel = \"scripted\"\ninput = 1.0\noutput = 10.0\n",
        served.address
    );
    bench.write("models.toml", &models);
    let run = |more: &[&str]| -> Done {
        let pair = ["run", "starter", "--pairs", "manager--version_chore", "--out", "out"];
        Running::start(with_registry(&bench, &[&pair, more].concat())).wait()
    };
    let told = |done: &Done| done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    // What keeps it from working is said before anything is begun.
    let done = run(&["--agent", "goose"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(told(&done).contains("name one with --agent-model"), "{}", done.stderr);
    let with_model = ["--models", "models.toml", "--agent-model", "good"];
    let done = run(&[&["--agent", "codex-acp"], &with_model[..]].concat());
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(told(&done).contains("in the form openai_responses"), "{}", done.stderr);
    assert!(!bench.out().exists(), "something was begun");

    let done = run(&[&["--agent", "goose"], &with_model[..]].concat());
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("goose"), "{}", done.stdout);
    let group: PathBuf = only_folder(&bench.out());
    let report = bench.report(&[&group]);
    let session = &report["rows"][0]["sessions"][0];
    assert_eq!(session["class"], "joint pass", "{report:#}");
    let run = only_folder(&group);
    let run = run.to_str().expect("a plain path");
    let shown = bench.expect(0, &["show", run, "manager--version_chore"]).stdout;
    for words in ["End: accepted", "What customers download is in place now."] {
        assert!(shown.contains(words), "{words} is not told in\n{shown}");
    }
    bench.expect(0, &["replay", group.to_str().expect("a plain path")]);
}
