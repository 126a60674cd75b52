//! The paper's tables from the command line: printed in every format, recomputed, and files of others read with care.

use std::{fs, path::Path};

use serde_json::Value;

use crate::bench::{Bench, copy_tree};

#[test]
fn tables_are_printed() {
    let bench = Bench::new();
    let all = bench.expect(0, &["published"]).stdout;
    for title in [
        "Composition",
        "28 configurations",
        "29 reported",
        "by persona",
        "ablations",
        "timeouts",
        "phases",
    ] {
        assert!(all.contains(title), "{title}: {all}");
    }
    let rows = bench.expect(0, &["published", "leaderboard", "--format", "markdown"]).stdout;
    assert!(rows.contains("| GPT-6 Astra | max | 48.0 | 38.5–57.7 |"), "{rows}");
    let json = bench.expect(0, &["published", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["leaderboard"]["rows"].as_array().map(Vec::len), Some(28));
}

#[test]
fn totals_that_differ_from_their_parts_are_findings() {
    let bench = Bench::new();
    let found = bench.expect(1, &["published", "check", "--format", "json"]).stdout;
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let places: Vec<&str> = found["differences"]
        .as_array()
        .expect("differences")
        .iter()
        .filter_map(|one| one["place"].as_str())
        .collect();
    let expect = ["Claude Opus 5.5 medium, joint passes", "Claude Opus 5.5 high, joint passes"];
    assert_eq!(places, expect);
}

#[test]
fn files_of_others_are_checked() {
    let bench = Bench::new();
    let folder = bench.path().join("figures");
    copy_tree(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../published")), &folder);
    let check = ["published", "check", folder.to_str().expect("a plain path")];
    let board = folder.join("leaderboard.json");
    let text = fs::read_to_string(&board).expect("the leaderboard");
    let mended = text
        .replace(
            r#""effort": "medium", "joint_percent": 40.0"#,
            r#""effort": "medium", "joint_percent": 35.0"#,
        )
        .replace(
            r#"Opus 5.5", "effort": "high", "joint_percent": 39.0"#,
            r#"Opus 5.5", "effort": "high", "joint_percent": 34.0"#,
        );
    fs::write(&board, &mended).expect("written");
    // The leaderboard now adds up, and no longer agrees with the observations.
    let found = bench.expect(1, &check).stdout;
    assert!(found.starts_with("\n2 of ") && !found.contains("joint passes"), "{found}");
    fs::write(&board, mended.replace("joint_percent", "joint")).expect("written");
    let refused = bench.expect(2, &check).stderr;
    assert!(refused.contains("leaderboard.json") && refused.contains("line"), "{refused}");
    fs::remove_file(&board).expect("removed");
    assert!(bench.expect(2, &check).stderr.contains("leaderboard.json"));
}
