//! File trees as seen from outside: manifests (E1), changes between two of them, and line differences (E2).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use crate::ids::{Hash, Turn};

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Special,
    /// The path existed in the base and is gone.
    Gone,
}

/// One path of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// What it is.
    pub kind: FileKind,
    /// Permission bits including setuid, setgid and sticky.
    pub mode: u32,
    /// Size in bytes; 0 for what has no content.
    pub size: u64,
    /// Kernel change time in milliseconds since the session's origin; cannot be set by a program.
    pub ctime_ms: i64,
    /// Hash of a regular file's content.
    pub hash: Option<Hash>,
    /// Target of a link.
    pub link_target: Option<String>,
}

impl ManifestEntry {
    /// Whether two entries hold the same thing, times aside.
    pub fn same_content(&self, other: &ManifestEntry) -> bool {
        self.kind == other.kind
            && self.mode == other.mode
            && self.hash == other.hash
            && self.link_target == other.link_target
    }
}

/// Every path that differs from the base, by absolute path inside the sandbox.
///
/// A path that is not listed is as the base has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The entries in order of their paths.
    pub entries: BTreeMap<String, ManifestEntry>,
}

/// How a path changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It did not exist before.
    Created,
    /// Its content or link target changed.
    Modified,
    /// Only its permission bits changed.
    ModeChanged,
    /// It became another kind of file.
    KindChanged,
    /// It is gone.
    Deleted,
}

/// A change of one path within one turn (E1 as an event).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The turn in which it was seen.
    pub turn: Turn,
    /// Absolute path inside the sandbox.
    pub path: String,
    /// How it changed.
    pub kind: ChangeKind,
    /// Last change of the path within the turn: exact by `ctime`, for deletions bounded by the parent's.
    pub time: super::EventTime,
}

impl Manifest {
    /// What changed from `self` to `later`, where `in_base` tells whether the base holds a path.
    ///
    /// `turn_start_ms` bounds what has no time of its own. Directories count only when they come or go.
    pub fn changes_to(
        &self,
        later: &Manifest,
        turn: Turn,
        turn_start_ms: i64,
        turn_end_ms: i64,
        in_base: impl Fn(&str) -> bool,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, now) in &later.entries {
            let before = self.entries.get(path);
            let Some(kind) = change_kind(before, now, in_base(path)) else { continue };
            let time = if now.kind == FileKind::Gone {
                super::EventTime::between(turn_start_ms, turn_end_ms)
            } else {
                super::EventTime::exact(now.ctime_ms)
            };
            changes.push(Change { turn, path: path.clone(), kind, time });
        }
        for (path, before) in &self.entries {
            if later.entries.contains_key(path) {
                continue;
            }
            // Listed before and not any more: created after the base and removed again, or restored to the base.
            let kind = match (before.kind, in_base(path)) {
                (FileKind::Gone, true) => ChangeKind::Created,
                (FileKind::Gone, false) => continue,
                (_, true) => ChangeKind::Modified,
                (_, false) => ChangeKind::Deleted,
            };
            if before.kind == FileKind::Directory && kind == ChangeKind::Modified {
                continue;
            }
            let time = super::EventTime::between(turn_start_ms, turn_end_ms);
            changes.push(Change { turn, path: path.to_string(), kind, time });
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }
}

fn change_kind(
    before: Option<&ManifestEntry>,
    now: &ManifestEntry,
    in_base: bool,
) -> Option<ChangeKind> {
    let existed = before.map_or(in_base, |entry| entry.kind != FileKind::Gone);
    if now.kind == FileKind::Gone {
        return existed.then_some(ChangeKind::Deleted);
    }
    if !existed {
        return Some(ChangeKind::Created);
    }
    match before {
        Some(entry) if entry.same_content(now) => None,
        Some(entry) if entry.kind != now.kind => Some(ChangeKind::KindChanged),
        Some(entry) if entry.hash == now.hash && entry.link_target == now.link_target => {
            Some(ChangeKind::ModeChanged)
        }
        _ if now.kind == FileKind::Directory => None,
        _ => Some(ChangeKind::Modified),
    }
}

/// The line difference of one file between two states (E2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Absolute path inside the sandbox (the later one for a rename).
    pub path: String,
    /// The earlier path if it was renamed.
    pub renamed_from: Option<String>,
    /// How it changed.
    pub kind: ChangeKind,
    /// True if one side is not text; then no lines are listed.
    pub binary: bool,
    /// Added lines without their ends.
    pub added: Vec<String>,
    /// Removed lines without their ends.
    pub removed: Vec<String>,
}
