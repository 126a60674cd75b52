//! What is derived can be deleted: a report makes it again, byte for byte.

use std::{collections::BTreeMap, fs, path::Path};

use crate::bench::{Bench, files_below};

#[test]
fn a_report_makes_the_same_bytes_again() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle", "eager", "nop"], &["--repeats", "2"]);
    let shown = group.to_str().expect("a plain path");
    let printed = |format: &str| bench.expect(0, &["report", shown, "--format", format]).stdout;
    let formats = ["table", "markdown", "json"];
    let before = formats.map(printed);
    let files = derived(&group);
    assert_eq!(files.len(), 9);

    for run in ["oracle", "eager", "nop"] {
        fs::remove_dir_all(group.join(run).join("derived")).expect("derived files");
    }
    assert!(derived(&group).is_empty());
    assert_eq!(formats.map(printed), before);
    assert_eq!(derived(&group), files);

    // One run alone, and beside a run of the same name, gives the same files too.
    let other = bench.tiny(&["oracle"], &["--arm", "no-persona"]);
    bench.expect(0, &["report", group.join("oracle").to_str().expect("a plain path")]);
    assert_eq!(derived(&group), files);
    bench.expect(0, &["report", other.to_str().expect("a plain path"), shown]);
    assert_eq!(derived(&group), files);
}

#[test]
fn a_report_needs_no_right_to_write() {
    let bench = Bench::new();
    let group = bench.tiny(&["oracle"], &[]);
    let derived = group.join("oracle/derived");
    let shown = group.to_str().expect("a plain path");
    let before = bench.expect(0, &["report", shown]).stdout;
    fs::remove_dir_all(&derived).expect("derived files");
    // A file in the way keeps even root from writing.
    fs::write(&derived, "").expect("a file");
    let done = bench.expect(0, &["report", shown]);
    assert_eq!(done.stdout, before);
    assert!(done.stderr.contains("derived"), "{}", done.stderr);
}

fn derived(group: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = files_below(group).into_iter().filter(|path| path.contains("/derived/"));
    files.map(|path| (path.clone(), fs::read(group.join(&path)).expect("a file"))).collect()
}
