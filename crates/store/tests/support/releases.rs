//! Copies of the bundled releases for tests that change them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use walkdir::WalkDir;

/// The folder of a bundled release.
pub fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases").join(name)
}

/// A copy of the tiny release.
pub fn tiny() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in WalkDir::new(bundled("tiny")) {
        let entry = entry.unwrap();
        let target = copy.path().join(entry.path().strip_prefix(bundled("tiny")).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
    // A copy is there to be changed; each test that wants a lock makes its own.
    let _ = fs::remove_file(copy.path().join("release.lock"));
    copy
}

/// Replaces the one place where `from` stands in a file.
pub fn change(root: &Path, file: &str, from: &str, to: &str) {
    let path = root.join(file);
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text.matches(from).count(), 1, "`{from}` stands not exactly once in {file}");
    fs::write(path, text.replace(from, to)).unwrap();
}
