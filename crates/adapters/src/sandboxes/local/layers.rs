//! Overlay layers read from outside: [`DirView`] merges directories of several layers the way the kernel does, and
//! [`Tree`] joins the overlays of a root view.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    io,
    os::fd::{AsFd, AsRawFd},
    path::PathBuf,
};

use crate::sandboxes::supervision::directory::{Directory, Stat};

/// The attribute by which overlay marks a directory that hides the layers below.
pub(super) const OPAQUE: &std::ffi::CStr = c"user.overlay.opaque";

/// Whether a node says that the layers below have nothing there.
pub(super) fn is_whiteout(stat: &Stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == 0
}

/// Whether a node is a directory.
pub(super) fn is_directory(stat: &Stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
}

/// Whether a directory of a layer hides the layers below.
pub(super) fn is_opaque(directory: &Directory) -> bool {
    let mut value = [0_u8; 4];
    // SAFETY: pointers are to live values and the length is the buffer's.
    let length = unsafe {
        let buffer = value.as_mut_ptr().cast();
        let fd = directory.as_fd().as_raw_fd();
        libc::fgetxattr(fd, OPAQUE.as_ptr(), buffer, value.len())
    };
    length == 1 && value[0] == b'y'
}

/// The directories that several layers have at one path, topmost first.
#[derive(Debug, Default)]
pub(super) struct DirView {
    layers: Vec<Directory>,
}

/// What a view shows at a name.
#[derive(Debug)]
pub(super) enum Node {
    /// Nothing, or a whiteout.
    Absent,
    /// Anything but a directory, in this layer.
    Leaf { layer: usize, stat: Stat },
    /// A directory, merged.
    Directory { view: DirView, stat: Stat },
}

impl DirView {
    /// Opens the roots of layers, topmost first; layers without the directory are passed over.
    pub(super) fn open(roots: impl IntoIterator<Item = PathBuf>) -> io::Result<Self> {
        let mut layers = Vec::new();
        for root in roots {
            layers.extend(Directory::open(&root)?);
        }
        Ok(Self { layers })
    }

    /// The layer that holds a leaf.
    pub(super) fn layer(&self, index: usize) -> &Directory {
        &self.layers[index]
    }

    /// What the view shows at a name.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Node> {
        let mut merged: Option<(Vec<Directory>, Stat)> = None;
        for (index, layer) in self.layers.iter().enumerate() {
            let Some(stat) = layer.stat(name)? else { continue };
            if !is_directory(&stat) {
                if merged.is_none() && !is_whiteout(&stat) {
                    return Ok(Node::Leaf { layer: index, stat });
                }
                break;
            }
            let directory = layer.child(name)?;
            let hides = directory.as_ref().is_some_and(is_opaque);
            merged.get_or_insert_with(|| (Vec::new(), stat)).0.extend(directory);
            if hides {
                break;
            }
        }
        Ok(match merged {
            Some((layers, stat)) => Node::Directory { view: DirView { layers }, stat },
            None => Node::Absent,
        })
    }

    /// Every name that any layer has, whiteouts included.
    pub(super) fn all_names(&self) -> io::Result<BTreeSet<OsString>> {
        let mut names = BTreeSet::new();
        for layer in &self.layers {
            names.extend(layer.names()?);
        }
        Ok(names)
    }

    /// Whether any of the layers hides what is below all of them.
    pub(super) fn hides_below(&self) -> bool {
        self.layers.last().is_some_and(is_opaque)
    }

    /// Whether no layer has the directory.
    pub(super) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

/// A whole root view: the overlays by their targets.
#[derive(Debug)]
pub(super) struct Tree {
    roots: BTreeMap<String, DirView>,
}

impl Tree {
    /// Joins views by their absolute targets; `/` must be one of them.
    pub(super) fn new(roots: BTreeMap<String, DirView>) -> Self {
        Self { roots }
    }

    /// A view that is mounted exactly here.
    pub(super) fn mounted(&self, path: &str) -> Option<&DirView> {
        self.roots.get(path)
    }

    /// Calls `found` with the parent's view and the name of an absolute path, links not followed.
    ///
    /// `None` if a component is missing or no directory; the root of a mount is given with an empty name.
    pub(super) fn visit<T>(
        &self,
        path: &str,
        found: impl FnOnce(&DirView, &OsStr) -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let path = normal(path);
        let Some((target, root)) = self
            .roots
            .iter()
            .filter(|(target, _)| is_below(&path, target))
            .max_by_key(|(target, _)| target.len())
        else {
            return Ok(None);
        };
        let rest = path[target.trim_end_matches('/').len()..].trim_start_matches('/');
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        let Some((last, parents)) = parts.split_last() else {
            return found(root, OsStr::new("")).map(Some);
        };
        let mut below: Option<DirView> = None;
        for part in parents {
            match below.as_ref().unwrap_or(root).child(OsStr::new(part))? {
                Node::Directory { view, .. } => below = Some(view),
                Node::Absent | Node::Leaf { .. } => return Ok(None),
            }
        }
        found(below.as_ref().unwrap_or(root), OsStr::new(last)).map(Some)
    }
}

/// An absolute path without repeated, trailing or single-dot parts.
pub(super) fn normal(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    format!("/{}", parts.join("/"))
}

/// Whether a normal path is `above` or stands below it.
pub(super) fn is_below(path: &str, above: &str) -> bool {
    above == "/"
        || path == above
        || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}
