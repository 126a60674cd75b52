//! The manifest of a container (E1): what the engine says has changed, looked at beside the pristine base
//! ([`Base::manifest`]).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
};

use bollard::models::ChangeType;
use domain::evidence::{FileKind, Manifest, ManifestEntry};
use engine::ports::sandbox::SandboxFault;

use super::{
    container::Container,
    images::Root,
    link::{Link, Looked},
};

/// A base with a container of its own in which nothing ever runs, to be read.
pub(super) struct Base {
    pub(super) root: Root,
    pub(super) reader: Container,
    /// What the image says of the programs that a pair needs.
    pub(super) versions: BTreeMap<String, String>,
    /// What the reader was asked before.
    known: Mutex<HashMap<String, Option<Looked>>>,
}

/// What a look at a container found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) manifest: Manifest,
    /// Bytes of the files that differ.
    pub(super) bytes: u64,
}

impl Base {
    /// A base that is read through this container.
    pub(super) fn new(root: Root, reader: Container, versions: BTreeMap<String, String>) -> Self {
        Self { root, reader, versions, known: Mutex::default() }
    }

    /// Every path of a still container that differs from the base.
    pub(super) async fn manifest(&self, container: &Container) -> Result<Found, SandboxFault> {
        let mut present = BTreeSet::new();
        let mut gone = BTreeSet::new();
        for change in container.changes().await? {
            match change.kind {
                ChangeType::_2 => gone.insert(change.path),
                ChangeType::_0 | ChangeType::_1 => present.insert(change.path),
            };
        }
        let mut found = Found::default();
        // Podman counts a path as gone that was made anew.
        present.extend(gone.iter().cloned());
        let mut anew = Vec::new();
        let present: Vec<String> = present.into_iter().collect();
        let now = container.link.look(&present).await?;
        let before = self.look(&present).await?;
        let mut changed_ms = BTreeMap::new();
        let mut buried = Vec::new();
        for ((path, now), before) in present.into_iter().zip(now).zip(before) {
            // What the engine counts as changed may be as it was; what is gone since is told with the rest.
            match now {
                Some(now) => {
                    changed_ms.insert(path.clone(), now.ctime_ms);
                    if gone.remove(&path) && now.kind == FileKind::Directory {
                        anew.push(path.clone());
                    }
                    let was_directory =
                        before.as_ref().is_some_and(|before| before.kind == FileKind::Directory);
                    if was_directory && now.kind != FileKind::Directory {
                        buried.push(path.clone());
                    }
                    found.add(path, now, before.as_ref());
                }
                None if before.is_some() => drop(gone.insert(path)),
                None => {}
            }
        }
        for path in buried {
            gone.extend(self.reader.link.walk(&path).await?.into_iter().map(|(path, _)| path));
        }
        for path in anew {
            let below = self.reader.link.walk(&path).await?.into_iter().map(|(path, _)| path);
            let below: Vec<String> = below.collect();
            let now = container.link.look(&below).await?;
            gone.extend(
                below.into_iter().zip(now).filter(|(_, now)| now.is_none()).map(|(p, _)| p),
            );
        }
        for volume in &self.root.volumes {
            self.compare_volume(volume, &container.link, &mut found, &mut gone).await?;
        }
        let mut absent = BTreeMap::new();
        for path in gone {
            let below = self.reader.link.walk(&path).await?;
            let at_ms = changed_above(&changed_ms, &path);
            absent.extend(below.into_iter().map(|(path, _)| (path, at_ms)));
            absent.insert(path, at_ms);
        }
        for (path, at_ms) in absent {
            found.manifest.entries.entry(path).or_insert_with(|| gone_entry(at_ms));
        }
        Ok(found)
    }

    async fn compare_volume(
        &self,
        volume: &str,
        link: &Link,
        found: &mut Found,
        gone: &mut BTreeSet<String>,
    ) -> Result<(), SandboxFault> {
        let now: BTreeMap<String, Looked> = link.walk(volume).await?.into_iter().collect();
        let before: BTreeMap<String, Looked> =
            self.reader.link.walk(volume).await?.into_iter().collect();
        gone.extend(before.keys().filter(|path| !now.contains_key(*path)).cloned());
        for (path, looked) in now {
            let before = before.get(&path);
            found.add(path, looked, before);
        }
        Ok(())
    }

    /// What stands at paths of the base.
    async fn look(&self, paths: &[String]) -> Result<Vec<Option<Looked>>, SandboxFault> {
        let unknown: Vec<String> = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            paths.iter().filter(|path| !known.contains_key(*path)).cloned().collect()
        };
        let looked = self.reader.link.look(&unknown).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(unknown.into_iter().zip(looked));
        Ok(paths.iter().map(|path| known.get(path).cloned().flatten()).collect())
    }
}

impl Found {
    fn add(&mut self, path: String, now: Looked, before: Option<&Looked>) {
        let is_same = before.is_some_and(|before| {
            before.kind == now.kind
                && before.mode == now.mode
                && before.hash == now.hash
                && before.link_target == now.link_target
        });
        if is_same {
            return;
        }
        self.bytes += now.size;
        let entry = ManifestEntry {
            kind: now.kind,
            mode: now.mode,
            size: now.size,
            ctime_ms: now.ctime_ms,
            hash: now.hash,
            link_target: now.link_target,
        };
        self.manifest.entries.insert(path, entry);
    }
}

/// When the nearest directory above a path changed last: nothing in it went later.
fn changed_above(changed_ms: &BTreeMap<String, i64>, path: &str) -> i64 {
    let mut above = path;
    while let Some((parent, _)) = above.rsplit_once('/') {
        above = parent;
        let found = changed_ms.get(if parent.is_empty() { "/" } else { parent });
        if let Some(at_ms) = found {
            return *at_ms;
        }
    }
    0
}

fn gone_entry(ctime_ms: i64) -> ManifestEntry {
    let kind = FileKind::Gone;
    ManifestEntry { kind, mode: 0, size: 0, ctime_ms, hash: None, link_target: None }
}
