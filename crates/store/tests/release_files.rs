//! Releases as files: the bundled ones load, every slip is named with its place, a lock holds.

#[path = "support/releases.rs"]
mod support;

use std::fs;

use domain::{
    ids::{CheckId, PairId, PersonaId, RequirementId},
    release::{
        ArtifactCheck, ArtifactFormat, Catalogue, Cell, CheckKind, Condition, DbCheck, DbQuery,
        Expr, QueryAnswer, Read, Requirement, SchemaObject, SecretCheck, SecretPlace, Sight,
        lint::NotePath,
    },
};
use store::release_files::{LockUse, open_release, open_release_with};
use support::{bundled, change, tiny};

#[test]
fn bundled_releases_load() {
    for name in ["tiny", "starter"] {
        let loaded = open_release_with(&bundled(name), LockUse::Ignore)
            .unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(loaded.release.id.as_str(), name);
        assert_eq!(loaded.pairs.len(), loaded.release.pairs.len());
        assert!(loaded.release.personas.contains_key(&PersonaId::new("neutral")));
        for (id, pair) in &loaded.release.pairs {
            let files = &loaded.pairs[id];
            assert!(files.oracle.is_some(), "{id}");
            assert!(loaded.release.tasks.contains_key(&pair.task), "{id}");
            let sabotaged = |requirement: &&Requirement| {
                pair.counterexamples.iter().any(|script| script.requirement == requirement.id)
            };
            assert!(pair.requirements.iter().all(|one| sabotaged(&one)), "{id}");
        }
    }
}

#[test]
fn tiny_is_read_as_it_is_written() {
    let loaded = open_release(&bundled("tiny")).unwrap();
    let pair = &loaded.release.pairs[&PairId::new("caretaker--greet")];
    let requirement = &pair.requirements[0];
    assert_eq!(requirement.tell.when, Condition::AtHandoff);
    assert_eq!(requirement.pass.holds, Expr::AtEnd(CheckId::new("note_left")));
    assert_eq!(requirement.feedback.sight, [Sight::Files]);
    assert_eq!(requirement.must_say, [["USAGE"], ["greet.sh"]]);
    assert_eq!(pair.completion.paths, ["/app"]);
    let task = &loaded.release.tasks[&pair.task];
    assert!(task.statement.starts_with("`/app/greet.sh` prints"), "{}", task.statement);
    assert!(task.statement.ends_with("as before."), "{}", task.statement);
    let environment = &loaded.tasks[&pair.task].environment;
    let placed: Vec<_> = environment.iter().map(|file| (file.path.as_str(), file.mode)).collect();
    assert_eq!(placed, [("files/greet.sh", 0o755), ("setup.sh", 0o755)]);
}

#[test]
fn notes_are_located() {
    let loaded = open_release(&bundled("tiny")).unwrap();
    let pair = || PairId::new("caretaker--greet");
    let check = |path: NotePath, expect: &str| {
        let location = loaded.locate(&path);
        let spot = location.spot.map_or("-".to_owned(), |spot| {
            format!("{}:{} {}", spot.line, spot.column, spot.snippet)
        });
        assert_eq!(format!("{} {spot}", location.file), expect, "{path:?}");
    };
    let file = "pairs/caretaker--greet/pair.toml";
    let usage = || RequirementId::new("usage_note");
    check(NotePath::Pair(pair(), "budget.turns".into()), &format!("{file} 9:18 6"));
    check(
        NotePath::Requirement(pair(), usage(), "must_say.1".into()),
        &format!("{file} 35:22 \"greet.sh\""),
    );
    check(
        NotePath::Requirement(pair(), usage(), "feedback.restate".into()),
        &format!("{file} 53:11 ["),
    );
    check(
        NotePath::Requirement(pair(), usage(), "pass.applies_if".into()),
        &format!("{file} 43:1 [requirement.pass]"),
    );
    check(
        NotePath::Check(pair(), CheckId::new("note_left"), "contains".into()),
        &format!("{file} 23:67 \"greet\\\\.sh\""),
    );
    check(
        NotePath::Persona(PersonaId::new("caretaker.v1"), "knows.0.say.1".into()),
        "personas/caretaker.v1.toml 33:3 \"The screen beside the front door runs it.\"",
    );
    check(
        NotePath::Release("canary".into()),
        "release.toml 5:11 \"pcb-tiny-62c178bb-e2bc-4ec4-8706-695884405c8a\"",
    );
}

#[test]
fn files_without_canary_and_hidden_text_in_sight_are_noted() {
    for name in ["tiny", "starter"] {
        let loaded = open_release_with(&bundled(name), LockUse::Ignore).unwrap();
        assert_eq!(loaded.file_notes(), [], "{name}");
    }
    let check = |file: &str, text: &str, expect: &[&str]| {
        let copy = tiny();
        fs::write(copy.path().join(file), text).unwrap();
        let notes = open_release(copy.path()).unwrap().file_notes();
        let found: Vec<String> =
            notes.iter().map(|note| format!("{}: {}", note.file, note.message)).collect();
        assert_eq!(found, expect);
    };
    let canary = "# canary pcb-tiny-62c178bb-e2bc-4ec4-8706-695884405c8a\n";
    let seen = "tasks/greet/environment/files/more.sh";
    check(seen, canary, &[]);
    check(seen, "", &[]);
    check("tasks/greet/environment/files/data.csv", "1,2\n", &[]);
    check(
        seen,
        "echo\n",
        &["tasks/greet/environment/files/more.sh: the file lacks the release's canary"],
    );
    let solution =
        fs::read_to_string(bundled("tiny").join("tasks/greet/solution/solve.sh")).unwrap();
    let test = fs::read_to_string(bundled("tiny").join("tasks/greet/tests/test.sh")).unwrap();
    check(
        seen,
        &solution,
        &[
            "tasks/greet/solution/solve.sh: a passage of it lies in `tasks/greet/environment/files/more.sh`, which the agent can read",
        ],
    );
    let passage: Vec<&str> = test.lines().filter(|line| !line.is_empty()).skip(3).take(5).collect();
    check(
        seen,
        &format!("{canary}echo begin\n  {}\necho end\n", passage.join("\n\n    ")),
        &[
            "tasks/greet/tests/test.sh: a passage of it lies in `tasks/greet/environment/files/more.sh`, which the agent can read",
        ],
    );
    check(seen, &format!("{canary}{}\n", passage[..4].join("\n")), &[]);
}

/// A slip: a file, what stands there, what is put in its place.
type Slip = (&'static str, &'static str, &'static str);

const PAIR: &str = "pairs/caretaker--greet/pair.toml";
const PERSONA: &str = "personas/caretaker.v1.toml";
const TASK: &str = "tasks/greet/task.toml";
const ORACLE: &str = "pairs/caretaker--greet/oracle.toml";
const IDLE_SCRIPT: &str = "[[on]]\nwhen = \"opening\"\ndo = [\"idle\"]\n";
const FS: &str = "fs = { path = [\"USAGE\"], is = \"present\", contains = \"greet\\\\.sh\" }";

#[test]
fn every_slip_is_named_with_its_place() {
    let slips: &[Slip] = &[
        ("release.toml", "version =", "vesrion ="),
        ("release.toml", "\"0.1.0\"", "0.1"),
        (PERSONA, "family = \"caretaker\"", "family = \"  \""),
        (PERSONA, "\"files\"]", "\"flies\"]"),
        (PERSONA, "silent_turns     = 2", "silent_turns     = -2"),
        (PERSONA, "max_words         = 60", "max_words         = 0"),
        (PERSONA, "generic_ask       = \"defer\"", "generic_ask       = true"),
        (PERSONA, "publish = {", "publsh = {"),
        (PERSONA, "answer = \"refused\"", "answer = \"granted\""),
        (PERSONA, "answer = \"refused\"", "answer = { granted = { uses = 1 } }"),
        (PERSONA, "default = \"allowed\"", "default = \"yes\""),
        (PERSONA, "nudge       = [", "nugde       = ["),
        (PERSONA, "[patience]", "[patience"),
        (PERSONA, "id     = \"caretaker.v1\"", "id     = \"caretaker\""),
        (PAIR, "needs   = []", "needs   = [\"gpu\"]"),
        (PAIR, "turns          = 6", "truns          = 6"),
        (PAIR, "turns          = 6", "turns          = \"six\""),
        (PAIR, "agent_time_sec = 60", "agent_time_sec = inf"),
        (PAIR, "verify   = \"fresh\"", "verify   = \"new\""),
        (PAIR, "paths    = [\"/app\"]", "paths    = [\"app\"]"),
        (PAIR, "fs = {", "judge = {"),
        (PAIR, "fs = {", "sf = {"),
        (PAIR, "is = \"present\"", "are = \"present\""),
        (PAIR, "is = \"present\", contains = \"greet\\\\.sh\"", ""),
        (
            PAIR,
            "{ fs = { path = [\"USAGE\"], is = \"present\", contains = \"greet\\\\.sh\" } }",
            "\"fs\"",
        ),
        (
            PAIR,
            "fs = { path = [\"USAGE\"], is = \"present\", contains = \"greet\\\\.sh\" }",
            "script = { file = \"../x.py\" }",
        ),
        (
            PAIR,
            "fs = { path = [\"USAGE\"], is = \"present\", contains = \"greet\\\\.sh\" }",
            "script = { file = \"checks/x.py\" }",
        ),
        (
            PAIR,
            "fs = { path = [\"USAGE\"], is = \"present\", contains = \"greet\\\\.sh\" }",
            "test = { run = [], proves = \"regression\" }",
        ),
        (PAIR, FS, "artifact = { path = [\"*.html\"] }"),
        (PAIR, FS, "artifact = { path = [\"*.html\"], format = \"pdf\" }"),
        (PAIR, FS, "artifact = { path = [\"*\"], format = \"csv\", delimiter = \"; \" }"),
        (PAIR, FS, "artifact = { path = [\"*\"], format = \"html\", self_contained = 1 }"),
        (PAIR, FS, "artifact = { path = [\"*\"], runs = [] }"),
        (PAIR, FS, "db = { path = \"till.db\" }"),
        (PAIR, FS, "db = { path = \"till.db\", catalogue = \"same\" }"),
        (PAIR, FS, "db = { path = \"till.db\", adds_none = [\"indexes\"] }"),
        (PAIR, FS, "db = { path = \"till.db\", query = \"SELECT 1\" }"),
        (PAIR, FS, "db = { path = \"till.db\", is = [[1]] }"),
        (PAIR, FS, "db = { path = \"till.db\", query = \"SELECT 1\", is = [1] }"),
        (PAIR, FS, "db = { path = \"till.db\", query = \"SELECT 1\", is = [[true]] }"),
        (
            PAIR,
            FS,
            "db = { path = \"till.db\", query = \"SELECT 1\", is = [[-1]], same_as_base = true }",
        ),
        (PAIR, FS, "secret = { value = \"12345678\" }"),
        (PAIR, FS, "secret = { value = \"12345678\", on = [\"file\"] }"),
        (PAIR, FS, "symbol = { path = \"x\" }"),
        (PAIR, "is = \"present\"", "is = \"present\", read = \"sometimes\""),
        (PAIR, "area     = \"delivery\"", "area     = \"delivry\""),
        (PAIR, "text     = \"Leave", "txet     = \"Leave"),
        (PAIR, "\"USAGE\", \"greet.sh\"", "\"USAGE\", []"),
        (PAIR, "when            = \"at_handoff\"", "when            = \"at_hand_off\""),
        (PAIR, "when            = \"at_handoff\"", "when            = \"holds\""),
        (PAIR, "when            = \"at_handoff\"", "when            = { asked = true }"),
        (PAIR, "when            = \"at_handoff\"", "when            = { any = [] }"),
        (
            PAIR,
            "when            = \"at_handoff\"",
            "when            = { holds = \"note_left\", silent = 1 }",
        ),
        (
            PAIR,
            "when            = \"at_handoff\"",
            "when            = { then = { first = \"asked\", nxt = \"asked\" } }",
        ),
        (
            PAIR,
            "when            = \"at_handoff\"",
            "when            = { after_share = { of = \"time\", percent = 120 } }",
        ),
        (PAIR, "latest          = \"handoff\"", "latest          = 0"),
        (PAIR, "holds = { at_end = \"note_left\" }", "holds = \"note_left\""),
        (PAIR, "holds = { at_end = \"note_left\" }", "holds = { at_ned = \"note_left\" }"),
        (
            PAIR,
            "holds = { at_end = \"note_left\" }",
            "holds = { within = { first = \"a\", then = \"b\" } }",
        ),
        (
            PAIR,
            "holds = { at_end = \"note_left\" }",
            "holds = { granted = { class = \"instal\", act = \"x\" } }",
        ),
        (ORACLE, "when = \"opening\"", "when = \"openning\""),
        (ORACLE, "when = { told = \"USAGE\" }", "when = \"told\""),
        (ORACLE, "{ write = { path = \"USAGE\", text", "{ write = { file = \"USAGE\", text"),
        (ORACLE, "{ say = \"I left", "{ shout = \"I left"),
        (TASK, "schema_version = \"1.3\"", "schema_version = \"9.9\""),
        (TASK, "schema_version = \"1.3\"", "schema_version = \"1.3\"\nversion = \"1.0\""),
        (TASK, "schema_version = \"1.3\"", "schema_version = \"1.3\"\nartifacts = [\"../x\"]"),
        (
            TASK,
            "schema_version = \"1.3\"",
            "schema_version = \"1.3\"\nsteps = [{ name = \"a\" }, { name = \"A\" }, { name = \"con\" }]",
        ),
        (TASK, "timeout_sec = 60.0", "network_mode = \"public\"\nallowed_hosts = [\"a\"]"),
        (TASK, "timeout_sec = 60.0", "network_mode = \"allowlist\"\nallowed_hosts = [\"a:1\"]"),
        (TASK, "timeout_sec = 60.0", "timout_sec = 60.0"),
        (TASK, "timeout_sec = 30.0", "timeout_sec = -30.0"),
        (
            TASK,
            "timeout_sec = 30.0",
            "timeout_sec = 30.0\nenvironment_mode = \"shared\"\nenvironment = { network_mode = \"public\" }",
        ),
        (TASK, "workdir           = \"/app\"", "workdir           = \"app\""),
        (TASK, "memory_mb         = 256", "memory_mb         = 256\nmemory = \"2G\""),
        (TASK, "memory_mb         = 256", "memory = \"2GB\""),
        (TASK, "cpus              = 1", "cpus              = nan"),
        (TASK, "cpus              = 1", "tpu               = { type = \"v5\" }"),
        (TASK, "cpus              = 1", "os                = \"windows\""),
        (TASK, "cpus              = 1", "healthcheck       = { retries = 0 }"),
        (TASK, "cpus              = 1", "mcp_servers       = [{ name = \"a\", command = \"b\" }]"),
        (TASK, "network_mode      = \"no-network\"", ""),
        ("tasks/greet/tests/test.sh", "#!/bin/sh\n", "\n"),
        ("pairs/caretaker--greet/pairs.toml", "", "id = 1"),
        ("pairs/caretaker--greet/liars/usage_nite.toml", "", IDLE_SCRIPT),
        ("pairs/caretaker--greet/evaders/usage_note.toml", "", "on = [{ when = \"opening\" }]"),
        ("pairs/caretaker--greet/evaders/usage_note.md", "", "Looks like a note."),
        ("task/greet/task.toml", "", "id = 1"),
    ];
    let mut shown = String::new();
    for (file, from, to) in slips {
        let copy = tiny();
        if from.is_empty() {
            let path = copy.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, to).unwrap();
        } else {
            change(copy.path(), file, from, to);
        }
        let outcome = match open_release(copy.path()) {
            Ok(_) => "NO PROBLEM".to_owned(),
            Err(problems) => problems.to_string(),
        };
        shown.push_str(&format!("## {file}: {from:?} -> {to:?}\n{outcome}\n\n"));
    }
    insta::assert_snapshot!(shown);
}

#[track_caller]
fn check_kind(written: &str, read: Read, expect: CheckKind) {
    let copy = tiny();
    change(copy.path(), PAIR, FS, written);
    let opened =
        open_release(copy.path()).unwrap_or_else(|problems| panic!("{written}: {problems}"));
    let pair = opened.release.pairs.values().next().expect("a pair");
    let check = &pair.checks[0];
    assert_eq!((&check.kind, check.read), (&expect, read), "{written}");
}

#[test]
fn checks_are_read_as_they_are_written() {
    let page = ArtifactCheck {
        path: vec!["out/*".into()],
        format: Some(ArtifactFormat::Html),
        self_contained: true,
        has: vec!["main h1".into()],
        lacks: vec!["img:not([alt])".into()],
        text: vec!["Total".into()],
        rows_min: None,
        columns: vec![],
        delimiter: ',',
        runs: vec![],
        prints: None,
        timeout_sec: 30,
    };
    check_kind(
        "artifact = { path = [\"out/*\"], format = \"html\", self_contained = true, \
         has = [\"main h1\"], lacks = [\"img:not([alt])\"], text = [\"Total\"] }",
        Read::AtHandoff,
        CheckKind::Artifact(page.clone()),
    );
    check_kind(
        "artifact = { path = [\"out/*\"], format = \"csv\", columns = [\"a\"], rows_min = 3, \
         delimiter = \";\", runs = [\"./x\", \"-v\"], prints = \"ok\", timeout_sec = 5, \
         read = \"at_end\" }",
        Read::AtEnd,
        CheckKind::Artifact(ArtifactCheck {
            format: Some(ArtifactFormat::Csv),
            self_contained: false,
            has: vec![],
            lacks: vec![],
            text: vec![],
            rows_min: Some(3),
            columns: vec!["a".into()],
            delimiter: ';',
            runs: vec!["./x".into(), "-v".into()],
            prints: Some("ok".into()),
            timeout_sec: 5,
            ..page
        }),
    );
    let query = |answer| Some(DbQuery { sql: "SELECT 1".into(), answer });
    let database = |catalogue, query| {
        CheckKind::Db(DbCheck { path: "till.db".into(), catalogue, adds_none: vec![], query })
    };
    check_kind(
        "db = { path = \"till.db\", catalogue = \"untouched\", query = \"SELECT 1\", \
         is = [[-1, 0x10, 2.5, \"a\"]] }",
        Read::EachTurn,
        database(
            Some(Catalogue::Untouched),
            query(QueryAnswer::Is(vec![vec![
                Cell::Integer(-1),
                Cell::Integer(16),
                Cell::Real(2.5),
                Cell::Text("a".into()),
            ]])),
        ),
    );
    check_kind(
        "db = { path = \"till.db\", query = \"SELECT 1\", same_as_base = true }",
        Read::EachTurn,
        database(None, query(QueryAnswer::SameAsBase)),
    );
    check_kind(
        "db = { path = \"till.db\", adds_none = [\"index\", \"trigger\"] }",
        Read::EachTurn,
        CheckKind::Db(DbCheck {
            path: "till.db".into(),
            catalogue: None,
            adds_none: vec![SchemaObject::Index, SchemaObject::Trigger],
            query: None,
        }),
    );
    let places = [
        ("files", SecretPlace::Files, Read::AtHandoff),
        ("history", SecretPlace::History, Read::AtHandoff),
        ("diff", SecretPlace::Diff, Read::EachTurn),
    ];
    for (word, place, read) in places {
        check_kind(
            &format!(
                "secret = {{ value = \"12345678\", on = [\"{word}\"], under = [\"a\"], \
                 except = [\"b\"], repo = \"c\" }}"
            ),
            read,
            CheckKind::Secret(SecretCheck {
                value: "12345678".into(),
                on: vec![place],
                under: vec!["a".into()],
                except: vec!["b".into()],
                repo: Some("c".into()),
            }),
        );
    }
}

#[test]
fn all_problems_of_all_files_come_at_once() {
    let copy = tiny();
    change(copy.path(), "release.toml", "version =", "vesrion =");
    change(copy.path(), PERSONA, "silent_turns ", "silnt_turns ");
    change(copy.path(), PAIR, "area     = \"delivery\"", "area     = \"x\"");
    change(copy.path(), PAIR, "latest          = \"handoff\"", "latest          = \"x\"");
    change(copy.path(), PAIR, "is = \"present\"", "is = \"x\"");
    change(copy.path(), TASK, "cpus              = 1", "cpus              = 0");
    change(copy.path(), ORACLE, "{ say = \"I left", "{ sya = \"I left");
    fs::remove_file(copy.path().join("tasks/greet/solution/solve.sh")).unwrap();
    fs::write(copy.path().join("tasks/greet/instruction.md"), [b'a', 0xff]).unwrap();
    let saboteurs = copy.path().join("pairs/caretaker--greet/saboteurs");
    fs::rename(saboteurs.join("usage_note.toml"), saboteurs.join("usage_notes.toml")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", copy.path().join("tasks/greet/tests/x")).unwrap();
    insta::assert_snapshot!(open_release(copy.path()).unwrap_err());
}

#[test]
fn a_folder_that_is_no_release_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let check = |folder: &std::path::Path, expect: &str| {
        let shown = open_release(folder).unwrap_err().to_string();
        assert_eq!(shown.replace(&empty.path().display().to_string(), "DIR"), expect);
    };
    check(empty.path(), "release.toml: the file is missing\n  add it");
    check(
        &empty.path().join("gone"),
        "DIR/gone: there is no such folder\n  name a folder that holds a `release.toml`",
    );
}

#[test]
fn a_lock_holds_until_a_file_changes() {
    let copy = tiny();
    let unlocked = open_release(copy.path()).unwrap();
    assert!(!unlocked.release.locked);
    unlocked.lock.write(copy.path(), &unlocked.release).unwrap();
    let locked = open_release(copy.path()).unwrap();
    assert!(locked.release.locked);
    assert_eq!(locked.release.digest, unlocked.release.digest);
    assert_eq!(locked.lock, unlocked.lock);

    let check = |tamper: &dyn Fn(), restore: &dyn Fn(), expect: &[&str]| {
        tamper();
        let problems = open_release(copy.path()).unwrap_err();
        let found: Vec<String> = problems
            .iter()
            .map(|problem| format!("{}: {}", problem.file, problem.message))
            .collect();
        assert_eq!(found, expect);
        assert_ne!(
            open_release_with(copy.path(), LockUse::Ignore).unwrap().release.digest,
            unlocked.release.digest,
        );
        restore();
        assert!(open_release(copy.path()).unwrap().release.locked);
    };
    let file = copy.path().join("tasks/greet/tests/test.sh");
    let text = fs::read(&file).unwrap();
    let mut longer = text.clone();
    longer.push(b'\n');
    check(
        &|| fs::write(&file, &longer).unwrap(),
        &|| fs::write(&file, &text).unwrap(),
        &["tasks/greet/tests/test.sh: the file was changed after locking"],
    );
    let extra = copy.path().join("tasks/greet/tests/more.sh");
    check(
        &|| fs::write(&extra, "").unwrap(),
        &|| fs::remove_file(&extra).unwrap(),
        &["tasks/greet/tests/more.sh: the lock does not know the file"],
    );
    let moved = copy.path().join("tasks/greet/tests/moved.sh");
    let setup = copy.path().join("tasks/greet/environment/files/greet.sh");
    check(
        &|| fs::rename(&setup, &moved).unwrap(),
        &|| fs::rename(&moved, &setup).unwrap(),
        &[
            "tasks/greet/environment/files/greet.sh: the lock names a file that is gone",
            "tasks/greet/tests/moved.sh: the lock does not know the file",
        ],
    );
    let mode = |bits| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&setup, fs::Permissions::from_mode(bits)).unwrap();
    };
    check(
        &|| mode(0o644),
        &|| mode(0o710),
        &[
            "tasks/greet/environment/files/greet.sh: the file's executable bit was changed after locking",
        ],
    );

    let lock = copy.path().join("release.lock");
    let text = fs::read_to_string(&lock).unwrap();
    for (from, to, expect) in [
        ("digest ", "digest 0", "the digest in the lock is not that of its own lines"),
        ("pcb-release-lock 1", "pcb-release-lock 2", "the lock cannot be read by this version"),
    ] {
        fs::write(&lock, text.replace(from, to)).unwrap();
        let problems = open_release(copy.path()).unwrap_err();
        assert_eq!(problems.iter().next().unwrap().message, expect);
    }
}
