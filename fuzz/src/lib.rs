//! What several targets share: the smallest legal release in memory, one file of which is replaced ([`open_with`]).

use std::{path::Path, sync::LazyLock};

use domain::release::lint::lint;
use store::{
    lock::LockState,
    release_files::{LoadedRelease, ReleaseTree, open_release, open_tree},
};

static TINY: LazyLock<LoadedRelease> = LazyLock::new(|| {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../releases/tiny"));
    open_release(folder).unwrap_or_else(|problems| panic!("releases/tiny: {problems:?}"))
});

/// Files of the smallest release, by what is read in them.
pub const PERSONA: &str = "personas/caretaker.v1.toml";
/// Its pair.
pub const PAIR: &str = "pairs/caretaker--greet/pair.toml";
/// Its head.
pub const RELEASE: &str = "release.toml";
/// Its task.
pub const TASK: &str = "tasks/greet/task.toml";
/// Its statement.
pub const INSTRUCTION: &str = "tasks/greet/instruction.md";

/// Reads the release with other bytes in one file, and lints what can be read; every note has a place and every
/// problem lies within its file.
pub fn open_with(path: &str, bytes: &[u8]) -> Option<LoadedRelease> {
    let tree: ReleaseTree = TINY.tree.clone().with(path, bytes);
    assert!(tree.bytes(path) == Some(bytes), "{path} is in the release");
    match open_tree(tree, LockState::Unlocked) {
        Ok(loaded) => {
            for note in lint(&loaded.release) {
                let _ = loaded.locate(&note.path);
            }
            Some(loaded)
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "a release that is refused says why");
            None
        }
    }
}
