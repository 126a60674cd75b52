//! The same tests once more as an ordinary user of the host.

use std::{fs, os::unix::fs::PermissionsExt, os::unix::process::CommandExt, process::Command};

use super::stage::{is_root, supervisor};

/// An id that no account needs to exist for.
const USER: u32 = 64_321;

#[test]
fn everything_holds_without_root() {
    if !is_root() {
        // Then the other tests have shown it.
        return;
    }
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = |from: &std::path::Path, name: &str| {
        let to = place.path().join(name);
        fs::copy(from, &to).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        to
    };
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let supervisor = copy(&supervisor(), "supervisor");
    let home = place.path().join("home");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::chown(&home, Some(USER), Some(USER)).unwrap();
    let output = Command::new(tests)
        // An engine's socket is not for everybody, and what runs in its containers is root's in any case.
        .args(["--test-threads=2", "--skip", "docker::", "--skip", "services::"])
        .args(["--skip", "weather::"])
        .env("PCB_TEST_SUPERVISOR", supervisor)
        .env("HOME", &home)
        .env("TMPDIR", &home)
        .current_dir(&home)
        .uid(USER)
        .gid(USER)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("everything_holds_without_root ... ok"), "{told}");
}
