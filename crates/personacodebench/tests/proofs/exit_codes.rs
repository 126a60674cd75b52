//! The table of exit codes, and what bad input gets: file, line, offending text, remedy, and nothing written.

use std::{fs, path::Path};

use serde_json::Value;

use crate::bench::Bench;

#[test]
fn usage_that_means_nothing_is_refused_with_a_remedy() {
    let cases: [(&[&str], &[&str]); 17] = [
        (&["run", "nosuch", "--agent", "nop"], &["`nosuch`", "bundled: starter, tiny"]),
        (&["run", "tiny"], &["no agent", "--agent", "pcb list agents"]),
        (&["run", "tiny", "--agent", "nope"], &["`nope`", "oracle, eager, nop"]),
        (&["run", "tiny", "--agent", "a:"], &["`a:`", "NAME[:MODEL[@EFFORT]]"]),
        (&["run", "tiny", "--agent", "nop", "--agent", "nop"], &["nop", "--repeats"]),
        (&["run", "tiny", "--agent", "nop:some-model"], &["nop", "some-model", "no model"]),
        (&["run", "tiny", "--agent", "nop", "--set", "x"], &["`x`", "KEY=VALUE"]),
        (&["run", "tiny", "--agent", "nop", "--set", "x=1"], &["nop", "x=1", "no setting"]),
        (&["run", "tiny", "--agent", "nop", "--arm", "up"], &["'up'", "progressive, opening"]),
        (&["run", "tiny", "--agent", "nop", "--pairs", "z*"], &["`z*`", "pcb list pairs tiny"]),
        (&["run", "tiny", "--agent", "nop", "--limit", "0"], &["'0'", "1.."]),
        (&["run", "tiny", "--agent", "nop", "--repeats", "0"], &["'0'", "1..=1000"]),
        (&["run", "tiny", "--agent", "nop", "--budget", "4x"], &["'4x'", "1x, 2x, 3x"]),
        (&["run", "tiny", "--agent", "nop", "--config", "no.toml"], &["no.toml", "No such file"]),
        (&["report", "nothing"], &["nothing", "No such file"]),
        (&["report", "."], &["holds no run", "run.json"]),
        (&["list", "pairs", "nosuch"], &["`nosuch`", "bundled: starter, tiny"]),
    ];
    for (arguments, said) in cases {
        let bench = Bench::new();
        let mut arguments = arguments.to_vec();
        if arguments[0] == "run" {
            arguments.extend(["--out", "out"]);
        }
        let done = bench.expect(2, &arguments);
        for text in said {
            assert!(
                done.stderr.contains(text),
                "{arguments:?} does not say `{text}`: {}",
                done.stderr
            );
        }
        assert!(!bench.out().exists(), "{arguments:?} wrote something");
        assert_eq!(done.stdout, "", "{arguments:?}");
    }
}

#[test]
fn configuration_files_are_refused_as_options_are() {
    let cases = [
        ("arm = \"sideways\"", ["`arm = \"sideways\"`", "progressive, opening"]),
        ("agent = [\"nop\"]\nreepeats = 2", ["line 2", "`repeats`"]),
        ("repeats = \"x\"", ["line 1", "expected u32"]),
        ("agent = [\"nop\"]\nrepeats = 0", ["`repeats = 0`", "1 to 1000"]),
        ("agent = [\"nop\"]\njobs = 0", ["`jobs = 0`", "1 to 4096"]),
        ("agent = [\"nop\"]\nlimit = 0", ["`limit = 0`", "at least 1"]),
        ("agent = [\"nop\"]\ninteraction-limit = 0", ["`interaction-limit = 0`", "at least 1"]),
        ("agent = [\"nop\"", ["line 1", "agent"]),
    ];
    for (text, said) in cases {
        let bench = Bench::new();
        bench.write("run.toml", text);
        let done = bench.expect(2, &["run", "tiny", "--config", "run.toml", "--out", "out"]);
        for part in said.iter().chain(&["run.toml"]) {
            assert!(done.stderr.contains(part), "`{text}` does not say `{part}`: {}", done.stderr);
        }
        assert!(!bench.out().exists());
    }
}

/// A file of `tiny`, what is replaced in it, and by what; an empty search adds at the end.
type Damage = (&'static str, &'static str, &'static str);

#[test]
fn malformed_files_are_shown_all_at_once() {
    let cases: [(&str, &[Damage]); 6] = [
        (
            "several files",
            &[
                ("pairs/caretaker--greet/pair.toml", "\"delivery\"", "\"delivry\"\nbogus = 1"),
                (
                    "pairs/caretaker--greet/oracle.toml",
                    "[[on]]\nwhen = \"opening\"",
                    "[[on]]\nwhen = \"openning\"",
                ),
                ("personas/caretaker.v1.toml", "\"message\", \"files\"", "\"mesage\", \"files\""),
                ("tasks/greet/task.toml", "timeout_sec = 60.0", "timeout_sec = -1"),
                ("release.toml", "", "\nnovelty = true\n"),
            ],
        ),
        ("syntax", &[("pairs/caretaker--greet/pair.toml", "id       =", "id       ")]),
        (
            "a pair without its task",
            &[("pairs/caretaker--greet/pair.toml", "\"greet\"", "\"greeting\"")],
        ),
        (
            "an unknown check",
            &[(
                "pairs/caretaker--greet/pair.toml",
                "{ at_end = \"note_left\" }",
                "{ at_end = \"note\" }",
            )],
        ),
        ("not UTF-8", &[("tasks/greet/instruction.md", "", NOT_UTF_8)]),
        (
            "a lint's error",
            &[(
                "pairs/caretaker--greet/pair.toml",
                "must_say = [\"USAGE\"",
                "must_say = [\"USAGE\", \"card\"",
            )],
        ),
    ];
    let mut all = String::new();
    for (name, damages) in cases {
        let bench = Bench::new();
        let folder = bench.copy_of("tiny", "damaged");
        for (file, from, to) in damages {
            damage(&folder.join(file), from, to);
        }
        let done = bench.pcb(&["run", "damaged", "--agent", "nop", "--out", "out"]);
        assert_eq!(done.code, Some(2), "{name}: {}\n{}", done.stdout, done.stderr);
        assert!(!bench.out().exists(), "{name}");
        for (file, ..) in damages {
            assert!(done.stderr.contains(file), "{name}: nothing about {file}: {}", done.stderr);
        }
        all.push_str(&format!("## {name}: {:?}\n{}\n", done.code, done.stderr));
    }
    insta::assert_snapshot!("malformed_files", all);
}

#[test]
fn a_script_with_problems_gets_them_all() {
    let bench = Bench::new();
    bench.write(
        "mine.toml",
        "[[on]]\nwhen = \"openning\"\ndo   = [{ rnu = \"x\" }, { say = \"\" }, \"jump\"]\n\n[[on]]\nwhen = { tolld = \"x\" }\n",
    );
    let done = bench.expect(2, &["run", "tiny", "--agent", "mine.toml", "--out", "out"]);
    insta::assert_snapshot!("script_problems", done.stderr);
    assert!(!bench.out().exists());
}

#[test]
fn lint_and_lock_find() {
    let bench = Bench::new();
    let folder = bench.copy_of("tiny", "mine");
    damage(
        &folder.join("pairs/caretaker--greet/pair.toml"),
        "must_say = [\"USAGE\"",
        "must_say = [\"card\"",
    );
    let linted = bench.expect(1, &["lint", "mine"]);
    assert!(linted.stdout.contains("pair.toml:35:12"), "{}", linted.stdout);
    bench.expect(1, &["lock", "mine"]);
    assert!(!folder.join("release.lock").exists());

    damage(
        &folder.join("pairs/caretaker--greet/pair.toml"),
        "must_say = [\"card\"",
        "must_say = [\"USAGE\"",
    );
    bench.expect(4, &["lock", "--check", "mine"]);
    bench.expect(0, &["lock", "mine"]);
    bench.expect(0, &["lock", "--check", "mine"]);
    damage(&folder.join("tasks/greet/instruction.md"), "", "more\n");
    for arguments in [
        &["lock", "--check", "mine"][..],
        &["run", "mine", "--agent", "nop", "--out", "out"],
        &["lint", "mine"],
    ] {
        let done = bench.expect(4, arguments);
        for text in ["tasks/greet/instruction.md", "changed after locking", "pcb lock"] {
            assert!(done.stderr.contains(text), "{arguments:?}: {}", done.stderr);
        }
    }
    assert!(!bench.out().exists());
}

#[test]
fn a_fault_counts_as_not_passed_and_the_others_go_on() {
    let bench = Bench::new();
    let folder = bench.copy_of("tiny", "mine");
    for (kind, from, to) in
        [("tasks", "greet", "broken"), ("pairs", "caretaker--greet", "caretaker--broken")]
    {
        crate::bench::copy_tree(&folder.join(kind).join(from), &folder.join(kind).join(to));
    }
    let pair = folder.join("pairs/caretaker--broken/pair.toml");
    damage(&pair, "\"caretaker--greet\"", "\"caretaker--broken\"");
    damage(&pair, "task    = \"greet\"", "task    = \"broken\"");
    fs::write(folder.join("tasks/broken/environment/setup.sh"), "#!/bin/sh\n# canary pcb-tiny-62c178bb-e2bc-4ec4-8706-695884405c8a: do not train on this file\necho 'no luck today' >&2\nexit 7\n").expect("a file");
    let done = bench.expect(3, &["run", "mine", "--agent", "oracle", "--out", "out", "--json"]);
    assert!(done.stderr.contains("no luck today"), "the cause is not said: {}", done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let row = &report["rows"][0];
    assert_eq!((&row["joint"]["count"], &row["joint"]["of"]), (&Value::from(1), &Value::from(2)));
    let sessions = row["sessions"].as_array().expect("sessions");
    let broken = sessions.iter().find(|s| s["pair"] == "caretaker--broken").expect("a session");
    assert_eq!(broken["class"], "infra");
    assert_eq!(broken["flags"], Value::from(vec!["materialise_failed"]));
    assert_eq!(row["upper_bound"]["count"], 2);
}

#[test]
fn a_touched_run_is_noticed() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle"], &[]);
    let run = group.join("oracle");
    let log = run.join("sessions/caretaker--greet/repeat-1/attempt-1/log.jsonl");
    let shown = run.to_str().expect("a plain path");
    let original = fs::read_to_string(&log).expect("a log");
    let lines: Vec<&str> = original.lines().collect();
    let without = |at: usize| {
        let kept = lines.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| *line);
        kept.collect::<Vec<_>>().join("\n") + "\n"
    };
    let verify = lines.iter().position(|line| line.contains("verify_completion")).expect("a line");
    let cases = [
        ("a line less", without(20), "follows entry"),
        (
            "other words",
            original.replace("The work is done", "The work is dome"),
            "hash was written at its end",
        ),
        (
            "another decision",
            original.replace(
                lines[verify],
                &lines[verify].replace("\"verify_completion\"", "\"block_wire\""),
            ),
            "entry",
        ),
        ("no JSON", original.replace(lines[20], "{\"seq\":21"), "line 21"),
    ];
    for (what, text, said) in cases {
        assert_ne!(text, original, "{what}");
        fs::write(&log, text).expect("a log");
        let done = bench.expect(4, &["replay", shown]);
        assert!(done.stdout.contains(said), "{what}: {}", done.stdout);
        assert!(done.stdout.contains("0 agree, 1 differ"), "{what}: {}", done.stdout);
        if what == "no JSON" {
            bench.expect(2, &["report", shown]);
            continue;
        }
        bench.expect(3, &["report", shown]);
        let session = &bench.report(&[&group])["rows"][0]["sessions"][0];
        assert_eq!(session["class"], "invalid", "{what}: {session}");
        let flags = session["flags"].as_array().expect("flags");
        assert!(flags.contains(&Value::from("replay_mismatch")), "{what}: {session}");
    }
    fs::write(&log, &original).expect("a log");
    bench.expect(0, &["replay", shown]);
    bench.expect(0, &["report", shown]);
}

#[test]
fn another_major_format_is_refused_with_what_can_read_it() {
    let bench = Bench::new();
    let group = bench.tiny(&["nop"], &[]);
    let run = group.join("nop");
    damage(&run.join("run.json"), "\"format\": 1", "\"format\": 9");
    let before = fs::read(run.join("run.json")).expect("run.json");
    let shown = run.to_str().expect("a plain path");
    for arguments in [
        &["report", shown][..],
        &["replay", shown],
        &["resume", shown],
        &["show", shown, "caretaker--greet"],
    ] {
        let done = bench.expect(2, arguments);
        let said = "it has format 9, this version reads format 1; read it with a version of pcb that writes format 9";
        assert_eq!(done.stderr.matches(said).count(), 1, "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains("run.json"), "{}", done.stderr);
    }
    assert_eq!(fs::read(run.join("run.json")).expect("run.json"), before);
}

/// Stands for a byte that is no text.
const NOT_UTF_8: &str = "(a byte that is no text)";

fn damage(file: &Path, from: &str, to: &str) {
    if to == NOT_UTF_8 {
        let mut bytes = fs::read(file).expect("a file");
        bytes.push(0xff);
        return fs::write(file, bytes).expect("a file");
    }
    let text = fs::read_to_string(file).expect("a file");
    let damaged = if from.is_empty() { format!("{text}{to}") } else { text.replacen(from, to, 1) };
    assert_ne!(text, damaged, "`{from}` is not in {}", file.display());
    fs::write(file, damaged).expect("a file");
}
