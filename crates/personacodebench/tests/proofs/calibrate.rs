//! `pcb calibrate`: a sound release is clean, each way of being broken is named with its remedy, records are read again.

use std::{fs, path::Path};

use serde_json::Value;

use crate::bench::{Bench, files_below};

const PAIR: &str = "pairs/caretaker--greet/pair.toml";
const ORACLE: &str = "pairs/caretaker--greet/oracle.toml";
const SABOTEUR: &str = "pairs/caretaker--greet/saboteurs/usage_note.toml";
const SETUP: &str = "tasks/greet/environment/setup.sh";
const TESTS: &str = "tasks/greet/tests/test.sh";

/// Replaces a text of a file that has to be there.
fn change(release: &Path, file: &str, from: &str, to: &str) {
    let path = release.join(file);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{file} holds no {from:?}");
    fs::write(path, text.replacen(from, to, 1)).expect("a file");
}

fn append(release: &Path, file: &str, lines: &str) {
    let path = release.join(file);
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(path, text + lines).expect("a file");
}

/// Calibrates a release and answers the exit code with what was printed as data.
fn calibrated(bench: &Bench, release: &str, more: &[&str]) -> (Option<i32>, Value) {
    let mut arguments = vec!["calibrate", release, "--json"];
    if !more.contains(&"--from") && !more.contains(&"--group") {
        arguments.extend(["--out", "out"]);
    }
    arguments.extend(more);
    let done = bench.pcb(&arguments);
    let data = serde_json::from_str(&done.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", done.stdout, done.stderr));
    (done.code, data)
}

/// What is not as it must be, a line each; every one has a remedy.
fn lines(breaches: &Value) -> Vec<String> {
    let each = breaches.as_array().expect("a list").iter().map(|breach| {
        let text = |key: &str| breach[key].as_str().expect("a text").to_owned();
        assert!(!text("remedy").is_empty(), "{breach}");
        let line = format!("{}: {} | {}", text("place"), text("expected"), text("found"));
        match line.split_once("(commit ") {
            Some((before, _)) => format!("{before}(COMMIT)"),
            None => line,
        }
    });
    each.collect()
}

#[test]
fn a_sound_release_is_clean_in_every_arm() {
    let bench = Bench::new();
    let (code, matrix) = calibrated(&bench, "tiny", &[]);
    assert_eq!((code, lines(&matrix["breaches"])), (Some(0), vec![]), "{matrix}");
    let agents = matrix["pairs"][0]["agents"].as_array().expect("agents");
    let names: Vec<&str> = agents.iter().filter_map(|agent| agent["agent"].as_str()).collect();
    let expect = ["oracle", "eager", "nop", "saboteur of usage_note", "evader of usage_note"];
    assert_eq!(names, expect);
    assert_eq!(matrix["sessions"], 15, "5 agents in 2 arms, 3 in one, 2 of them twice");

    // The sessions are evidence on disk: they tell their story, and are judged again without running.
    let group = fs::read_dir(bench.out()).expect("a folder").next().expect("a group");
    let group = group.expect("a group").path();
    let group = group.to_str().expect("a plain path");
    let run = format!("{group}/progressive-saboteur-1");
    let story = bench.expect(0, &["show", &run, "caretaker--greet"]);
    assert!(story.stdout.contains("usage_note"), "{}", story.stdout);
    let (code, again) = calibrated(&bench, "tiny", &["--group", group]);
    assert_eq!((code, &again["pairs"]), (Some(0), &matrix["pairs"]));
}

/// Spoils a copy of `tiny`, calibrates it in the progressive arm, and expects these breaches.
fn check(spoil: impl FnOnce(&Path), more: &[&str], expect: &[&str]) {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    spoil(&release);
    let mut arguments = vec!["--arms", "progressive"];
    arguments.extend(more);
    let (code, matrix) = calibrated(&bench, "mine", &arguments);
    assert_eq!(lines(&matrix["breaches"]), expect, "{matrix}");
    assert_eq!(code, Some(if expect.is_empty() { 0 } else { 1 }));
    assert_eq!(matrix["is_clean"], expect.is_empty());
}

#[test]
fn a_saboteur_that_breaks_nothing_is_named() {
    check(
        |release| {
            fs::copy(release.join(ORACLE), release.join(SABOTEUR)).expect("a copy");
        },
        &[],
        &["caretaker--greet · progressive · saboteur of usage_note: failed | passed"],
    );
}

#[test]
fn what_is_found_in_a_session_is_shown_by_a_command() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    change(&release, ORACLE, "sh greet.sh Ada\\n", "ask me\\n");
    let done = bench.expect(1, &["calibrate", "mine", "--arms", "progressive", "--out", "out"]);
    let command = done.stdout.lines().find_map(|line| line.trim().strip_prefix("see "));
    let command = command.expect("a command").trim();
    assert!(command.ends_with("/progressive-oracle caretaker--greet"), "{command}");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let story = bench.expect(0, &arguments).stdout;
    assert!(story.contains("usage_note"), "{story}");
    assert!(!done.stdout.contains("0 of 1 pairs"), "{}", done.stdout);
}

#[test]
fn an_oracle_that_fails_is_named() {
    check(
        |release| change(release, ORACLE, "sh greet.sh Ada\\n", "ask me\\n"),
        &[],
        &[
            "caretaker--greet · progressive · oracle: the user accepts | ended as \
             accepted_with_reservations",
            "caretaker--greet · progressive · oracle · usage_note: passed | failed",
        ],
    );
}

#[test]
fn a_check_that_passes_for_both_is_named() {
    // It always passes, beside one that does not.
    check(
        |release| {
            let greeter = "[check]\ngreeter = { fs = { path = [\"greet.sh\"], is = \"present\" } }";
            change(release, PAIR, "[check]", greeter);
            let both = "{ all = [{ at_end = \"note_left\" }, { at_end = \"greeter\" }] }";
            change(release, PAIR, "{ at_end = \"note_left\" }", both);
        },
        &[],
        &["caretaker--greet · usage_note: `at_end = greeter` fails for a counterexample of the \
           requirement | it passes for the oracle and for each of them"],
    );
    // It is content with any note at all.
    check(
        |release| change(release, PAIR, "greet\\\\.sh", "."),
        &[],
        &["caretaker--greet · progressive · saboteur of usage_note: failed | passed"],
    );
}

#[test]
fn an_answer_that_the_setup_writes_is_named_wherever_it_lies() {
    for place in ["/app", "/opt/notes", "/etc", "/usr/local/share"] {
        let found = format!(
            "task greet: no answer where the agent can read it | text of \
             `tasks/greet/solution/solve.sh` lies in `{place}/guide`"
        );
        check(
            |release| {
                let solution = fs::read_to_string(release.join("tasks/greet/solution/solve.sh"));
                let hidden: String =
                    solution.expect("a script").lines().map(|line| format!("x{line}\n")).collect();
                // No file of the release shows it: the setup makes it readable.
                fs::write(release.join("tasks/greet/environment/files/notes"), hidden)
                    .expect("a file");
                let write = "mkdir -p PLACE\nsed 's/^x//' files/notes > PLACE/guide\n";
                append(release, SETUP, &write.replace("PLACE", place));
            },
            &[],
            &[&found],
        );
    }
}

#[test]
fn what_comes_after_the_base_is_named() {
    let commits = "\
cd /app
export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2026-01-02T00:00:00Z' GIT_COMMITTER_DATE='2026-01-02T00:00:00Z'
git init -q -b main .
git add greet.sh
git commit -q -m 'begin'
";
    let with_git = |release: &Path, more: &str| {
        change(release, PAIR, "host      = []", "host      = [\"git\"]");
        append(release, SETUP, &format!("{commits}{more}"));
    };
    check(|release| with_git(release, ""), &[], &[]);
    check(
        |release| {
            let next = "\
git checkout -q -b next
GIT_COMMITTER_DATE='2026-03-01T00:00:00Z' git commit -q --allow-empty -m 'greet by name'
git checkout -q main
";
            with_git(release, next);
        },
        &[],
        &["task greet: no commit newer than HEAD | /app/.git holds 1 (COMMIT)"],
    );
    check(
        |release| {
            let gone = "\
git checkout -q -b gone
git commit -q --allow-empty -m 'greet by name'
git checkout -q main
git branch -q -D gone
";
            with_git(release, gone);
        },
        &[],
        &["task greet: no object that nothing leads to | /app/.git holds 1 (COMMIT)"],
    );
}

#[test]
fn a_verifier_that_changes_its_mind_is_named() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    let coin = "case $(od -An -N1 -tu1 /dev/urandom) in *[02468]) exit 1 ;; esac\nprintf '1\\n'";
    change(&release, TESTS, "printf '1\\n'", coin);
    // Of so many throws all come down on one side once in 260,000 times.
    let more = ["--arms", "no-persona", "--repeats", "19"];
    let (code, matrix) = calibrated(&bench, "mine", &more);
    assert_eq!(code, Some(1));
    let found = lines(&matrix["breaches"]);
    let flaky = "task greet · no-persona · oracle: the verifier says the same, twice at the least";
    assert!(found.iter().any(|line| line.starts_with(flaky)), "{found:?}");
}

#[test]
fn a_verifier_that_asks_for_nothing_is_named() {
    check(
        |release| change(release, TESTS, "'0\\n' >", "'1\\n' >"),
        &[],
        &["caretaker--greet · progressive · nop: the task not completed | completed"],
    );
}

#[test]
fn a_budget_without_margin_is_named() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    change(&release, "tasks/greet/task.toml", "timeout_sec = 60.0", "timeout_sec = 20.0");
    change(&release, PAIR, "agent_time_sec = 60", "agent_time_sec = 20");
    change(&release, ORACLE, "sh greet.sh Ada\" }", "sleep 6\" }");
    let (code, matrix) = calibrated(&bench, "mine", &["--arms", "progressive"]);
    let found = lines(&matrix["breaches"]);
    let place = "caretaker--greet · progressive · oracle: at the most 25 % of the 20000 ms | ";
    assert!(!found.is_empty() && found.iter().all(|one| one.starts_with(place)), "{found:?}");
    let remedy = matrix["breaches"][0]["remedy"].as_str().expect("a remedy");
    assert_eq!((code, remedy.contains("[budget]")), (Some(1), true), "{remedy}");
}

/// A calibration is recorded once; a check that is broken later reads the record otherwise.
#[test]
fn a_record_is_read_again_without_any_agent() {
    let bench = Bench::new();
    let release = bench.copy_of("tiny", "mine");
    let recorded = ["--arms", "progressive", "--record", "fixtures"];
    assert_eq!(calibrated(&bench, "mine", &recorded).0, Some(0));
    let kept = files_below(&bench.path().join("fixtures"));
    let runs = ["progressive-oracle", "progressive-saboteur-1", "progressive-evader-1"];
    for run in runs {
        let log = format!("{run}/sessions/caretaker--greet/repeat-1/attempt-1/log.jsonl");
        assert!(kept.contains(&log), "{log}");
    }
    let reread = |expect: &[&str]| {
        let before = kept.clone();
        let (code, found) = calibrated(&bench, "mine", &["--from", "fixtures"]);
        assert_eq!(lines(&found["differences"]), expect, "{found}");
        assert_eq!(code, Some(if expect.is_empty() { 0 } else { 1 }));
        assert_eq!(found["sessions"], 4, "the oracle is recorded twice");
        assert_eq!(files_below(&bench.path().join("fixtures")), before, "nothing is written");
    };
    reread(&[]);

    // Any note is good enough: what the saboteur left passes now.
    change(&release, PAIR, "greet\\\\.sh", ".");
    reread(&[
        "caretaker--greet · progressive · saboteur of usage_note: the check `note_left` reads false \
         | true",
        "caretaker--greet · progressive · saboteur of usage_note: the requirement `usage_note` \
         failed | passed",
    ]);
    change(&release, PAIR, "contains = \".\"", "contains = \"greet\\\\.sh\"");

    // Any name is good enough: what the evader left passes now.
    change(&release, PAIR, "[\"USAGE\"], is", "[\"**/USAGE*\"], is");
    reread(&[
        "caretaker--greet · progressive · evader of usage_note: the check `note_left` reads false \
         | true",
        "caretaker--greet · progressive · evader of usage_note: the requirement `usage_note` \
         failed | passed",
    ]);
    change(&release, PAIR, "[\"**/USAGE*\"], is", "[\"USAGE\"], is");
    reread(&[]);

    // Whoever is not in the record cannot be vouched for.
    let recorded = bench.path().join("fixtures");
    fs::remove_dir_all(recorded.join("progressive-saboteur-1")).expect("a folder");
    let (code, found) = calibrated(&bench, "mine", &["--from", "fixtures"]);
    let missing = "caretaker--greet · saboteur of usage_note: a recorded session | none";
    assert_eq!((code, lines(&found["differences"])), (Some(1), vec![missing.to_owned()]));
    let more = ["calibrate", "mine", "--record", "fixtures", "--out", "never"];
    let refused = bench.expect(2, &more);
    assert!(refused.stderr.contains("the folder is not empty"), "{}", refused.stderr);
    assert!(!bench.path().join("never").exists(), "it is refused before anything runs");

    // A group is judged in the arms that it was run in.
    let group = fs::read_dir(bench.out()).expect("a folder").next().expect("a group");
    let group = group.expect("a group").path();
    let group = group.to_str().expect("a plain path");
    let (code, again) = calibrated(&bench, "mine", &["--group", group]);
    assert_eq!((code, &again["arms"]), (Some(0), &serde_json::json!(["progressive"])), "{again}");
}

#[test]
fn what_cannot_be_calibrated_is_refused() {
    let bench = Bench::new();
    let check = |arguments: &[&str], expect: &str| {
        let done = bench.expect(2, arguments);
        assert!(done.stderr.contains(expect), "{arguments:?}: {}", done.stderr);
        assert_eq!(done.stdout, "");
    };
    check(
        &["calibrate", "tiny", "--pairs", "nobody--*"],
        "no pair of the release fits `nobody--*`",
    );
    check(&["calibrate", "tiny", "--pairs", "[["], "the glob `[[` has an open bracket");
    check(&["run", "tiny", "--agent", "nop", "--pairs", "{a"], "the glob `{a` has an open brace");
    check(
        &["calibrate", "tiny", "--arms", "no-persona", "--record", "kept", "--out", "never"],
        "add `progressive` to `--arms`",
    );
    assert!(!bench.path().join("never").exists(), "it is refused before anything runs");
    check(&["calibrate", "nothing-here"], "no release `nothing-here`");
    check(&["calibrate", "tiny", "--from", "nowhere"], "nowhere");
    let unproved = bench.copy_of("tiny", "unproved");
    fs::remove_file(unproved.join(SABOTEUR)).expect("a file");
    check(&["calibrate", "unproved"], "no saboteur shows that it can fail");
}
