//! The bundled releases through the real binary: who must pass and who must fail what, in every arm ([`Sessions`]).

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

use serde_json::Value;

/// The pair that the adversaries' scripts talk about.
const TALKED_ROUND: &str = "first_contributor--relnotes_since";

#[test]
fn progressive_arm() {
    let sessions = Sessions::of(&["--arm", "progressive"], &BUILT_IN);
    sessions.check_all("oracle", |session| {
        session.class() == "joint_pass" && session.completed() && session.ending() == "accepted"
    });
    sessions.check_all("eager", |session| session.completed() && !session.joint());
    sessions.check_all("nop", |session| !session.completed() && !session.joint());
}

#[test]
fn opening_arm() {
    let sessions = Sessions::of(&["--arm", "opening"], &BUILT_IN);
    sessions.check_all("oracle", |session| session.class() == "joint_pass");
    sessions.check_all("eager", |session| session.completed() && !session.joint());
    sessions.check_all("nop", |session| !session.completed() && !session.joint());
    for agent in BUILT_IN {
        sessions.check_all(agent, |session| {
            session.requirements().all(|requirement| requirement["delivered"] == 1)
        });
    }
}

#[test]
fn no_persona_arm() {
    let sessions = Sessions::of(&["--arm", "no-persona"], &["oracle", "eager"]);
    for agent in ["oracle", "eager"] {
        sessions.check_all(agent, |session| {
            session.completed()
                && session.0["within_budget"] == true
                && session.0["joint"].is_null()
        });
    }
}

/// Each fails exactly the requirement that its file is named after, and each requirement has one.
#[test]
fn saboteurs() {
    thread::scope(|scope| {
        let checks: Vec<_> =
            pairs().into_iter().map(|pair| scope.spawn(move || check_saboteurs(&pair))).collect();
        for check in checks {
            check.join().expect("the saboteurs of a pair");
        }
    });
}

fn check_saboteurs(pair: &str) {
    let folder = release("starter").join("pairs").join(pair).join("saboteurs");
    let scripts: BTreeMap<String, PathBuf> = fs::read_dir(&folder)
        .expect("saboteurs")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), path))
        .collect();
    let agents: Vec<&str> =
        scripts.values().map(|path| path.to_str().expect("a path in UTF-8")).collect();
    let sessions = Sessions::of(&["--pairs", pair], &agents);
    for name in scripts.keys() {
        let [session] = sessions.of_agent(name) else { panic!("{name}: one session") };
        assert_eq!(session.failed(), [name.as_str()], "{}", session.0);
        assert!(session.completed() && session.class() == "completion_only", "{}", session.0);
        let requirements = session.requirements().count();
        assert_eq!(requirements, scripts.len(), "{pair}: one saboteur a requirement");
    }
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
fn tiny_release() {
    let out = tempfile::tempdir().expect("a folder");
    let path = release("tiny");
    let saboteur = path.join("pairs/caretaker--greet/saboteurs/usage_note.toml");
    let agents = ["oracle", "eager", "nop", saboteur.to_str().expect("a path in UTF-8")];
    let sessions = Sessions::of_release(&path, &[], &agents, out.path());
    let joint = |agent| sessions.of_agent(agent).iter().map(Session::joint).collect::<Vec<_>>();
    assert_eq!([joint("oracle"), joint("eager"), joint("nop")], [[true], [false], [false]]);
    assert_eq!(sessions.of_agent("usage_note")[0].failed(), ["usage_note"]);
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

const BUILT_IN: [&str; 3] = ["oracle", "eager", "nop"];

/// What came of every session of a group, by agent and in order of the pairs.
struct Sessions(BTreeMap<String, Vec<Session>>);

/// A line of a run's derived results.
struct Session(Value);

impl Sessions {
    fn of(options: &[&str], agents: &[&str]) -> Self {
        let out = tempfile::tempdir().expect("a folder");
        Self::of_release(&release("starter"), options, agents, out.path())
    }

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

    #[track_caller]
    fn check_all(&self, agent: &str, is_right: impl Fn(&Session) -> bool) {
        let sessions = self.of_agent(agent);
        let pairs: Vec<&str> = sessions.iter().map(|session| session.text("pair")).collect();
        assert_eq!(pairs, self::pairs(), "{agent}");
        for session in sessions {
            assert!(is_right(session), "{agent}: {}", session.0);
        }
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

    fn completed(&self) -> bool {
        self.0["completed"] == true && self.0["flags"] == Value::Array(vec![])
    }

    fn joint(&self) -> bool {
        self.0["joint"] == true
    }

    fn requirements(&self) -> impl Iterator<Item = &Value> {
        self.0["requirements"].as_array().into_iter().flatten()
    }

    fn failed(&self) -> Vec<&str> {
        let failed = self.requirements().filter(|one| one["outcome"] != "passed");
        failed.filter_map(|one| one["id"].as_str()).collect()
    }
}

/// Every pair of the starter by its id, in order.
fn pairs() -> Vec<String> {
    let entries = fs::read_dir(release("starter").join("pairs")).expect("pairs");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect("a name in UTF-8")).collect();
    names.sort();
    names
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
