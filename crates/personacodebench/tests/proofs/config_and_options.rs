//! Options of `pcb run`: what is typed wins over a file, and each does what its help says.

use std::{collections::BTreeSet, fs, path::Path, process::Stdio};

use serde_json::Value;

use crate::bench::{Bench, log_lines};

#[test]
fn what_is_typed_wins_over_the_file() {
    let bench = Bench::new();
    bench.write(
        "run.toml",
        "agent = [\"nop\", \"eager\"]\nrepeats = 3\narm = \"opening\"\nbudget = \"3x\"\nseed = 9\nout = \"out\"\n",
    );
    let done = bench.expect(
        0,
        &["run", "tiny", "--config", "run.toml", "--agent", "oracle", "--repeats", "1", "--json"],
    );
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(report["rows"].as_array().expect("rows").len(), 1);
    assert_eq!(report["rows"][0]["configuration"], "oracle");
    let header = &report["header"];
    let found = [&header["arm"], &header["repeats"], &header["budget_multiplier"]];
    assert_eq!(found, [&Value::from("opening"), &Value::from(1), &Value::from(3)]);
    assert_eq!(plan_of(&bench, "oracle")["plan"]["seed"], 9);
}

#[test]
fn pairs_and_limit_choose() {
    let bench = Bench::new();
    let arguments = [
        "run", "starter", "--agent", "nop", "--pairs", "*--*", "--limit", "2", "--out", "out",
        "--json",
    ];
    let done = bench.expect(0, &arguments);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let sessions = report["rows"][0]["sessions"].as_array().expect("sessions");
    let pairs: BTreeSet<&str> = sessions.iter().filter_map(|s| s["pair"].as_str()).collect();
    let listed = bench.expect(0, &["list", "pairs", "starter"]).stdout;
    let first: BTreeSet<&str> =
        listed.lines().take(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(pairs, first);
    assert_eq!(report["rows"][0]["joint"]["count"], 0);
}

#[test]
fn the_same_seed_draws_the_same() {
    let draws = |seed: &str| {
        let bench = Bench::new();
        let group = bench.tiny(&["nop"], &["--repeats", "2", "--seed", seed]);
        fs::read_to_string(group.join("nop/plan.jsonl")).expect("a plan")
    };
    let first = draws("5");
    assert_eq!(first, draws("5"));
    assert_ne!(first, draws("6"));
}

#[test]
fn budgets_are_multiplied_and_replaced() {
    let cases: [(&[&str], u64); 4] = [
        (&[], 60_000),
        (&["--budget", "2x"], 120_000),
        (&["--interaction-limit", "10"], 10_000),
        (&["--budget", "3x", "--interaction-limit", "10"], 30_000),
    ];
    for (options, agent_time_ms) in cases {
        let bench = Bench::new();
        let group = bench.tiny(&["nop"], options);
        let plan = fs::read_to_string(group.join("nop/plan.jsonl")).expect("a plan");
        let spec: Value = serde_json::from_str(plan.trim()).expect("one spec");
        let limits = &spec["limits"];
        assert_eq!(limits["agent_time_ms"], agent_time_ms, "{options:?}");
        assert_eq!(limits["turns_max"], 6, "turns are never multiplied");
        assert_eq!(limits["wall_time_ms"], agent_time_ms + 3_600_000);
    }
}

#[test]
fn an_interaction_limit_ends_the_session() {
    let bench = Bench::new();
    let agent = bench.write(
        "slow.toml",
        "[[on]]\nwhen = \"opening\"\ndo = [\"hang\"]\n\n[[on]]\nwhen = \"otherwise\"\ndo = [\"idle\"]\n",
    );
    let group = bench.tiny(&[agent.to_str().expect("a plain path")], &["--interaction-limit", "1"]);
    let session = &bench.report(&[&group])["rows"][0]["sessions"][0];
    assert_eq!(session["ending"], "agent_time");
    assert_eq!(session["class"], "over budget");
}

#[test]
fn every_arm_runs_and_arms_do_not_compare() {
    let bench = Bench::new();
    let mut groups = Vec::new();
    let cases = [
        ("progressive", Some(1)),
        ("opening", Some(1)),
        ("no-persona", None),
        ("neutral-turns", None),
    ];
    for (arm, joint) in cases {
        let group = bench.tiny(&["oracle", "nop"], &["--arm", arm]);
        let report = bench.report(&[&group]);
        let row = |name: &str| {
            let rows = report["rows"].as_array().expect("rows");
            rows.iter().find(|row| row["run"] == name).expect("a row").clone()
        };
        assert_eq!(row("oracle")["completed_valid"]["count"], 1, "{arm}");
        assert_eq!(row("nop")["completed_valid"]["count"], 0, "{arm}");
        assert_eq!(row("oracle")["joint"]["count"].as_u64(), joint, "{arm}");
        let turns = row("oracle")["load"]["turns"].as_u64().expect("turns");
        let expected = if arm == "progressive" || arm == "neutral-turns" { 2 } else { 1 };
        assert_eq!(turns, expected, "{arm}");
        let opening = first_message(&group.join("oracle"));
        assert_eq!(opening.contains("USAGE"), arm == "opening", "{arm}: {opening}");
        groups.push(group);
    }
    let folders: Vec<&Path> = groups.iter().map(|group| group.as_path()).collect();
    let together = bench.report(&folders);
    assert_eq!(together["differs"], Value::from(vec!["arm"]));
    let mut arguments = vec!["report"];
    arguments.extend(folders.iter().map(|path| path.to_str().expect("a plain path")));
    let table = bench.expect(0, &arguments).stdout;
    assert!(table.contains("these rows do not compare: they differ in arm"), "{table}");
    census_fits(&table);
}

/// Each figure of a census stands under its own class, whatever classes the other rows have.
fn census_fits(table: &str) {
    let census = table.split("Census").nth(1).and_then(|rest| rest.split("Validity").next());
    let census = census.expect("a census");
    let cases = [
        ("joint pass", ["0", "1", "0", "1", "–", "–", "–", "–"]),
        ("agent stopped", ["1", "0", "1", "0", "0", "0", "0", "0"]),
        ("completed", ["–", "–", "–", "–", "0", "1", "0", "1"]),
        ("not completed", ["–", "–", "–", "–", "1", "0", "1", "0"]),
        ("assigned", ["1"; 8]),
    ];
    for (class, expected) in cases {
        let row = census.lines().find_map(|line| line.trim().strip_prefix(class));
        let row = row.unwrap_or_else(|| panic!("no class `{class}` in\n{census}"));
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), expected, "{class}");
    }
}

fn first_message(run: &Path) -> String {
    let log = run.join("sessions/caretaker--greet/repeat-1/attempt-1/log.jsonl");
    let prompts = log_lines(&log);
    let found = prompts.iter().find_map(|line| line.pointer("/event/decided/1/prompt/message"));
    found.and_then(Value::as_str).expect("a message").to_owned()
}

fn plan_of(bench: &Bench, run: &str) -> Value {
    let group = fs::read_dir(bench.out()).expect("out").next().expect("a group").expect("it");
    let text = fs::read_to_string(group.path().join(run).join("run.json")).expect("run.json");
    serde_json::from_str(&text).expect("JSON")
}

/// What an arm cannot tell stays in the denominator, and the report says which pairs that are.
#[test]
fn pairs_that_an_arm_excludes_are_named() {
    let bench = Bench::new();
    let pair = bench.copy_of("tiny", "mine").join("pairs/caretaker--greet/pair.toml");
    let text = fs::read_to_string(&pair).expect("a pair");
    let since = text.replacen("is = \"present\",", "is = \"changed\", since = \"usage_note\",", 1);
    assert_ne!(since, text);
    fs::write(&pair, since).expect("a pair");
    for (arm, is_excluded) in [("opening", true), ("progressive", false)] {
        let run = ["run", "mine", "--agent", "oracle", "--out", "out", "--arm", arm];
        let table = bench.pcb(&run).stdout;
        assert_eq!(table.contains("never run in the opening arm"), is_excluded, "{arm}: {table}");
        assert_eq!(table.contains("caretaker--greet"), is_excluded, "{arm}: {table}");
    }
}

/// What would lie in a release would be read as a part of it the next time.
#[test]
fn runs_are_never_made_inside_a_release() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    let out = release.join("runs");
    let (release, out) = (release.to_str().expect("a plain path"), out.to_str().expect("UTF-8"));
    for command in ["run", "calibrate"] {
        let agent: &[&str] = if command == "run" { &["--agent", "nop"] } else { &[] };
        let arguments = [&[command, release, "--out", out], agent].concat();
        let refused = bench.expect(2, &arguments).stderr;
        assert!(refused.contains("inside the release") && refused.contains("--out"), "{refused}");
    }
    bench.expect(0, &["lint", release]);
}

/// Nothing is planned for a pair that has no such counterexample.
#[test]
fn an_agent_that_a_pair_lacks_is_refused() {
    let bench = Bench::new();
    let out = bench.out();
    let out_text = out.to_str().expect("a plain path");
    let arguments = ["run", "tiny", "--agent", "saboteur-9", "--out", out_text];
    let refused = bench.expect(2, &arguments).stderr;
    assert!(refused.contains("caretaker--greet has no saboteur-9"), "{refused}");
    assert!(refused.contains("pcb list agents"), "{refused}");
    assert!(!out.exists(), "a folder was made");
}

/// `pcb … | head` is no fault of anybody.
#[test]
fn a_reader_that_leaves_is_no_fault() {
    let bench = Bench::new();
    let cases: [&[&str]; 6] = [
        &["list", "pairs"],
        &["published"],
        &["schema", "pair"],
        &["man"],
        &["completions", "bash"],
        &["doctor"],
    ];
    for arguments in cases {
        let mut command = bench.command(arguments);
        // A pipe that nobody reads: its reading end is closed before the program starts.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("it ran");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !said.contains("panicked") && !said.contains("Broken pipe"),
            "{arguments:?}: {said}"
        );
        assert_ne!(output.status.code(), Some(101), "{arguments:?}");
    }
    let full = fs::File::options().write(true).open("/dev/full").expect("a full device");
    let output = bench.command(&["published"]).stdout(full).output().expect("it ran");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot be written") && !said.contains("panicked"), "{said}");
}
