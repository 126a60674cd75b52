//! What a newcomer begins with: skeletons lint clean and prove themselves, nothing is written over, help stays quick.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::bench::{Bench, Running, is_root};

const RELEASE: &str = "my-release";

/// The class of a session, and the requirements that were not passed.
type Outcome = (String, Vec<String>);

/// Runs agents on a pair and answers the outcome of each by its run's name.
fn outcomes(
    bench: &Bench,
    pair: &str,
    agents: &[&str],
    more: &[&str],
) -> BTreeMap<String, Outcome> {
    let mut arguments = vec!["run", RELEASE, "--pairs", pair, "--out", "out"];
    arguments.extend(agents.iter().flat_map(|agent| ["--agent", agent]));
    arguments.extend(more);
    let done = bench.expect(0, &arguments);
    let group = bench.path().join(done.stderr.lines().next().expect("the group's folder"));
    let runs = fs::read_dir(&group).expect("a group").map(|entry| entry.expect("a run").path());
    runs.map(|run| {
        let results = fs::read_to_string(run.join("derived/results.jsonl")).expect("results");
        let result: Value = serde_json::from_str(&results).expect("one result");
        let failed = result["requirements"].as_array().expect("requirements").iter();
        let failed = failed
            .filter(|requirement| requirement["outcome"] != "passed")
            .map(|requirement| requirement["id"].as_str().expect("an id").to_owned());
        let class = result["class"].as_str().expect("a class").to_owned();
        let name = run.file_name().expect("a name").to_string_lossy().into_owned();
        (name, (class, failed.collect()))
    })
    .collect()
}

fn passes() -> Outcome {
    ("joint_pass".to_owned(), Vec::new())
}

fn misses(requirement: &str) -> Outcome {
    ("completion_only".to_owned(), vec![requirement.to_owned()])
}

fn is_clean(bench: &Bench) {
    let linted = bench.expect(0, &["lint", RELEASE]);
    assert_eq!(linted.stdout, "my-release 0.1.0: nothing to mend\n");
}

#[test]
fn a_new_release_lints_clean_and_proves_itself() {
    let bench = Bench::new();
    let made = bench.expect(0, &["new", "release", RELEASE]);
    for said in ["wrote my-release/release.toml", "pcb lint my-release"] {
        assert!(made.stdout.contains(said), "{}", made.stdout);
    }
    is_clean(&bench);
    let pair = "bookkeeper--total";
    let saboteur = format!("{RELEASE}/pairs/{pair}/saboteurs/handover.toml");
    let agents = ["oracle", "eager", "nop", &saboteur];
    let found = outcomes(&bench, pair, &agents, &[]);
    assert_eq!(found["oracle"], passes());
    assert_eq!(found["handover"], misses("handover"));
    assert_eq!(found["eager"].1, ["handover"]);
    assert_eq!(
        (found["nop"].0 == "joint_pass", &found["nop"].1[..]),
        (false, &["handover".to_owned()][..])
    );
    let opened = outcomes(&bench, pair, &["oracle"], &["--arm", "opening"]);
    assert_eq!(opened["oracle"], passes());
    // Two releases of one name are told apart by their canaries.
    let other = Bench::new();
    other.expect(0, &["new", "release", RELEASE]);
    let canary = |bench: &Bench| bench.read(&format!("{RELEASE}/release.toml"));
    assert_ne!(canary(&bench), canary(&other));
}

#[test]
fn parts_are_added_to_a_release_and_prove_themselves() {
    let bench = Bench::new();
    bench.expect(0, &["new", "release", RELEASE]);
    bench.expect(0, &["new", "persona", "manager.v1", "--in", RELEASE]);
    bench.expect(0, &["new", "task", "invoices", "--in", RELEASE]);
    bench.expect(0, &["new", "pair", "manager--invoices", "--in", RELEASE]);
    is_clean(&bench);
    let pair = format!("{RELEASE}/pairs/manager--invoices");
    let before = bench.read(&format!("{pair}/pair.toml"));
    let added = bench.expect(0, &["new", "requirement", "short_summary", "--in", &pair]);
    assert!(!added.stdout.contains("to mend"), "{}", added.stdout);
    let after = bench.read(&format!("{pair}/pair.toml"));
    let mut lines = after.lines();
    for line in before.lines() {
        assert!(lines.any(|kept| kept == line), "`{line}` was not kept");
    }
    is_clean(&bench);
    let script = |name| format!("{pair}/saboteurs/{name}.toml");
    let (first, second) = (script("handover"), script("short_summary"));
    let found = outcomes(&bench, "manager--invoices", &["oracle", "eager", &first, &second], &[]);
    assert_eq!(found["oracle"], passes());
    assert_eq!(found["handover"], misses("handover"));
    assert_eq!(found["short_summary"], misses("short_summary"));
    assert_eq!(found["eager"].1, ["handover", "short_summary"]);

    // The ending may be said; it is not doubled.
    bench.expect(0, &["new", "script", "my-agent.toml"]);
    let own = outcomes(&bench, "manager--invoices", &["my-agent.toml"], &[]);
    assert_eq!(own["my-agent"].1, ["handover", "short_summary"]);
}

#[test]
fn a_requirement_is_added_to_what_others_wrote() {
    let check = |release: &str, pair: &str, says: &str| {
        let bench = Bench::new();
        bench.copy_of(release, "mine");
        let folder = format!("mine/pairs/{pair}");
        let added = bench.expect(0, &["new", "requirement", "zz-extra", "--in", &folder]);
        assert!(added.stdout.contains(says), "{}", added.stdout);
        let oracle = bench.read(&format!("{folder}/oracle.toml"));
        assert!(oracle.contains("ZZ_EXTRA.md"), "{oracle}");
        added.stdout
    };
    // Its turns are fixed and do not suffice any more, which is said at once.
    check("tiny", "caretaker--greet", "6 turns do not suffice for 2 requirements");
    check("starter", "shop_owner--csv_report", "saboteurs/zz-extra.toml");
}

#[test]
fn nothing_is_written_over_and_every_refusal_says_what_to_do() {
    let cases: [(&[&str], &[&str]); 17] = [
        (&["new", "release", "my-release"], &["my-release/release.toml", "there already"]),
        (&["new", "release", "My Release"], &["`My Release` is no id", "small letter"]),
        (
            &["new", "persona", "bookkeeper.v1", "--in", RELEASE],
            &["bookkeeper.v1.toml", "there already"],
        ),
        (&["new", "persona", "../x", "--in", RELEASE], &["`../x` is no id"]),
        (&["new", "persona", "other.v1"], &["holds no release.toml", "--in", "pcb new release"]),
        (&["new", "task", "total", "--in", RELEASE], &["tasks/total/task.toml", "there already"]),
        (&["new", "pair", "x", "--in", RELEASE], &["PERSONA--TASK", "--persona", "bookkeeper.v1"]),
        (&["new", "pair", "x--total", "--in", RELEASE], &["no persona `x`", "pcb new persona"]),
        (&["new", "pair", "bookkeeper--x", "--in", RELEASE], &["no task `x`", "pcb new task"]),
        (&["new", "pair", "bookkeeper--total", "--in", RELEASE], &["pair.toml", "there already"]),
        (
            &["new", "requirement", "x", "--in", RELEASE],
            &["no folder of a pair", "my-release/pairs/PAIR"],
        ),
        (
            &["new", "requirement", "handover", "--in", "my-release/pairs/bookkeeper--total"],
            &["a requirement `handover` already", "another name"],
        ),
        (&["new", "release", "x", "--canary", "a \"b\" c"], &["is no canary", "8 letters"]),
        (&["new", "script", "taken"], &["taken.toml", "there already"]),
        (
            &["new", "script", "mine", "--in", "my-release/pairs"],
            &["inside the release", "--in", "outside"],
        ),
        (&["new", "script", "mine", "--in", RELEASE], &["inside the release"]),
        (&["new", "task", "x.toml", "--in", RELEASE], &["leave the ending away, `x`"]),
    ];
    let bench = Bench::new();
    bench.expect(0, &["new", "release", RELEASE]);
    bench.write("taken.toml", "mine");
    let before = files(bench.path());
    for (arguments, said) in cases {
        let done = bench.expect(2, arguments);
        for text in said {
            assert!(
                done.stderr.contains(text),
                "{arguments:?} does not say `{text}`: {}",
                done.stderr
            );
        }
        assert_eq!(files(bench.path()), before, "{arguments:?}");
    }
}

#[test]
fn a_pair_that_text_cannot_be_added_to_is_left_alone() {
    let bench = Bench::new();
    bench.expect(0, &["new", "release", RELEASE]);
    let folder = "my-release/pairs/bookkeeper--total";
    let path = format!("{folder}/pair.toml");
    let check = |text: &str, said: &[&str]| {
        bench.write(&path, text);
        let before = files(bench.path());
        let done = bench.expect(2, &["new", "requirement", "more", "--in", folder]);
        for part in said {
            assert!(done.stderr.contains(part), "it does not say `{part}`: {}", done.stderr);
        }
        assert_eq!(files(bench.path()), before);
    };
    let pair = bench.read(&path);
    let apart = pair.replace("handover_file = { fs = {", "[check.handover_file.fs]\n#").replace(
        "[[requirement]]",
        "path = [\"HANDOVER.md\"]\nis = \"present\"\n\n[[requirement]]",
    );
    check(&apart, &["by hand", "id       = \"more\"", "more_file = {"]);
    check(&pair.replace("area ", "aera "), &["has to be mended", "aera"]);
}

#[test]
fn a_pair_is_kept_as_it_is_written_or_left_alone() {
    let bench = Bench::new();
    bench.expect(0, &["new", "release", RELEASE]);
    let folder = "my-release/pairs/bookkeeper--total";
    let (pair, oracle) = (format!("{folder}/pair.toml"), format!("{folder}/oracle.toml"));
    let refused = |said: &[&str]| {
        let before = files(bench.path());
        let done = bench.expect(2, &["new", "requirement", "more", "--in", folder]);
        for part in said {
            assert!(done.stderr.contains(part), "it does not say `{part}`: {}", done.stderr);
        }
        assert_eq!(files(bench.path()), before);
    };
    for path in [&pair, &oracle] {
        let plain = bench.read(path);
        fs::write(bench.path().join(path), [b"# one\n# \xff\n", plain.as_bytes()].concat())
            .expect("a file");
        refused(&[&format!("`{path}`:2"), "save the file as UTF-8"]);
        fs::remove_file(bench.path().join(path)).expect("a file");
        bench.write("elsewhere.toml", &plain);
        symlink(bench.path().join("elsewhere.toml"), bench.path().join(path)).expect("a link");
        refused(&[path, "is a symbolic link", "put the file itself there"]);
        fs::remove_file(bench.path().join(path)).expect("a link");
        bench.write(path, &plain.replace('\n', "\r\n"));
    }
    bench.expect(0, &["new", "requirement", "more", "--in", folder]);
    is_clean(&bench);
    let saboteur = format!("{folder}/saboteurs/more.toml");
    for path in [&pair, &oracle, &saboteur] {
        let text = bench.read(path);
        let bare = text.lines().count() - text.matches("\r\n").count();
        assert!(text.contains("more") || text.contains("MORE"), "{path}: {text}");
        assert_eq!(bare, 0, "{path} has lines that end otherwise");
    }
    let text = bench.read(&saboteur);
    assert!(text.contains("Does everything right but `more`"), "{text}");
    assert!(!text.contains("must pass in every arm"), "{text}");
}

/// On a disk that is full before a release is whole, nothing of it is left.
#[test]
fn what_does_not_fit_on_the_disk_is_not_there() {
    let bench = Bench::new();
    let script = r#"
mount -t tmpfs -o size=24k,mode=755 small . || exit 99
cd "$PWD"
"$PCB" new release my-release 2>said.err
echo "$?" >code
ls -A
rm -f said.err code
"$PCB" new release big --in deep/er >/dev/null 2>&1
echo "$?"
ls -A
"#;
    let namespace = if is_root() { "-m" } else { "-rm" };
    let mut command = Command::new("unshare");
    command.args([namespace, "sh", "-c", script]);
    let mut command = bench.cleared(command);
    command.env("PCB", env!("CARGO_BIN_EXE_pcb"));
    let done = Running::start(command).wait();
    if !is_root() && done.code != Some(0) {
        eprintln!("not run: an ordinary user of this host may not mount: {}", done.stderr);
        return;
    }
    assert_eq!((done.code, &*done.stdout), (Some(0), "code\nsaid.err\n2\n"), "{}", done.stderr);
}

#[test]
fn the_manual_has_a_page_for_each_command_and_shells_are_completed() {
    let bench = Bench::new();
    bench.expect(0, &["man", "--out", "man"]);
    let help = bench.expect(0, &["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() >= 10, "{commands:?}");
    for name in &commands {
        let page = bench.read(&format!("man/pcb-{name}.1"));
        for part in [".SH NAME", ".SH SYNOPSIS", "Examples:"] {
            assert!(page.contains(part), "pcb-{name}.1 lacks {part}");
        }
    }
    assert!(bench.read("man/pcb-new-release.1").contains("pcb new release my\\-release"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.expect(0, &["completions", shell]).stdout;
        for name in commands.iter().chain(&["agent", "budget"]) {
            assert!(script.contains(name), "{shell} does not complete {name}");
        }
    }
}

#[test]
fn every_format_has_a_schema() {
    let bench = Bench::new();
    let listed = bench.expect(0, &["schema"]).stdout;
    let names: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in ["release", "persona", "task", "pair", "script", "lock"] {
        assert!(names.contains(&name), "{listed}");
    }
    bench.expect(0, &["schema", "--all", "schemas"]);
    assert_eq!(crate::bench::files_below(&bench.path().join("schemas")).len(), names.len());
    for name in names {
        let printed = bench.expect(0, &["schema", name]).stdout;
        let schema: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert!(schema["description"].is_string(), "{name} is not described");
        assert_eq!(bench.read(&format!("schemas/{name}.json")), printed);
    }
    let done = bench.expect(2, &["schema", "pairs"]);
    assert!(done.stderr.contains("no format `pairs`"), "{}", done.stderr);
}

#[test]
fn help_is_quick() {
    let bench = Bench::new();
    let took = |_| {
        let begun = Instant::now();
        bench.expect(0, &["--help"]);
        begun.elapsed()
    };
    // The quickest of many: other tests use the machine meanwhile.
    let quickest = (0..20).map(took).min().expect("a time");
    assert!(quickest < Duration::from_millis(30), "help took {quickest:?}");
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let found = crate::bench::files_below(folder).into_iter();
    found.map(|path| (path.clone(), fs::read(folder.join(&path)).expect("a file"))).collect()
}
