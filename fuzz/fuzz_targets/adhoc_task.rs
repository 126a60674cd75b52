//! A task of somebody else's: its `task.toml` and, after a zero byte, its Dockerfile. It is read or refused with reasons, what
//! sandboxes lack is told with a remedy, nothing breaks.
#![no_main]

use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use store::harbor::reading::read_for_check;
use tempfile::TempDir;

/// A folder with all that a task can need but what is fuzzed.
static TASK: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    for inner in ["", "steps/one/", "steps/two/"] {
        let tests = folder.path().join(inner).join("tests");
        fs::create_dir_all(&tests).expect("folders");
        fs::write(tests.join("test.sh"), "#!/bin/sh\n").expect("a script");
        fs::write(folder.path().join(inner).join("instruction.md"), "Do it.\n").expect("words");
    }
    fs::create_dir(folder.path().join("environment")).expect("a folder");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let write = |path: &str, bytes: Option<&[u8]>| {
        fs::write(TASK.path().join(path), bytes.unwrap_or_default()).expect("a file");
    };
    write("task.toml", parts.next());
    write("environment/Dockerfile", parts.next());
    let reading = read_for_check(TASK.path());
    let Some(task) = &reading.task else {
        assert!(!reading.problems.is_empty(), "a task that is refused says why");
        return;
    };
    for sandbox in ["local", "docker"] {
        for lack in task.unsupported_by(sandbox) {
            assert!(!lack.what.is_empty() && !lack.remedy.is_empty(), "{lack:?}");
        }
    }
    for step in task.verifications() {
        let _ = task.verifier_home(step);
        assert!(!task.artifacts_after(step).is_empty(), "what is published is always taken");
    }
});
