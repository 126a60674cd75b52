//! Root and an ordinary user come to the same classes.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    process::Command,
};

use serde_json::Value;

use crate::bench::{Bench, Running, is_root};

const NOBODY: u32 = 65_534;

#[test]
fn an_ordinary_user_comes_to_the_same_classes() {
    let own = Bench::new();
    let group = own.tiny(&["oracle", "eager", "nop"], &[]);
    let own_classes = classes(&own.report(&[&group]));
    assert_eq!(own_classes, ["eager agent stopped", "nop agent stopped", "oracle joint pass"]);
    if !is_root() {
        // These tests run as the ordinary user already; there is nobody else to become.
        return;
    }

    let bench = Bench::new();
    let binary = bench.path().join("pcb");
    fs::copy(env!("CARGO_BIN_EXE_pcb"), &binary).expect("a copy");
    fs::set_permissions(bench.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::create_dir(bench.state()).expect("a folder");
    fs::create_dir(bench.out()).expect("a folder");
    for folder in [bench.state(), bench.out()] {
        chown(&folder, Some(NOBODY), Some(NOBODY)).expect("a new owner");
    }
    let id = NOBODY.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(&binary);
    command.args(["run", "tiny", "--agent", "oracle", "--agent", "eager", "--agent", "nop"]);
    command.args(["--out", "out", "--json"]);
    let done = Running::start(bench.cleared(command)).wait();
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(classes(&report), own_classes);
}

fn classes(report: &Value) -> Vec<String> {
    let rows = report["rows"].as_array().expect("rows");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let class =
        |row: &Value| format!("{} {}", text(&row["run"]), text(&row["sessions"][0]["class"]));
    let mut classes: Vec<String> = rows.iter().map(class).collect();
    classes.sort();
    classes
}
