//! A virtual file tree: [`Tree`] by absolute path, and its manifest against a base.

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    evidence::{FileKind, Manifest, ManifestEntry},
    ids::Hash,
};
use engine::ports::sandbox::{FileEntry, FileNode};

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) node: FileNode,
    pub(super) mode: u32,
    pub(super) ctime_ms: i64,
}

/// Files, directories and links by absolute path; every parent of an entry is a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<String, Node>);

impl Tree {
    /// Places one entry, with the parents that are missing; [`FileNode::Absent`] removes.
    pub(super) fn place(&mut self, path: &str, node: FileNode, mode: u32, now_ms: i64) {
        let path = normal(path);
        if path == "/" {
            return;
        }
        if node == FileNode::Absent {
            return self.remove(&path);
        }
        let parents = path.match_indices('/').skip(1).map(|(at, _)| path[..at].to_owned());
        for parent in parents.collect::<Vec<_>>() {
            let is_directory =
                self.0.get(&parent).is_some_and(|found| found.node == FileNode::Directory);
            if !is_directory {
                let node = FileNode::Directory;
                self.0.insert(parent, Node { node, mode: 0o755, ctime_ms: now_ms });
            }
        }
        let keeps_children = node == FileNode::Directory;
        if !keeps_children {
            self.remove(&path);
        }
        self.0.insert(path, Node { node, mode, ctime_ms: now_ms });
    }

    /// Removes a path and everything below it.
    pub(super) fn remove(&mut self, path: &str) {
        let path = normal(path);
        let below = format!("{path}/");
        self.0.retain(|found, _| *found != path && !found.starts_with(&below));
    }

    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        self.0.get(&normal(path))
    }

    /// A regular file's bytes.
    pub(super) fn file(&self, path: &str) -> Option<&[u8]> {
        match &self.get(path)?.node {
            FileNode::File(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// What a sandbox answers for a path: the entry itself for what is no directory, else all below it.
    pub(super) fn read(&self, path: &str) -> Option<Vec<FileEntry>> {
        let path = normal(path);
        let entry = |path: String, node: &Node| FileEntry {
            path,
            node: node.node.clone(),
            mode: node.mode,
        };
        match self.0.get(&path) {
            Some(node) if node.node != FileNode::Directory => {
                Some(vec![entry(String::new(), node)])
            }
            None if path != "/" => None,
            _ => {
                let below = format!("{}/", path.trim_end_matches('/'));
                let found = self.0.iter().filter_map(|(found, node)| {
                    let rest = found.strip_prefix(&below)?;
                    Some(entry(rest.to_owned(), node))
                });
                Some(found.collect())
            }
        }
    }

    /// Every path that differs from the base.
    pub(super) fn manifest(&self, base: &Tree) -> Manifest {
        let mut manifest = Manifest::default();
        let paths: BTreeSet<&String> = self.0.keys().chain(base.0.keys()).collect();
        for path in paths {
            let (now, before) = (self.0.get(path), base.0.get(path));
            let entry = match (now, before) {
                (Some(now), Some(old)) if now.node == old.node && now.mode == old.mode => continue,
                (Some(now), _) => entry_of(now),
                (None, _) => ManifestEntry {
                    kind: FileKind::Gone,
                    mode: 0,
                    size: 0,
                    ctime_ms: 0,
                    hash: None,
                    link_target: None,
                },
            };
            manifest.entries.insert(path.clone(), entry);
        }
        manifest
    }

    /// This tree's state at and below some paths laid over a base.
    pub(super) fn laid_over(&self, base: &Tree, paths: &[String]) -> Tree {
        let paths: Vec<String> = paths.iter().map(|path| normal(path)).collect();
        let is_taken = |path: &String| {
            paths.iter().any(|taken| {
                taken == "/" || path == taken || path.starts_with(&format!("{taken}/"))
            })
        };
        let mut laid = base.clone();
        laid.0.retain(|path, _| !is_taken(path));
        for (path, node) in self.0.iter().filter(|(path, _)| is_taken(path)) {
            laid.place(path, node.node.clone(), node.mode, node.ctime_ms);
        }
        laid
    }
}

fn entry_of(node: &Node) -> ManifestEntry {
    let (kind, size, hash, link_target) = match &node.node {
        FileNode::File(bytes) => {
            let hash = Hash::new(blake3::hash(bytes).to_hex().as_str());
            (FileKind::File, bytes.len() as u64, Some(hash), None)
        }
        FileNode::Directory => (FileKind::Directory, 0, None, None),
        FileNode::Link(target) => (FileKind::Link, 0, None, Some(target.clone())),
        FileNode::Absent => (FileKind::Gone, 0, None, None),
    };
    ManifestEntry { kind, mode: node.mode, size, ctime_ms: node.ctime_ms, hash, link_target }
}

/// An absolute path without empty, `.` and `..` segments.
pub(super) fn normal(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}
