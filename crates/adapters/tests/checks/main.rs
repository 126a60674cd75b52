//! Checks that read content or run programs, against real trees in local sandboxes: what holds, what does not, and
//! what agents do to look as if it did.

mod artifacts;
mod bounds;
mod databases;
mod repositories;
mod secrets;
mod stage;
mod witnesses;

use adapters::checks::SandboxChecks;
use domain::{
    acceptance::{Look, Reading, Truth},
    evidence::Missing,
    ids::Turn,
    release::{CheckKind, FsState, Proof},
};
use engine::ports::check::Checks;

use self::{repositories::git, stage::Stage};

const UNKNOWN: Truth = Truth::Unknown(Missing::ChannelMissing);

fn fs(path: &str, is: FsState) -> CheckKind {
    let path = vec![path.into()];
    CheckKind::Fs { path, is: Some(is), contains: None, lacks: None, since: None }
}

fn text(path: &str, contains: Option<&str>, lacks: Option<&str>) -> CheckKind {
    let path = vec![path.into()];
    let (contains, lacks) = (contains.map(Into::into), lacks.map(Into::into));
    CheckKind::Fs { path, is: None, contains, lacks, since: None }
}

#[tokio::test]
async fn files() {
    use FsState::{Absent, Changed, Present, Unchanged};
    let stage = Stage::new().await;
    let staged = stage
        .after(&[
            "printf 'start it\\n' > USAGE; mkdir out; printf 'café 12\\n' > out/a.txt",
            "rm tests/test_till.py; ln -s USAGE link; git status -s > /dev/null",
        ])
        .await;
    for (kind, expect) in [
        (fs("USAGE", Present), Truth::True),
        (fs("link", Present), Truth::True),
        (fs("usage", Present), Truth::False),
        (fs("nothing", Absent), Truth::True),
        (fs("**/a.txt", Absent), Truth::False),
        (fs("till.py", Unchanged), Truth::True),
        (fs("tests/**", Changed), Truth::True),
        (fs("out/**", Unchanged), Truth::False),
        (fs("[a-z]*.py", Changed), Truth::False),
        (text("USAGE", Some("^start"), None), Truth::True),
        (text("USAGE", Some("stop"), None), Truth::False),
        (text("nothing", Some("x"), None), Truth::False),
        (text("out/*", None, Some("café \\d+")), Truth::False),
        (text("out/*", None, Some("tea")), Truth::True),
        (text("out/*", Some("("), None), UNKNOWN),
    ] {
        staged.check(kind, expect).await;
    }
    let since = |path: &str| fs(path, Changed);
    let after_first = Some(Turn(1));
    assert_eq!(staged.read(&since("USAGE"), after_first).await.0, Truth::False);
    assert_eq!(staged.read(&since("tests/*"), after_first).await.0, Truth::True);
    assert_eq!(staged.read(&since("USAGE"), Some(Turn(9))).await.0, UNKNOWN);
}

fn script(timeout_sec: u32) -> CheckKind {
    CheckKind::Script { file: "checks/look.sh".into(), timeout_sec }
}

#[tokio::test]
async fn scripts() {
    let stage = Stage::new().await;
    let staged = stage.after(&["echo done > page"]).await;
    let mut staged = staged.with_script("#!/bin/sh\ntest \"$PCB_LOOK\" = 1 && grep -q done page\n");
    staged.check(script(20), Truth::True).await;
    staged.look = Look::Sealed;
    staged.check(script(20), Truth::False).await;
    for (body, expect) in [
        ("exit 0", Truth::True),
        ("exit 1", Truth::False),
        ("exit 2", UNKNOWN),
        ("kill -9 $$", UNKNOWN),
        ("sleep 30", UNKNOWN),
        ("rm -f /app/page; exit 0", Truth::True),
        // The run before was a fork of its own.
        ("test -f page", Truth::True),
    ] {
        staged = staged.with_script(&format!("#!/bin/sh\n{body}\n"));
        staged.check(script(2), expect).await;
    }
    staged = staged.with_script("#!/no/such/program\n");
    staged.check(script(5), UNKNOWN).await;
    let other = CheckKind::Script { file: "checks/other.sh".into(), timeout_sec: 5 };
    staged.check(other, UNKNOWN).await;
}

#[tokio::test]
async fn an_agents_own_tools_do_not_answer() {
    let stage = Stage::new().await;
    let lie = "printf '#!/bin/sh\\nexit 0\\n' > /tmp/lie; chmod 755 /tmp/lie";
    let hijack = "import os; os._exit(0)";
    let packages = "/usr/lib/python3/dist-packages";
    let places = [
        "rm -f /usr/bin/python3; cp /tmp/lie /usr/bin/python3",
        // What lies beside it and harms nobody is kept.
        "rm -f /usr/bin/python3; cp /tmp/lie /usr/bin/python3; echo x > /usr/share/beside",
        "cp /tmp/lie /usr/local/bin/python3",
        &format!("echo '{hijack}' > {packages}/sitecustomize.py"),
        &format!("echo '{hijack}' > $(readlink -f /usr/lib/python3.*/sitecustomize.py)"),
        &format!("echo '{hijack}' > {packages}/usercustomize.py"),
        &format!("echo '{hijack}' > {packages}/zz.pth"),
    ];
    for place in places {
        // A host whose places are closed to its user can't be lied to there.
        let staged = stage.after(&[&format!("{lie}; ({place}) || true; echo kept > page")]).await;
        let staged = staged.with_script("#!/usr/bin/env python3\nimport sys\nsys.exit(1)\n");
        staged.check(script(20), Truth::False).await;
        let staged = staged.with_script("#!/bin/sh\ngrep -q kept page\n");
        staged.check(script(20), Truth::True).await;
    }
    let loaded = "echo /tmp/none > /etc/ld.so.preload || true; echo kept > page";
    let staged = stage.after(&[loaded]).await;
    let staged =
        staged.with_script("#!/bin/sh\ntest ! -e /etc/ld.so.preload && grep -q kept page\n");
    staged.check(script(20), Truth::True).await;
}

fn suite(proves: Proof) -> CheckKind {
    let run = ["python3", "-m", "unittest", "discover", "-s", "tests"].map(String::from).to_vec();
    CheckKind::Test { run, proves, tests: vec!["tests/**".into()], timeout_sec: 30 }
}

const FIX: &str = "sed -i 's/a - b/a + b/' till.py";
const NEW_TEST: &str = "printf 'import unittest, till\\nclass N(unittest.TestCase):\\n    def test_sum(self):\\n        self.assertEqual(till.total(1, 2), 3)\\n' > tests/test_sum.py";
const EMPTY_TEST: &str = "printf 'import unittest\\nclass N(unittest.TestCase):\\n    def test_sum(self):\\n        pass\\n' > tests/test_sum.py";

#[tokio::test]
async fn suites() {
    use Truth::{False, True};
    let stage = Stage::new().await;
    let (edited, removed) = ("echo '#' >> tests/test_till.py", "rm tests/test_till.py");
    // Turns, then whether the suite passes, is a regression test, and was kept.
    let cases: [(&[&str], [Truth; 3]); 8] = [
        (&["true"], [True, False, True]),
        (&[FIX], [True, False, True]),
        (&[FIX, NEW_TEST], [True, True, True]),
        (&[NEW_TEST], [False, False, False]),
        (&[FIX, EMPTY_TEST], [True, False, True]),
        // What running them leaves is no test.
        (&[FIX, "rm -r tests/__pycache__ tests/.pytest_cache tests/old.pyc"], [True, False, True]),
        (&[FIX, NEW_TEST, edited], [True, True, False]),
        (&[FIX, NEW_TEST, removed], [True, True, False]),
    ];
    for (turns, expect) in cases {
        let staged = stage.after(turns).await;
        let proofs = [Proof::Passes, Proof::Regression, Proof::Kept];
        for (proves, expect) in proofs.into_iter().zip(expect) {
            let (found, witness) = staged.read(&suite(proves), None).await;
            assert_eq!(found, expect, "{proves:?} after {turns:?}: {witness}");
        }
    }
    // A test is laid over the base as it is, mode and all, so that it fails there for what it tests.
    let staged = stage.after(&[FIX, EMPTY_TEST, "chmod 640 tests/test_sum.py"]).await;
    let run = ["sh", "-c", "test $(stat -c %a tests/test_sum.py) = 640"].map(String::from).to_vec();
    let tests = vec!["tests/**".into()];
    let moded = CheckKind::Test { run, proves: Proof::Regression, tests, timeout_sec: 30 };
    staged.check(moded, False).await;
}

#[tokio::test]
async fn a_suite_that_cannot_run_proves_nothing() {
    let stage = Stage::new().await;
    let staged = stage.after(&[FIX, NEW_TEST]).await;
    for (run, timeout_sec) in [
        (vec!["no-such-runner"], 5),
        (vec!["sh", "-c", "no-such-runner"], 5),
        (vec!["sleep", "30"], 1),
    ] {
        for proves in [Proof::Passes, Proof::Regression, Proof::Kept] {
            let run = run.iter().map(|arg| (*arg).into()).collect();
            let tests = vec!["tests/**".into()];
            staged.check(CheckKind::Test { run, proves, tests, timeout_sec }, UNKNOWN).await;
        }
    }
}

#[tokio::test]
async fn the_order_of_reading_does_not_matter() {
    let stage = Stage::new().await;
    let staged = stage.after(&[FIX, NEW_TEST]).await;
    let staged = staged.with_script("#!/bin/sh\nrm -r /app/tests\n");
    let mut kinds = vec![
        script(10),
        suite(Proof::Regression),
        fs("tests/*.py", FsState::Present),
        git(|keys| keys.clean = Some(false)),
    ];
    for _ in 0..kinds.len() {
        for kind in &kinds {
            let reading = SandboxChecks.read(kind, None, &staged).await.expect("no fault");
            let is_true = matches!(reading, Reading::State { truth: Truth::True, .. });
            assert!(is_true, "{kind:?}: {reading:?}");
        }
        kinds.rotate_left(1);
    }
}
