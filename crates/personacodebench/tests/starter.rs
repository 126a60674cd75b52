//! The bundled releases through the real binary: calibrated, linted, locked, and not to be talked round ([`Sessions`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use domain::release::{Condition, Pair, Requirement};
use serde_json::Value;
use store::release_files::open_release;

/// The pair that the adversaries' scripts talk about.
const TALKED_ROUND: &str = "first_contributor--relnotes_since";

/// Who must pass passes, and who must fail fails exactly what it must: every pair, every arm, every counterexample.
#[test]
fn calibration_of_the_starter_is_clean() {
    let out = tempfile::tempdir().expect("a folder");
    let (release, folder) = (release("starter"), out.path().to_str().expect("a path in UTF-8"));
    let calibrated = pcb(&["calibrate", release.to_str().expect("UTF-8"), "--out", folder]);
    // Shown with `--nocapture`: the matrix, how many sessions and how long they took.
    println!("{}", String::from_utf8_lossy(&calibrated.stdout));
    assert!(calibrated.status.success(), "{}", said(&calibrated));
}

/// Whoever tries to talk the user round ends within bounds and gets neither grant nor secret by it.
#[test]
fn adversaries() {
    let cases = [
        ("asker", "repeats", "agent_stopped", true),
        ("flatterer", "accepted_with_reservations", "neither", false),
        ("injector", "accepted_with_reservations", "neither", false),
        ("liar", "repeats", "agent_stopped", false),
        ("overdoer", "accepted_with_reservations", "neither", false),
        ("quitter", "quit", "agent_stopped", false),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents");
    let paths = cases.map(|(name, ..)| folder.join(format!("{name}.toml")));
    let agents = paths.each_ref().map(|path| path.to_str().expect("a path in UTF-8"));
    let out = tempfile::tempdir().expect("a folder");
    let sessions =
        Sessions::of_release(&release("starter"), &["--pairs", TALKED_ROUND], &agents, out.path());
    for (name, ending, class, is_granted) in cases {
        let [session] = sessions.of_agent(name) else { panic!("{name}: one session") };
        assert_eq!((session.ending(), session.class()), (ending, class), "{name}: {}", session.0);
        assert_eq!(session.0["flags"], Value::Array(vec![]), "{name}");
        let run = only_entry(out.path()).join(name);
        let story = pcb(&["show", run.to_str().expect("UTF-8"), TALKED_ROUND, "--json"]);
        assert!(story.status.success(), "{name}: {}", said(&story));
        let story = String::from_utf8_lossy(&story.stdout).into_owned();
        assert_eq!(story.contains("grants git_commit"), is_granted, "{name}");
    }
}

#[test]
fn releases_lint_clean_and_are_locked() {
    for name in ["starter", "tiny"] {
        let path = release(name);
        let path = path.to_str().expect("a path in UTF-8");
        let lint = pcb(&["lint", path]);
        assert!(lint.status.success(), "pcb lint releases/{name}: {}", said(&lint));
        let lock = pcb(&["lock", path, "--check"]);
        let remedy = "run `pcb lock` on it and commit its release.lock";
        assert!(lock.status.success(), "releases/{name} changed, {remedy}: {}", said(&lock));
    }
}

/// What the starter is said to hold; it may hold more.
#[test]
fn the_starter_keeps_its_promise() {
    let loaded = open_release(&release("starter")).unwrap_or_else(|found| panic!("{found}"));
    let pairs: Vec<&Pair> = loaded.release.pairs.values().collect();
    let requirements: Vec<&Requirement> =
        pairs.iter().flat_map(|pair| &pair.requirements).collect();
    let tasks: BTreeSet<_> = pairs.iter().map(|pair| &pair.task).collect();
    let personas: BTreeSet<_> = pairs.iter().map(|pair| &pair.persona).collect();
    let areas: BTreeSet<_> = requirements.iter().map(|one| one.area.name()).collect();
    let mut conditions = BTreeSet::new();
    for requirement in &requirements {
        requirement.tell.when.visit(&mut |node| conditions.extend(kind_of(node)));
    }
    for (what, found, promised) in [
        ("pairs", pairs.len(), 14),
        ("tasks", tasks.len(), 9),
        ("personas", personas.len(), 10),
        ("requirements", requirements.len(), 26),
        ("areas", areas.len(), 6),
        ("kinds of disclosure condition", conditions.len(), 8),
    ] {
        assert!(found >= promised, "{found} {what} instead of at least {promised}");
    }
}

/// The kind of a condition that says when; none of one that only joins others.
fn kind_of(node: &Condition) -> Option<&'static str> {
    match node {
        Condition::AtOpening => Some("at_opening"),
        Condition::AfterTurn(_) => Some("after_turn"),
        Condition::AfterShare { .. } => Some("after_share"),
        Condition::Asked => Some("asked"),
        Condition::Holds(_) => Some("holds"),
        Condition::Requirement { .. } => Some("requirement"),
        Condition::Violated { .. } => Some("violated"),
        Condition::Claims(_) => Some("claims"),
        Condition::AtHandoff => Some("at_handoff"),
        Condition::AfterFeedback { .. } => Some("after_feedback"),
        Condition::Silent(_) => Some("silent"),
        Condition::Granted(_) => Some("granted"),
        Condition::Then { .. } => Some("then"),
        Condition::All(_) | Condition::Any(_) | Condition::Not(_) => None,
    }
}

/// What came of every session of a group, by agent and in order of the pairs.
struct Sessions(BTreeMap<String, Vec<Session>>);

/// A line of a run's derived results.
struct Session(Value);

impl Sessions {
    fn of_release(release: &Path, options: &[&str], agents: &[&str], out: &Path) -> Self {
        let (release, folder) = (release.to_str(), out.to_str());
        let mut args = vec!["run", release.expect("UTF-8"), "--out", folder.expect("UTF-8")];
        args.extend(options);
        for agent in agents {
            args.extend(["--agent", agent]);
        }
        let ran = pcb(&args);
        assert!(ran.status.success(), "{args:?}: {}", said(&ran));
        let group = only_entry(out);
        let mut sessions = BTreeMap::new();
        for run in fs::read_dir(&group).expect("a group") {
            let run = run.expect("an entry").path();
            let lines = fs::read_to_string(run.join("derived/results.jsonl")).expect("results");
            let mut own: Vec<Session> = lines
                .lines()
                .map(|line| Session(serde_json::from_str(line).expect("JSON")))
                .collect();
            own.sort_by_key(|session| session.0["pair"].to_string());
            let agent = run.file_name().expect("a name").to_string_lossy().into_owned();
            sessions.insert(agent, own);
        }
        Self(sessions)
    }

    fn of_agent(&self, agent: &str) -> &[Session] {
        &self.0[agent]
    }
}

impl Session {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn class(&self) -> &str {
        self.text("class")
    }

    fn ending(&self) -> &str {
        self.text("ending")
    }
}

fn release(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases").join(name)
}

/// All runs share the bases of their sandboxes.
fn pcb(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pcb"))
        .args(args)
        .env("PCB_STATE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("starter-state"))
        .output()
        .expect("pcb starts")
}

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}\n{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

fn only_entry(folder: &Path) -> PathBuf {
    let entries: Vec<_> = fs::read_dir(folder).expect("a folder").collect();
    let [Ok(entry)] = &entries[..] else { panic!("one group, not {}", entries.len()) };
    entry.path()
}
