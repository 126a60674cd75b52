//! The difference of two file states of one session ([`changed_files`]): lines, kinds and renames (E2).

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    evidence::{ChangeKind, FileDiff, FileKind, Manifest},
    ids::Hash,
};

use super::{base::BaseFiles, line_diff::lines};

/// One path in one state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    kind: Option<FileKind>,
    mode: u32,
    hash: Option<Hash>,
    link_target: Option<String>,
}

/// Line differences of every file that differs between two manifests over one base, in order of paths.
///
/// `base` must have learnt every path of both; `contents` holds what regular files of the two contain; a
/// content that is not there counts as not text.
pub(super) fn changed_files(
    before: &Manifest,
    after: &Manifest,
    base: &BaseFiles,
    contents: &BTreeMap<Hash, Arc<[u8]>>,
) -> Vec<FileDiff> {
    let mut found = Vec::new();
    let mut gone: BTreeMap<Hash, Vec<usize>> = BTreeMap::new();
    let mut paths: Vec<&String> = before.entries.keys().chain(after.entries.keys()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let (old, new) = (state(before, base, path), state(after, base, path));
        let Some(kind) = change_kind(&old, &new) else { continue };
        if kind == ChangeKind::Deleted
            && let Some(hash) = &old.hash
        {
            gone.entry(hash.clone()).or_default().push(found.len());
        }
        let texts = text(&old, contents).zip(text(&new, contents));
        let difference = texts.and_then(|(old, new)| lines(&old, &new));
        let binary = difference.is_none();
        let difference = difference.unwrap_or_default();
        found.push((
            new.hash.clone(),
            FileDiff {
                path: path.clone(),
                renamed_from: None,
                kind,
                binary,
                added: difference.added,
                removed: difference.removed,
            },
        ));
    }
    join_renames(found, gone)
}

/// A file that is gone and one that came with the same content are one rename.
fn join_renames(
    mut found: Vec<(Option<Hash>, FileDiff)>,
    mut gone: BTreeMap<Hash, Vec<usize>>,
) -> Vec<FileDiff> {
    let mut absorbed = Vec::new();
    for at in 0..found.len() {
        let (Some(hash), ChangeKind::Created) = (&found[at].0, found[at].1.kind) else { continue };
        if *hash == super::base::content_hash(b"") {
            continue;
        }
        let Some(from) = gone.get_mut(hash).filter(|list| !list.is_empty()) else { continue };
        let source = from.remove(0);
        let old_path = found[source].1.path.clone();
        absorbed.push(source);
        let diff = &mut found[at].1;
        diff.renamed_from = Some(old_path);
        diff.kind = ChangeKind::Modified;
        diff.added.clear();
        diff.removed.clear();
    }
    found
        .into_iter()
        .enumerate()
        .filter(|(at, _)| !absorbed.contains(at))
        .map(|(_, (_, diff))| diff)
        .collect()
}

fn state(manifest: &Manifest, base: &BaseFiles, path: &str) -> State {
    if let Some(entry) = manifest.entries.get(path) {
        return State {
            kind: (entry.kind != FileKind::Gone).then_some(entry.kind),
            mode: entry.mode,
            hash: entry.hash.clone(),
            link_target: entry.link_target.clone(),
        };
    }
    base.get(path).map_or_else(State::default, |file| State {
        kind: Some(file.kind),
        mode: file.mode,
        hash: file.hash.clone(),
        link_target: file.link_target.clone(),
    })
}

fn change_kind(old: &State, new: &State) -> Option<ChangeKind> {
    let is_file = |state: &State| !matches!(state.kind, None | Some(FileKind::Directory));
    if !is_file(old) && !is_file(new) {
        return None;
    }
    match (old.kind, new.kind) {
        (None, _) => Some(ChangeKind::Created),
        (_, None) => Some(ChangeKind::Deleted),
        (before, after) if before != after => Some(ChangeKind::KindChanged),
        _ if old.hash != new.hash || old.link_target != new.link_target => {
            Some(ChangeKind::Modified)
        }
        _ if old.mode & 0o7777 != new.mode & 0o7777 => Some(ChangeKind::ModeChanged),
        _ => None,
    }
}

/// What counts as the text of a state: nothing for what is no file, the target of a link.
fn text(state: &State, contents: &BTreeMap<Hash, Arc<[u8]>>) -> Option<Arc<[u8]>> {
    match (state.kind, &state.hash, &state.link_target) {
        (Some(FileKind::File), Some(hash), _) => contents.get(hash).cloned(),
        (Some(FileKind::File | FileKind::Special), None, _) => None,
        (Some(FileKind::Link), _, Some(target)) => Some(target.as_bytes().into()),
        _ => Some(Arc::from([])),
    }
}
