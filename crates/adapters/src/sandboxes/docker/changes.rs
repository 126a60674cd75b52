//! The manifest of a container (E1): what differs in its layer, looked at beside the pristine base ([`Base::manifest`]).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use bollard::models::ChangeType;
use domain::evidence::{FileKind, Manifest, ManifestEntry};
use engine::ports::sandbox::SandboxFault;

use super::{
    container::Container,
    images::Root,
    link::{Link, Listed, Looked},
};

/// How it is found out which paths of a container may differ from its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// By comparing the trees from the root down, as far as directories differ.
    ///
    /// Of an overlay that is exact: what a container changes is copied into its own layer with every directory above
    /// it, and a copy has another change time than what it was copied of. Everything else is the very inode that the
    /// base shows.
    Comparing,
    /// By asking the engine, which knows of layers of every kind, and may go through the whole image for that.
    Asking,
}

/// Names in a directory of the base with what tells whether each of them is still the same.
type Listing = Arc<BTreeMap<String, Listed>>;

/// A base with a container of its own in which nothing ever runs, to be read.
pub(super) struct Base {
    pub(super) root: Root,
    pub(super) reader: Container,
    /// What the image says of the programs that a pair needs.
    pub(super) versions: BTreeMap<String, String>,
    /// What the reader was asked before.
    known: Mutex<HashMap<String, Option<Looked>>>,
    /// Directories of it that were listed before.
    listed: Mutex<HashMap<String, Option<Listing>>>,
    finding: Finding,
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
    pub(super) fn new(
        root: Root,
        reader: Container,
        versions: BTreeMap<String, String>,
        finding: Finding,
    ) -> Self {
        let (known, listed) = (Mutex::default(), Mutex::default());
        Self { root, reader, versions, known, listed, finding }
    }

    /// Every path of a still container that differs from the base.
    pub(super) async fn manifest(&self, container: &Container) -> Result<Found, SandboxFault> {
        let Candidates { present, mut gone } = match self.finding {
            Finding::Comparing => self.compare(&container.link).await?,
            Finding::Asking => asked(container).await?,
        };
        let mut found = Found::default();
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

    /// Goes down from the root through every directory that is another than the base's.
    async fn compare(&self, link: &Link) -> Result<Candidates, SandboxFault> {
        let mut found = Candidates::default();
        let mut old = vec!["/".to_owned()];
        let mut new: Vec<String> = Vec::new();
        while !old.is_empty() || !new.is_empty() {
            let before = self.list(&old).await?;
            let now = link.list(&old).await?;
            let mut below = Vec::new();
            for ((path, before), now) in old.iter().zip(before).zip(now) {
                let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
                let kept: BTreeSet<&str> = now.iter().map(|one| one.name.as_str()).collect();
                let gone = before.keys().filter(|name| !kept.contains(name.as_str()));
                found.gone.extend(gone.map(|name| join(path, name)));
                for one in &now {
                    let was = before.get(&one.name);
                    if was != Some(one) {
                        found.present.insert(join(path, &one.name));
                        let was_directory = was.is_some_and(|was| was.is_directory);
                        match one.is_directory {
                            true if was_directory => below.push(join(path, &one.name)),
                            true => new.push(join(path, &one.name)),
                            false => {}
                        }
                    }
                }
            }
            old = below;
            // Below what the base lacks everything is new.
            let mut below = Vec::new();
            for (path, now) in new.iter().zip(link.list(&new).await?) {
                for one in now.unwrap_or_default() {
                    let path = join(path, &one.name);
                    if one.is_directory {
                        below.push(path.clone());
                    }
                    found.present.insert(path);
                }
            }
            new = below;
        }
        Ok(found)
    }

    /// What directories of the base hold.
    async fn list(&self, paths: &[String]) -> Result<Vec<Option<Listing>>, SandboxFault> {
        let unknown: Vec<String> = {
            let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            paths.iter().filter(|path| !listed.contains_key(*path)).cloned().collect()
        };
        let found = match unknown.is_empty() {
            true => Vec::new(),
            false => self.reader.link.list(&unknown).await?,
        };
        let by_name = |listed: Vec<Listed>| {
            Arc::new(listed.into_iter().map(|one| (one.name.clone(), one)).collect())
        };
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.extend(unknown.into_iter().zip(found.into_iter().map(|one| one.map(by_name))));
        Ok(paths.iter().map(|path| listed.get(path).cloned().flatten()).collect())
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
        let looked = match unknown.is_empty() {
            true => Vec::new(),
            false => self.reader.link.look(&unknown).await?,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(unknown.into_iter().zip(looked));
        Ok(paths.iter().map(|path| known.get(path).cloned().flatten()).collect())
    }
}

/// Paths that may differ from the base.
#[derive(Clone, Debug, Default)]
struct Candidates {
    /// They are there, or may be.
    present: BTreeSet<String>,
    /// They are not there, though the base has them.
    gone: BTreeSet<String>,
}

/// What the engine counts as changed.
async fn asked(container: &Container) -> Result<Candidates, SandboxFault> {
    let mut found = Candidates::default();
    for change in container.changes().await? {
        match change.kind {
            ChangeType::_2 => found.gone.insert(change.path),
            ChangeType::_0 | ChangeType::_1 => found.present.insert(change.path),
        };
    }
    // Podman counts a path as gone that was made anew.
    found.present.extend(found.gone.iter().cloned());
    Ok(found)
}

fn join(parent: &str, name: &str) -> String {
    format!("{}/{name}", parent.trim_end_matches('/'))
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
            // Times of files are those of the kernel's last tick, which may lie before the sandbox stood.
            ctime_ms: now.ctime_ms.max(0),
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
