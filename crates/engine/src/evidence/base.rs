//! What the pristine base holds at single paths, looked up once each: [`BaseFiles`].

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use domain::{
    evidence::{FileKind, ManifestEntry},
    ids::Hash,
};

use crate::ports::sandbox::{FileEntry, FileNode, Sandbox, SandboxFault};

/// A path of the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BaseFile {
    pub(super) kind: FileKind,
    pub(super) mode: u32,
    pub(super) hash: Option<Hash>,
    pub(super) link_target: Option<String>,
    pub(super) content: Option<Arc<[u8]>>,
}

impl BaseFile {
    /// The path as a manifest would list it; its time lies before the session.
    pub(super) fn entry(&self) -> ManifestEntry {
        ManifestEntry {
            kind: self.kind,
            mode: self.mode,
            size: self.content.as_ref().map_or(0, |content| content.len() as u64),
            ctime_ms: i64::MIN,
            hash: self.hash.clone(),
            link_target: self.link_target.clone(),
        }
    }
}

/// Paths of the base that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct BaseFiles {
    found: BTreeMap<String, Option<BaseFile>>,
}

impl BaseFiles {
    /// Looks up what is not known yet.
    pub(super) async fn learn(
        &mut self,
        sandbox: &dyn Sandbox,
        paths: Vec<String>,
    ) -> Result<(), SandboxFault> {
        for path in paths {
            if let Entry::Vacant(place) = self.found.entry(path) {
                let found = sandbox.base(place.key()).await?;
                place.insert(found.map(base_file));
            }
        }
        Ok(())
    }

    /// A path that was learnt.
    pub(super) fn get(&self, path: &str) -> Option<&BaseFile> {
        self.found.get(path).and_then(Option::as_ref)
    }
}

fn base_file(entry: FileEntry) -> BaseFile {
    let (kind, hash, link_target, content) = match entry.node {
        FileNode::File(bytes) => {
            (FileKind::File, Some(content_hash(&bytes)), None, Some(Arc::from(bytes)))
        }
        FileNode::Link(target) => (FileKind::Link, None, Some(target), None),
        FileNode::Directory | FileNode::Absent => (FileKind::Directory, None, None, None),
    };
    BaseFile { kind, mode: entry.mode, hash, link_target, content }
}

/// The hash under which a content is known in manifests and blobs.
pub(super) fn content_hash(bytes: &[u8]) -> Hash {
    Hash::new(blake3::hash(bytes).to_hex().as_str())
}
