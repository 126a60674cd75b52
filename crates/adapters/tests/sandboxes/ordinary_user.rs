//! The same tests once more as an ordinary user of the host.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
    process::Command,
};

use super::stage::{docker_address, is_root, supervisor};

/// An id that no account needs to exist for.
const USER: u32 = 64_321;

/// This test program and its supervisor where everybody reaches them, and a home of the user's.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Self { folder };
        for (from, name) in [(std::env::current_exe().unwrap(), TESTS), (supervisor(), SUPERVISOR)]
        {
            fs::copy(from, place.path(name)).unwrap();
            fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir(place.path(HOME)).unwrap();
        std::os::unix::fs::chown(place.path(HOME), Some(USER), Some(USER)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The tests as the user, who is in these other groups.
    fn tests(&self, groups: &str) -> Command {
        let mut command = as_user(groups);
        command
            .arg(self.path(TESTS))
            .env("PCB_TEST_SUPERVISOR", self.path(SUPERVISOR))
            .env("HOME", self.path(HOME))
            .env("TMPDIR", self.path(HOME))
            .current_dir(self.path(HOME));
        command
    }
}

fn as_user(groups: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &USER.to_string(), "--regid", &USER.to_string(), groups]);
    command
}

const TESTS: &str = "tests";
const SUPERVISOR: &str = "supervisor";
const HOME: &str = "home";

fn check(command: &mut Command, has_passed: &str) {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains(&format!("{has_passed} ... ok")), "{told}");
}

#[test]
fn everything_holds_without_root() {
    if !is_root() {
        // Then the other tests have shown it.
        return;
    }
    let place = Place::new();
    let mut command = place.tests("--clear-groups");
    // An engine's socket is not for everybody, and what runs in its containers is root's in any case.
    command.args(["--test-threads=2", "--skip", "docker::", "--skip", "services::"]);
    command.args(["--skip", "weather::"]);
    check(&mut command, "everything_holds_without_root");
}

/// Such a user enters no network, and an edge is kept beside the container instead.
#[test]
fn a_member_of_the_engines_group_sees_what_a_container_tries() {
    let address = docker_address();
    let socket = address.trim_start_matches("unix://");
    let groups = format!("--groups={}", fs::metadata(socket).unwrap().gid());
    let reached = as_user(&groups).args(["test", "-w", socket]).status().unwrap();
    if !is_root() || !reached.success() {
        // Without root the other tests have shown it; a folder around the socket may be closed to others.
        return;
    }
    let place = Place::new();
    let mut command = place.tests(&groups);
    command.args(["--exact", "conformance::docker::what_is_tried_arrives"]);
    check(&mut command, "conformance::docker::what_is_tried_arrives");
}
