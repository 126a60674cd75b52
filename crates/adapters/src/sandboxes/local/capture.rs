//! The manifest of a sandbox (E1): [`Recorder`] compares the layers that it wrote with the base, from outside, and
//! hashes only what changed since it looked last.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
};

use domain::{
    evidence::{FileKind, Manifest, ManifestEntry},
    ids::Hash,
};

use super::layers::{DirView, Node, is_directory};
use crate::sandboxes::supervision::{
    directory::{Directory, Stat},
    names::text_of,
};

/// One overlay to look at.
pub(super) struct Looked {
    /// Where it is mounted.
    pub target: String,
    /// The layers above the base.
    pub written: DirView,
    /// The base.
    pub base: DirView,
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub manifest: Manifest,
    /// Bytes that the written layers take on disk.
    pub disk_bytes: u64,
}

/// Looks at a sandbox's layers again and again.
#[derive(Debug)]
pub(super) struct Recorder {
    origin_ns: i64,
    known: HashMap<String, Known>,
}

/// What an earlier look found at a path, valid while the node is the same.
#[derive(Clone, Debug)]
struct Known {
    identity: Identity,
    /// None if it is as the base has it.
    entry: Option<ManifestEntry>,
    /// Paths of the base that the node hides.
    gone: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: i64,
    changed_ns: i64,
}

impl Recorder {
    /// A recorder whose times count from the origin.
    pub(super) fn new(origin_ns: i64) -> Self {
        Self { origin_ns, known: HashMap::new() }
    }

    /// Takes the manifest of all overlays.
    pub(super) fn look(&mut self, overlays: &[Looked]) -> io::Result<Found> {
        let mut look = Look {
            origin_ns: self.origin_ns,
            before: std::mem::take(&mut self.known),
            known: HashMap::new(),
            found: Found::default(),
        };
        for overlay in overlays {
            let prefix = overlay.target.trim_end_matches('/');
            look.directory(prefix, &overlay.written, &overlay.base, false, None)?;
        }
        self.known = look.known;
        Ok(look.found)
    }
}

struct Look {
    origin_ns: i64,
    before: HashMap<String, Known>,
    known: HashMap<String, Known>,
    found: Found,
}

impl Look {
    /// Everything below a directory that was written; `is_hiding` if the base does not shine through.
    fn directory(
        &mut self,
        path: &str,
        written: &DirView,
        base: &DirView,
        is_hiding: bool,
        changed_ms: Option<i64>,
    ) -> io::Result<()> {
        let names = written.all_names()?;
        for name in &names {
            self.node(path, name, written, base, changed_ms)?;
        }
        if is_hiding {
            self.hidden(path, base, &names, changed_ms.unwrap_or(0))?;
        }
        Ok(())
    }

    /// Base paths that a hiding directory does not have any more.
    fn hidden(
        &mut self,
        path: &str,
        base: &DirView,
        written: &BTreeSet<OsString>,
        changed_ms: i64,
    ) -> io::Result<()> {
        for name in base.all_names()?.difference(written) {
            let mut gone = Vec::new();
            list(&join(path, name), &base.child(name)?, &mut gone)?;
            self.add_gone(&gone, changed_ms);
        }
        Ok(())
    }

    fn add_gone(&mut self, paths: &[String], changed_ms: i64) {
        for path in paths {
            self.found.manifest.entries.insert(path.clone(), gone_entry(changed_ms));
        }
    }

    fn node(
        &mut self,
        parent: &str,
        name: &OsStr,
        written: &DirView,
        base: &DirView,
        parent_changed_ms: Option<i64>,
    ) -> io::Result<()> {
        let path = join(parent, name);
        match written.child(name)? {
            Node::Directory { view, stat } => {
                self.found.disk_bytes += stat.st_blocks as u64 * 512;
                let below = base.child(name)?;
                let changed_ms = self.ms(changed_ns(&stat));
                let (base_view, same) = match below {
                    Node::Directory { view, stat: of_base } => {
                        (view, mode(&of_base) == mode(&stat))
                    }
                    Node::Leaf { .. } | Node::Absent => (DirView::default(), false),
                };
                if !same {
                    let entry = directory_entry(&stat, changed_ms);
                    self.found.manifest.entries.insert(path.clone(), entry);
                }
                let is_hiding = view.hides_below() && !base_view.is_empty();
                self.directory(&path, &view, &base_view, is_hiding, Some(changed_ms))
            }
            Node::Leaf { layer, stat } => {
                self.found.disk_bytes += stat.st_blocks as u64 * 512;
                self.leaf(path, name, written.layer(layer), &stat, base)
            }
            Node::Absent => {
                let mut gone = Vec::new();
                list(&path, &base.child(name)?, &mut gone)?;
                self.add_gone(&gone, parent_changed_ms.unwrap_or(0));
                Ok(())
            }
        }
    }

    fn leaf(
        &mut self,
        path: String,
        name: &OsStr,
        layer: &Directory,
        stat: &Stat,
        base: &DirView,
    ) -> io::Result<()> {
        let identity = Identity {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            changed_ns: changed_ns(stat),
        };
        let changed_ms = self.ms(identity.changed_ns);
        let known = match self.before.remove(&path) {
            Some(known) if known.identity == identity => known,
            _ => self.look_closely(&path, name, layer, stat, base)?,
        };
        if let Some(entry) = &known.entry {
            self.found.manifest.entries.insert(path.clone(), entry.clone());
        }
        self.add_gone(&known.gone, changed_ms);
        self.known.insert(path, known);
        Ok(())
    }

    fn look_closely(
        &mut self,
        path: &str,
        name: &OsStr,
        layer: &Directory,
        stat: &Stat,
        base: &DirView,
    ) -> io::Result<Known> {
        let entry = leaf_entry(name, layer, stat, self.ms(changed_ns(stat)))?;
        let mut gone = Vec::new();
        let is_as_base = match base.child(name)? {
            Node::Leaf { layer, stat: of_base } => {
                let may_be_same = of_base.st_size == stat.st_size && mode(&of_base) == mode(stat);
                may_be_same
                    && leaf_entry(name, base.layer(layer), &of_base, 0)?.same_content(&entry)
            }
            Node::Directory { view, .. } => {
                list_below(path, &view, &mut gone)?;
                false
            }
            Node::Absent => false,
        };
        // The opening of an unreadable file may have moved its change time; the next look compares with that.
        let now = layer.stat(name)?.unwrap_or(*stat);
        let identity = Identity {
            device: now.st_dev,
            inode: now.st_ino,
            size: stat.st_size,
            changed_ns: changed_ns(&now),
        };
        Ok(Known { identity, entry: (!is_as_base).then_some(entry), gone })
    }

    /// Times of files are those of the kernel's last tick, which may lie before the sandbox stood.
    fn ms(&self, ns: i64) -> i64 {
        (ns - self.origin_ns).div_euclid(1_000_000).max(0)
    }
}

fn join(parent: &str, name: &OsStr) -> String {
    format!("{parent}/{}", text_of(name.as_bytes()))
}

fn mode(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

fn changed_ns(stat: &Stat) -> i64 {
    stat.st_ctime * 1_000_000_000 + stat.st_ctime_nsec
}

fn gone_entry(ctime_ms: i64) -> ManifestEntry {
    ManifestEntry {
        kind: FileKind::Gone,
        mode: 0,
        size: 0,
        ctime_ms,
        hash: None,
        link_target: None,
    }
}

fn directory_entry(stat: &Stat, ctime_ms: i64) -> ManifestEntry {
    let kind = FileKind::Directory;
    ManifestEntry { kind, mode: mode(stat), size: 0, ctime_ms, hash: None, link_target: None }
}

fn leaf_entry(
    name: &OsStr,
    layer: &Directory,
    stat: &Stat,
    ctime_ms: i64,
) -> io::Result<ManifestEntry> {
    let mut entry = ManifestEntry {
        kind: FileKind::Special,
        mode: mode(stat),
        size: 0,
        ctime_ms,
        hash: None,
        link_target: None,
    };
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => {
            entry.kind = FileKind::File;
            entry.size = stat.st_size as u64;
            entry.hash = Some(hash(layer.file(name)?)?);
        }
        libc::S_IFLNK => {
            entry.kind = FileKind::Link;
            entry.link_target = Some(text_of(layer.link(name)?.as_bytes()));
        }
        _ => {}
    }
    Ok(entry)
}

fn hash(mut file: impl Read) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => hasher.update(&buffer[..length]),
        };
    }
    Ok(Hash::new(hasher.finalize().to_hex().as_str()))
}

/// A node of the base and everything below it.
fn list(path: &str, node: &Node, into: &mut Vec<String>) -> io::Result<()> {
    match node {
        Node::Absent => Ok(()),
        Node::Leaf { .. } => {
            into.push(path.to_owned());
            Ok(())
        }
        Node::Directory { view, .. } => {
            into.push(path.to_owned());
            list_below(path, view, into)
        }
    }
}

fn list_below(path: &str, view: &DirView, into: &mut Vec<String>) -> io::Result<()> {
    for name in view.all_names()? {
        list(&join(path, &name), &view.child(&name)?, into)?;
    }
    Ok(())
}

/// Bytes that a layer takes on disk, without reading any content.
pub(super) fn disk_bytes(layer: &Directory) -> io::Result<u64> {
    let mut total = 0;
    for name in layer.names()? {
        // What vanishes while we look takes nothing.
        let Some(stat) = layer.stat(&name)? else { continue };
        total += stat.st_blocks as u64 * 512;
        if is_directory(&stat) {
            match layer.child(&name) {
                Ok(Some(below)) => total += disk_bytes(&below)?,
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(total)
}
