//! A disk that fills up ends sessions as faults; what was recorded before stays readable.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Running, is_root};

/// Mounts a small disk in a namespace of its own and does everything there, because it vanishes with it.
const SCRIPT: &str = r#"
set -u
mount -t tmpfs -o size=400k,mode=755 small out || exit 99
"$PCB" run tiny --agent oracle --repeats 12 --jobs 1 --out out >first.txt 2>first.err
echo "$?" >first.code
group=$(echo out/tiny-*)
"$PCB" report "$group" --format json >report.json 2>report.err
echo "$?" >report.code
"$PCB" replay "$group" >replay.txt 2>&1
echo "$?" >replay.code
df out >df.txt
"#;

#[test]
fn a_full_disk_ends_sessions_as_faults() {
    let bench = Bench::new();
    std::fs::create_dir(bench.out()).expect("a folder");
    let namespace = if is_root() { "-m" } else { "-rm" };
    let mut command = Command::new("unshare");
    command.args([namespace, "sh", "-c", SCRIPT]);
    let mut command = bench.cleared(command);
    command.env("PCB", env!("CARGO_BIN_EXE_pcb"));
    let done = Running::start(command).wait();
    if !is_root() && done.code != Some(0) {
        eprintln!("not run: an ordinary user of this host may not mount: {}", done.stderr);
        return;
    }
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let left = |name: &str| std::fs::read_to_string(bench.path().join(name)).expect(name);
    let said = left("first.err");
    assert_eq!(left("first.code").trim(), "3", "{said}\n{}", left("df.txt"));
    assert!(left("first.txt").contains("Census"), "{said}");
    assert!(said.contains("No space left on device"), "{said}");

    assert_eq!(left("report.code").trim(), "3", "{}", left("report.err"));
    let report: Value = serde_json::from_str(&left("report.json")).expect("JSON");
    let row = &report["rows"][0];
    let passed = row["joint"]["count"].as_u64().expect("a count");
    assert!((1..12).contains(&passed), "the disk was to fill up in the midst: {passed} passed");
    assert_eq!(row["joint"]["of"], 12);
    let classes = row["census"]["classes"].as_array().expect("classes");
    let count = |class: &Value| class["count"].as_u64().expect("a count");
    assert_eq!(classes.iter().map(count).sum::<u64>(), 12);
    assert!(classes.iter().any(|class| class["name"] == "infra" || class["name"] == "not run"));

    assert_eq!(left("replay.code").trim(), "0", "{}", left("replay.txt"));
    assert!(left("replay.txt").contains(" 0 differ"), "{}", left("replay.txt"));
}
