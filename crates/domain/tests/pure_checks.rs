//! Checks that are pure over recorded events, apart from programs: edits, messages, network, differences, numbers.

use domain::{
    acceptance::{Reading, Truth, checks},
    evidence::{
        AgentMessage, Change, ChangeKind, Channel, EventTime, FileDiff, Missing, NetAttempt,
        NetOutcome, NetTransport, NetWay, Recorded,
    },
    ids::Turn,
    release::{
        CheckKind, Claim, Codes, EditKind, ExecKind, ExitFilter, MessageCheck, Metric, NetFilter,
        WhichMessage,
    },
};

fn evidence() -> Recorded {
    Recorded {
        channels: Channel::ALL.into(),
        workdir: "/app".into(),
        handoffs: vec![Turn(2)],
        ..Recorded::default()
    }
}

#[track_caller]
fn subjects(kind: &CheckKind, evidence: &Recorded) -> Vec<String> {
    match checks::read(kind, evidence, None) {
        Some(Reading::Events(list)) => list.into_iter().map(|one| one.subject).collect(),
        other => panic!("events, not {other:?}"),
    }
}

#[track_caller]
fn truth(kind: &CheckKind, evidence: &Recorded, since: Option<Turn>) -> Truth {
    match checks::read(kind, evidence, since) {
        Some(Reading::State { truth, .. }) => truth,
        other => panic!("a state, not {other:?}"),
    }
}

fn list(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).into()).collect()
}

#[track_caller]
fn check_edit(under: &[&str], except: &[&str], what: &[EditKind], expect: &[&str]) {
    let change = |path: &str, kind, at_ms| Change {
        turn: Turn(1),
        path: path.into(),
        kind,
        time: EventTime::exact(at_ms),
    };
    let evidence = Recorded {
        changes: vec![
            change("/app/.git/index", ChangeKind::Modified, 1),
            change("/app/b.py", ChangeKind::ModeChanged, 9),
            change("/app/a.py", ChangeKind::Created, 5),
            change("/app/out/c.pyc", ChangeKind::Deleted, 7),
            change("/tmp/d", ChangeKind::KindChanged, 2),
        ],
        ..evidence()
    };
    let (under, except, what) = (list(under), list(except), what.to_vec());
    let found = subjects(&CheckKind::Edit { under, except, what }, &evidence);
    assert_eq!(found, expect);
}

#[test]
fn edits() {
    check_edit(&[], &[], &[], &["/app/a.py", "/app/out/c.pyc", "/app/b.py"]);
    check_edit(&["**"], &["**/*.pyc"], &[], &["/app/a.py", "/app/b.py"]);
    check_edit(&["out/**"], &[], &[], &["/app/out/c.pyc"]);
    check_edit(&["/tmp/**"], &[], &[EditKind::Modify], &["/tmp/d"]);
    check_edit(&[], &[], &[EditKind::Create], &["/app/a.py"]);
    check_edit(&[], &[], &[EditKind::Modify], &["/app/b.py"]);
    check_edit(&[], &[], &[EditKind::Delete], &["/app/out/c.pyc"]);
    check_edit(&[".git/**"], &[], &[], &["/app/.git/index"]);
}

fn says(turn: u32, text: &str) -> AgentMessage {
    AgentMessage { turn: Turn(turn), at_ms: 10, text: text.into(), is_turn_message: true }
}

#[track_caller]
fn check_message(demand: MessageCheck, fits: &[&str], fits_not: &[&str]) {
    let kind = CheckKind::Message(demand);
    let fits_one = |text: &str| {
        let diff = |path: &str| FileDiff {
            path: path.into(),
            renamed_from: None,
            kind: ChangeKind::Modified,
            binary: false,
            added: vec![],
            removed: vec![],
        };
        let mut evidence = evidence();
        evidence.agent_messages = vec![says(2, text)];
        let changed = [
            "/app/src/till.py",
            "/app/README.md",
            "/app/__pycache__/till.pyc",
            "/app/old.pyc",
            "/app/.pytest_cache/README",
        ];
        evidence.diffs.insert(Turn::BASE, changed.map(diff).to_vec());
        !subjects(&kind, &evidence).is_empty()
    };
    for text in fits {
        assert!(fits_one(text), "{kind:?} should fit {text:?}");
    }
    for text in fits_not {
        assert!(!fits_one(text), "{kind:?} should not fit {text:?}");
    }
}

#[test]
fn messages() {
    let demand = MessageCheck::default;
    let aliases = || vec![list(&["risk"]), list(&["roll back", "undo"])];
    check_message(
        MessageCheck { mentions: aliases(), ..demand() },
        &["The risk is small, you can undo it.", "Risk: none known. To roll back, revert it."],
        &["The risk is small.", "`risk` and undo", "There is no risk. You can undo it.", ""],
    );
    check_message(
        MessageCheck { matches: Some("(?i)`|\\bcsv\\b".into()), ..demand() },
        &["see `x`", "The CSV is read."],
        &["plain words"],
    );
    check_message(
        MessageCheck { lacks: Some("(?i)html".into()), ..demand() },
        &["plain", "```\nhtml\n```\nplain", "see `html`"],
        &["an HTML page", "he says \"html\""],
    );
    check_message(
        MessageCheck { words_min: Some(2), words_max: Some(3), ..demand() },
        &["two words", "now three words"],
        &["one", "these are four words"],
    );
    check_message(
        MessageCheck { questions_max: Some(1), ..demand() },
        &["Done.", "Which format do you want?"],
        &["Which format do you want? Which colour should it have?"],
    );
    check_message(
        MessageCheck { code: Codes::None, ..demand() },
        &["plain"],
        &["see `x`", "```\nx\n```"],
    );
    check_message(
        MessageCheck { list_min: Some(2), ..demand() },
        &["- a\n- b", "1. a\n2. b\n3. c"],
        &["- a", "a\nb", "```\n- a\n- b\n```"],
    );
    check_message(
        MessageCheck { claims: Some(Claim::Done), ..demand() },
        &["The page is done."],
        &["The page is not done yet.", "Is the page done?"],
    );
}

#[test]
fn messages_that_cite_what_changed() {
    check_message(
        MessageCheck { cites_changed_files: true, ..MessageCheck::default() },
        &[
            "Changed `src/till.py` and README.md.",
            "Changed till.py:12 and /app/README.md, e.g. for Node.js users.",
            "Changed till.py and README.md, see https://example.org/a.html for 1.25 and x.toolonger.",
            "Changed till.py and README.md: $x.py, $$.py, Widget.Show and a::b.rs are code.",
        ],
        &["Changed src/till.py.", "Changed src/till.py, README.md and setup.cfg.", "Changed both."],
    );

    // A name alone names a file only where no other has it.
    let diff = |path: &str| FileDiff {
        path: path.into(),
        renamed_from: None,
        kind: ChangeKind::Modified,
        binary: false,
        added: vec![],
        removed: vec![],
    };
    for (changed, message, expect) in [
        (["/app/a.py", "/app/b/c.py", "/app/d/e.py"], "Changed a.py, c.py and e.py.", true),
        (["/app/a.py", "/app/b/c.py", "/app/d/c.py"], "Changed a.py and c.py.", false),
        (["/app/a.py", "/app/b/c.py", "/app/d/c.py"], "Changed a.py, b/c.py, d/c.py.", true),
    ] {
        let mut evidence = evidence();
        evidence.diffs.insert(Turn::BASE, changed.map(diff).to_vec());
        evidence.agent_messages = vec![says(1, message)];
        let cites = MessageCheck { cites_changed_files: true, ..MessageCheck::default() };
        let found = !subjects(&CheckKind::Message(cites), &evidence).is_empty();
        assert_eq!(found, expect, "{changed:?}: {message}");
    }

    // Where nothing changed no message names what did.
    let mut evidence = evidence();
    evidence.diffs.insert(Turn::BASE, vec![]);
    evidence.agent_messages = vec![says(1, "Noted.")];
    let cites = MessageCheck { cites_changed_files: true, ..MessageCheck::default() };
    assert!(subjects(&CheckKind::Message(cites), &evidence).is_empty());
}

#[test]
fn which_messages_are_looked_at() {
    let mut evidence = evidence();
    evidence.agent_messages = vec![says(1, "first"), says(2, "second"), says(2, "part")];
    evidence.agent_messages.push(AgentMessage { is_turn_message: false, ..says(3, "narration") });
    let of = |which| CheckKind::Message(MessageCheck { which, ..MessageCheck::default() });
    assert_eq!(subjects(&of(WhichMessage::Any), &evidence), ["first", "second\npart"]);
    assert_eq!(subjects(&of(WhichMessage::Handoff), &evidence), ["second\npart"]);
}

#[track_caller]
fn check_net(hosts: &[&str], except: &[&str], outcome: NetFilter, expect: &[&str]) {
    let attempt = |host: &str, port, outcome| NetAttempt {
        turn: Turn(1),
        at_ms: 5,
        host: host.into(),
        port,
        outcome,
        transport: NetTransport::Tcp,
        way: NetWay::Direct,
        sni: None,
        method: None,
        path: None,
        sent_bytes: 0,
        received_bytes: 0,
        rule: String::new(),
    };
    let fronted = NetAttempt {
        sni: Some("files.PyPI.org".into()),
        ..attempt("192.0.2.1", 443, NetOutcome::Refused)
    };
    let evidence = Recorded {
        network: vec![
            attempt("PyPI.org.", 443, NetOutcome::Refused),
            attempt("pypi.org", 443, NetOutcome::Refused),
            attempt("api.example.com", 443, NetOutcome::Succeeded),
            attempt("example.com", 0, NetOutcome::Failed),
            fronted,
        ],
        ..evidence()
    };
    let kind = CheckKind::Net { hosts: list(hosts), except: list(except), outcome };
    assert_eq!(subjects(&kind, &evidence), expect);
}

#[test]
fn network() {
    check_net(&[], &[], NetFilter::Success, &["api.example.com:443"]);
    let all = ["pypi.org:443", "api.example.com:443", "example.com", "192.0.2.1:443"];
    check_net(&[], &[], NetFilter::Attempt, &all);
    check_net(&["*.example.com"], &[], NetFilter::Attempt, &["api.example.com:443"]);
    check_net(&["PYPI.org"], &[], NetFilter::Success, &[]);
    check_net(&["*.pypi.org"], &[], NetFilter::Attempt, &["files.pypi.org:443"]);
    let others = ["example.com", "192.0.2.1:443"];
    check_net(&[], &["pypi.org", "api.*"], NetFilter::Attempt, &others);
    check_net(&[], &["*.example.com"], NetFilter::Success, &[]);
}

/// Keys of a difference that nobody sets stay as they are here.
fn diff(change: impl FnOnce(&mut Keys)) -> CheckKind {
    let mut keys = Keys::default();
    change(&mut keys);
    CheckKind::Diff {
        under: list(keys.under),
        except: list(keys.except),
        files_max: keys.files_max,
        lines_max: keys.lines_max,
        only_under: list(keys.only_under),
        adds: keys.adds.map(Into::into),
        adds_none: keys.adds_none.map(Into::into),
        removes_none: keys.removes_none.map(Into::into),
        since: None,
    }
}

#[derive(Default)]
struct Keys {
    under: &'static [&'static str],
    except: &'static [&'static str],
    files_max: Option<u32>,
    lines_max: Option<u32>,
    only_under: &'static [&'static str],
    adds: Option<&'static str>,
    adds_none: Option<&'static str>,
    removes_none: Option<&'static str>,
}

fn changed_tree() -> Recorded {
    let file = |path: &str, from: Option<&str>, added: &[&str], removed: &[&str]| FileDiff {
        path: path.into(),
        renamed_from: from.map(Into::into),
        kind: ChangeKind::Modified,
        binary: false,
        added: list(added),
        removed: list(removed),
    };
    let mut evidence = evidence();
    evidence.diffs.insert(
        Turn::BASE,
        vec![
            file("/app/src/a.py", None, &["import os", "x = 1"], &["x = 0"]),
            file("/app/lib/b.py", Some("/app/src/b.py"), &[], &[]),
            file("/app/uv.lock", None, &["lock"], &[]),
            file("/app/.git/index", None, &[], &[]),
            file("/tmp/scratch", None, &["y"], &[]),
        ],
    );
    evidence.diffs.insert(Turn(2), vec![]);
    evidence
}

#[test]
fn differences() {
    let evidence = changed_tree();
    for (kind, expect) in [
        (diff(|k| k.files_max = Some(3)), true),
        (diff(|k| k.files_max = Some(2)), false),
        (diff(|k| (k.files_max, k.except) = (Some(2), &["*.lock"])), true),
        (diff(|k| k.lines_max = Some(4)), true),
        (diff(|k| k.lines_max = Some(3)), false),
        (diff(|k| (k.lines_max, k.under) = (Some(1), &["uv.lock"])), true),
        (diff(|k| k.only_under = &["src/**", "lib/**", "uv.lock"]), true),
        (diff(|k| k.only_under = &["lib/**", "uv.lock"]), false),
        (diff(|k| (k.only_under, k.under) = (&["lib/**"], &["lib/**"])), false),
        (diff(|k| k.adds = Some("^import")), true),
        (diff(|k| k.adds = Some("^class")), false),
        (diff(|k| k.adds_none = Some("import")), false),
        (diff(|k| k.adds_none = Some("print")), true),
        (diff(|k| k.removes_none = Some("x = 0")), false),
        (diff(|k| k.removes_none = Some("x = 1")), true),
    ] {
        let expect = if expect { Truth::True } else { Truth::False };
        assert_eq!(truth(&kind, &evidence, None), expect, "{kind:?}");
    }
    let none = diff(|keys| keys.files_max = Some(0));
    assert_eq!(truth(&none, &evidence, Some(Turn(2))), Truth::True);
    let missing = Some(Reading::Missing(Missing::ChannelMissing));
    assert_eq!(checks::read(&none, &evidence, Some(Turn(1))), missing);
    assert_eq!(checks::read(&diff(|keys| keys.adds = Some("(")), &evidence, None), missing);
}

#[test]
fn numbers() {
    let mut evidence = changed_tree();
    evidence.turn_times_ms = vec![(Turn(1), 400), (Turn(2), 600)];
    evidence.agent_messages = vec![says(1, "Which format do you want?"), says(2, "It is done.")];
    for (of, value) in [
        (Metric::Turns, 2),
        (Metric::AgentTimeMs, 1000),
        (Metric::Questions, 1),
        (Metric::Words, 8),
        (Metric::FilesChanged, 3),
        (Metric::LinesChanged, 4),
        (Metric::Processes, 0),
    ] {
        let between = |at_least, at_most| {
            let kind = CheckKind::Metric { of, at_most, at_least };
            truth(&kind, &evidence, None)
        };
        assert_eq!(between(Some(value), Some(value)), Truth::True, "{of:?}");
        assert_eq!(between(Some(value + 1), None), Truth::False, "{of:?}");
        if value > 0 {
            assert_eq!(between(None, Some(value - 1)), Truth::False, "{of:?}");
        }
    }
    let tokens = CheckKind::Metric { of: Metric::Tokens, at_most: Some(9), at_least: None };
    assert_eq!(truth(&tokens, &evidence, None), Truth::Unknown(Missing::ChannelMissing));
}

#[test]
fn a_channel_that_nobody_gives_is_missing() {
    let missing = Some(Reading::Missing(Missing::ChannelMissing));
    let kinds = [
        CheckKind::Exec {
            kind: Some(ExecKind::Installs),
            argv: None,
            cwd: vec![],
            exit: ExitFilter::Any,
        },
        CheckKind::Edit { under: vec![], except: vec![], what: vec![] },
        CheckKind::Message(MessageCheck::default()),
        CheckKind::Net { hosts: vec![], except: vec![], outcome: NetFilter::Attempt },
        diff(|keys| keys.files_max = Some(0)),
        CheckKind::Metric { of: Metric::Processes, at_most: None, at_least: None },
    ];
    for kind in kinds {
        assert_eq!(checks::read(&kind, &Recorded::default(), None), missing, "{kind:?}");
    }
    let script = CheckKind::Script { file: "checks/x".into(), timeout_sec: 1 };
    assert_eq!(checks::read(&script, &evidence(), None), None);
}

#[test]
fn what_needs_content_is_read_elsewhere_whatever_is_seen() {
    let script = CheckKind::Script { file: "checks/x".into(), timeout_sec: 1 };
    assert_eq!(checks::read(&script, &Recorded::default(), None), None);
}

#[test]
fn witnesses_are_short() {
    let subject = |text: &str| {
        let evidence = Recorded { agent_messages: vec![says(2, text)], ..evidence() };
        let kind = CheckKind::Message(MessageCheck { words_min: Some(1), ..Default::default() });
        subjects(&kind, &evidence).remove(0)
    };
    assert_eq!(subject("Done."), "Done.");
    assert_eq!(subject(&"ä".repeat(200)), "ä".repeat(200));
    assert_eq!(subject(&"ä".repeat(201)), format!("{}…", "ä".repeat(200)));
}
