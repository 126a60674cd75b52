//! The schemas of `release.toml` and of `release.lock`.

use serde_json::{Value, json};

use super::shape::{Shape, need};

/// The release itself.
pub(super) fn schema() -> Value {
    let root = Shape::table([
        need("id", "The release's id.", Shape::text()),
        need(
            "version",
            "Its version: a changed task, requirement or check is a new one.",
            Shape::text(),
        ),
        need(
            "canary",
            "A unique string that stands in every file, so that a training set can be searched for it.",
            Shape::text(),
        ),
    ]);
    root.says("The release itself: `release.toml`.").document("release", vec![])
}

/// The lock is lines of text: this is what its whole text matches.
pub(super) fn lock() -> Value {
    let file = "[0-9a-f]{64} [x-] [^\\n]+\\n";
    let pattern =
        format!("^pcb-release-lock 1\\nrelease [^\\n]+\\ndigest [0-9a-f]{{64}}\\n(?:{file})*$");
    let about = "The text of `release.lock`: a line with the format, one with the release's id and version, one \
                 with the BLAKE3 digest over all file lines, then a line for each file in order of path: its \
                 BLAKE3 hash, `x` if its owner may execute it (else `-`), its path.";
    let root = Shape::of(json!({ "type": "string", "pattern": pattern }));
    root.says(about).document("release.lock", vec![])
}
