//! Files that changed, with the difference of their lines as far as the run's folder keeps both sides.

use std::collections::BTreeMap;

use domain::{
    evidence::{Change, ChangeKind, Channel, FileDiff, FileKind, Manifest, ManifestEntry},
    ids::Hash,
    session::{Answer, Command, Event, Observation},
};
use schemars::JsonSchema;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::StorySources;
use crate::context::words;

/// Files at the end that are listed; the rest is counted.
const FILES_MAX: usize = 200;

/// Bytes of one side above which lines are not compared.
const BYTES_MAX: usize = 1 << 20;

/// Lines of both sides together above which they are not compared.
const LINES_MAX: usize = 8_000;

/// Unchanged lines around a change.
const AROUND: usize = 3;

/// A file that changed in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedFile {
    /// Created, modified, deleted.
    pub what: String,
    /// Absolute path inside the sandbox.
    pub path: String,
    /// Against the turn before.
    pub difference: Difference,
}

/// A path that differs from the base at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileStory {
    /// Created, modified, deleted.
    pub what: String,
    /// Absolute path inside the sandbox.
    pub path: String,
    /// Its size in bytes at the end.
    pub size: u64,
    /// Where its content lies, as a path within the run's folder.
    pub place: Option<String>,
    /// Why its content was not kept, if it was not.
    pub unkept: Option<String>,
    /// Against the base.
    pub difference: Difference,
}

/// What can be shown of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// Lines with some unchanged ones around them.
    Lines {
        /// The lines.
        lines: Vec<DiffLine>,
        /// Added ones in all.
        added: usize,
        /// Removed ones in all.
        removed: usize,
        /// Whether what stood before is the release's own file, which the environment's setup may have changed.
        from_release: bool,
    },
    /// There are no lines to compare; why.
    NotShown(String),
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiffLine {
    /// What it is.
    pub kind: LineKind,
    /// Without its end.
    pub text: String,
}

/// What a line of a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// Where the next lines stand.
    Place,
    /// On both sides.
    Kept,
    /// Only after.
    Added,
    /// Only before.
    Removed,
}

/// The states between turns, as far as they are kept.
pub(super) struct States<'a> {
    sources: &'a StorySources<'a>,
    /// By the entry at which they were captured; the last one is the seal.
    captured: BTreeMap<usize, Option<Manifest>>,
    /// Line differences to the base that were recorded, by the entry.
    recorded: BTreeMap<usize, Vec<FileDiff>>,
}

/// One side of a difference.
enum Side {
    Absent,
    Bytes { bytes: Vec<u8>, from_release: bool },
    Unlike(&'static str),
    Unkept(&'static str),
}

/// Whether a path belongs to git's own files.
pub(super) fn is_inside_git(path: &str) -> bool {
    path.contains("/.git/")
}

impl<'a> States<'a> {
    pub(super) fn of(sources: &'a StorySources<'a>) -> Self {
        let mut captured = BTreeMap::new();
        let mut recorded = BTreeMap::new();
        for (at, entry) in sources.entries.iter().enumerate() {
            match &entry.event {
                Event::Answered(
                    _,
                    Answer::Captured { manifest, .. } | Answer::StepPlaced { manifest, .. },
                ) => {
                    captured.insert(at, sources.payloads.manifest(manifest));
                }
                Event::Answered(_, Answer::Sealed { .. }) => {
                    captured.insert(at, sources.seal.map(|seal| seal.manifest.clone()));
                }
                Event::Observed(Observation::Cut { channel: Channel::Diff, blob, .. }) => {
                    let diffs = sources.payloads.diffs_to_base(blob);
                    recorded.insert(at, diffs.unwrap_or_default());
                }
                _ => {}
            }
        }
        Self { sources, captured, recorded }
    }

    /// A change that was cut at an entry, before its capture was answered.
    pub(super) fn changed(&self, at: usize, change: &Change) -> ChangedFile {
        let before = self.captured.range(..at).next_back().map(|(_, state)| state.as_ref());
        let after = self.captured.range(at..).next();
        let difference = match (before, after) {
            (Some(None), _) | (_, None | Some((_, None))) => {
                Difference::NotShown("the state at that moment was not kept".to_owned())
            }
            (before, Some((captured_at, Some(after)))) => {
                let before = before.flatten();
                let is_new = change.kind == ChangeKind::Created;
                let is_base = before.is_none_or(|state| !state.entries.contains_key(&change.path));
                let recorded = if is_base { self.recorded_after(*captured_at) } else { None };
                self.compare(&change.path, before, after, is_new, recorded)
            }
        };
        ChangedFile {
            what: words::change(change.kind).to_owned(),
            path: change.path.clone(),
            difference,
        }
    }

    /// The differences to the base that were recorded for a captured state, before the next one was captured.
    fn recorded_after(&self, captured_at: usize) -> Option<&[FileDiff]> {
        let next = self.captured.range(captured_at + 1..).next().map_or(usize::MAX, |(at, _)| *at);
        self.recorded.range(captured_at..next).next_back().map(|(_, diffs)| &diffs[..])
    }

    fn compare(
        &self,
        path: &str,
        before: Option<&Manifest>,
        after: &Manifest,
        is_new: bool,
        recorded: Option<&[FileDiff]>,
    ) -> Difference {
        let was = match before.and_then(|state| state.entries.get(path)) {
            Some(entry) => self.content(entry),
            None if is_new => Side::Absent,
            None => self.base(path),
        };
        let is = match after.entries.get(path) {
            Some(entry) => self.content(entry),
            // What is not listed is as the base has it, or was never there.
            None => match self.base(path) {
                Side::Unkept(_) => Side::Absent,
                base => base,
            },
        };
        let is_from_base = matches!(was, Side::Bytes { from_release: true, .. } | Side::Unkept(_));
        let shown = compare_sides(was, is);
        match recorded.and_then(|diffs| diffs.iter().find(|diff| diff.path == path)) {
            Some(diff) if is_from_base => proved(shown, diff),
            _ => shown,
        }
    }

    fn base(&self, path: &str) -> Side {
        match (self.sources.environment_file)(path) {
            Some(bytes) => Side::Bytes { bytes, from_release: true },
            None => Side::Unkept("what the base holds there is not kept with the run"),
        }
    }

    fn content(&self, entry: &ManifestEntry) -> Side {
        match (entry.kind, &entry.hash) {
            (FileKind::Gone, _) => Side::Absent,
            (FileKind::File, Some(hash)) => match self.sources.payloads.bytes(hash) {
                Some(bytes) => Side::Bytes { bytes, from_release: false },
                None => Side::Unkept("the content of that moment was not kept"),
            },
            (FileKind::File, None) => Side::Unkept("the content of that moment was not kept"),
            (FileKind::Directory, _) => Side::Unlike("a folder"),
            (FileKind::Link, _) => Side::Unlike("a link"),
            (FileKind::Special, _) => Side::Unlike("neither file, folder nor link"),
        }
    }
}

/// What was compared, if the recorded evidence says the same; else the evidence, which has no places.
fn proved(shown: Difference, diff: &FileDiff) -> Difference {
    if let Difference::Lines { lines, added, removed, .. } = &shown {
        let of = |kind| {
            let lines = lines.iter().filter(move |line| line.kind == kind);
            let mut texts: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
            texts.sort_unstable();
            texts
        };
        let sorted = |lines: &[String]| {
            let mut lines = lines.to_vec();
            lines.sort_unstable();
            lines
        };
        if of(LineKind::Added) == sorted(&diff.added)
            && of(LineKind::Removed) == sorted(&diff.removed)
        {
            let (lines, added, removed) = (lines.clone(), *added, *removed);
            return Difference::Lines { lines, added, removed, from_release: false };
        }
    }
    from_record(diff)
}

fn from_record(diff: &FileDiff) -> Difference {
    if diff.binary {
        return Difference::NotShown("not text".to_owned());
    }
    let line = |kind| move |text: &String| DiffLine { kind, text: text.clone() };
    let removed = diff.removed.iter().map(line(LineKind::Removed));
    let lines = removed.chain(diff.added.iter().map(line(LineKind::Added))).collect();
    Difference::Lines {
        lines,
        added: diff.added.len(),
        removed: diff.removed.len(),
        from_release: false,
    }
}

fn compare_sides(was: Side, is: Side) -> Difference {
    let not_shown = |why: &str| Difference::NotShown(why.to_owned());
    let (before, from_release) = match was {
        Side::Absent => (Vec::new(), false),
        Side::Bytes { bytes, from_release } => (bytes, from_release),
        Side::Unlike(what) => return not_shown(what),
        Side::Unkept(why) => return not_shown(why),
    };
    let after = match is {
        Side::Absent => Vec::new(),
        Side::Bytes { bytes, .. } => bytes,
        Side::Unlike(what) => return not_shown(what),
        Side::Unkept(why) => return not_shown(why),
    };
    if before == after {
        return not_shown("the same content");
    }
    if before.len().max(after.len()) > BYTES_MAX {
        return not_shown("too big to compare here");
    }
    let is_text = |bytes: &[u8]| !bytes.contains(&0);
    let (Ok(before), Ok(after)) = (std::str::from_utf8(&before), std::str::from_utf8(&after))
    else {
        return not_shown("not text");
    };
    if !is_text(before.as_bytes()) || !is_text(after.as_bytes()) {
        return not_shown("not text");
    }
    if before.lines().count() + after.lines().count() > LINES_MAX {
        return not_shown("too many lines to compare here");
    }
    unified(before, after, from_release)
}

fn unified(before: &str, after: &str, from_release: bool) -> Difference {
    let diff = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        lines.push(DiffLine { kind: LineKind::Place, text: hunk.header().to_string() });
        for change in hunk.iter_changes() {
            let kind = match change.tag() {
                ChangeTag::Equal => LineKind::Kept,
                ChangeTag::Insert => LineKind::Added,
                ChangeTag::Delete => LineKind::Removed,
            };
            added += usize::from(kind == LineKind::Added);
            removed += usize::from(kind == LineKind::Removed);
            let text = change.value().strip_suffix('\n').unwrap_or(change.value());
            lines.push(DiffLine { kind, text: text.to_owned() });
        }
    }
    Difference::Lines { lines, added, removed, from_release }
}

/// Every path that differs from the base at the end, git's own aside, and how many more there are.
pub(super) fn at_the_end(
    sources: &StorySources<'_>,
    states: &States<'_>,
) -> (Vec<FileStory>, usize) {
    let Some(seal) = sources.seal else { return (Vec::new(), 0) };
    let first_kinds = first_kinds(sources);
    let recorded = states.captured.keys().next_back().and_then(|at| states.recorded_after(*at));
    let paths: Vec<(&String, &ManifestEntry)> = seal
        .manifest
        .entries
        .iter()
        .filter(|(path, entry)| !is_inside_git(path) && entry.kind != FileKind::Directory)
        .collect();
    let more = paths.len().saturating_sub(FILES_MAX);
    let files = paths.into_iter().take(FILES_MAX).map(|(path, entry)| {
        let first = first_kinds.get(path).copied();
        let is_new = first == Some(ChangeKind::Created);
        let what = match (entry.kind, is_new) {
            (FileKind::Gone, _) => ChangeKind::Deleted,
            (_, true) => ChangeKind::Created,
            _ => first.unwrap_or(ChangeKind::Modified),
        };
        let kept: Option<&Hash> = entry.hash.as_ref().filter(|_| !seal.unkept.contains_key(path));
        FileStory {
            what: words::change(what).to_owned(),
            path: path.clone(),
            size: entry.size,
            place: kept.and_then(|hash| sources.payloads.place(hash)),
            unkept: seal.unkept.get(path).cloned(),
            difference: states.compare(path, None, &seal.manifest, is_new, recorded),
        }
    });
    (files.collect(), more)
}

/// How each path changed first: what was created then was not in the base.
fn first_kinds(sources: &StorySources<'_>) -> BTreeMap<String, ChangeKind> {
    let mut kinds = BTreeMap::new();
    for entry in sources.entries {
        if matches!(entry.event, Event::Decided(_, Command::VerifyCompletion)) {
            break;
        }
        let Event::Observed(Observation::Cut { channel: Channel::Manifest, blob, .. }) =
            &entry.event
        else {
            continue;
        };
        for change in sources.payloads.changes(blob).unwrap_or_default() {
            kinds.entry(change.path).or_insert(change.kind);
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &[u8]) -> Side {
        Side::Bytes { bytes: text.to_vec(), from_release: false }
    }

    #[test]
    fn two_sides_are_compared_or_it_is_said_why_not() {
        let check = |was: Side, is: Side, expect: &str| {
            let shown = match compare_sides(was, is) {
                Difference::NotShown(why) => why,
                Difference::Lines { lines, added, removed, .. } => {
                    let lines: Vec<String> = lines
                        .iter()
                        .map(|line| {
                            let mark = match line.kind {
                                LineKind::Place => "",
                                LineKind::Kept => " ",
                                LineKind::Added => "+",
                                LineKind::Removed => "-",
                            };
                            format!("{mark}{}", line.text)
                        })
                        .collect();
                    format!("+{added} -{removed}: {}", lines.join("|"))
                }
            };
            assert_eq!(shown, expect);
        };
        check(bytes(b"a\nb\n"), bytes(b"a\nc\n"), "+1 -1: @@ -1,2 +1,2 @@| a|-b|+c");
        check(Side::Absent, bytes(b"new"), "+1 -0: @@ -0,0 +1 @@|+new");
        check(bytes(b"old\n"), Side::Absent, "+0 -1: @@ -1 +0,0 @@|-old");
        check(bytes(b"same"), bytes(b"same"), "the same content");
        check(bytes(b"a\0"), bytes(b"b"), "not text");
        check(bytes(b"\xff\xfe"), bytes(b"b"), "not text");
        check(bytes(&vec![b'a'; BYTES_MAX + 1]), bytes(b"b"), "too big to compare here");
        check(bytes(&b"a\n".repeat(LINES_MAX)), bytes(b"b"), "too many lines to compare here");
        check(Side::Unkept("gone"), bytes(b"b"), "gone");
        check(bytes(b"b"), Side::Unlike("a folder"), "a folder");
    }
}
