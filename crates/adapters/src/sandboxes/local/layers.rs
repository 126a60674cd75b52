//! Overlay layers read from outside: [`DirView`] merges directories of several layers the way the kernel does, and
//! [`Tree`] joins the overlays of a root view.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{CString, OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use nix::{dir::Dir, fcntl::OFlag, sys::stat::Mode};

/// The attribute by which overlay marks a directory that hides the layers below.
pub(super) const OPAQUE: &std::ffi::CStr = c"user.overlay.opaque";

/// What the kernel knows of a node.
pub(super) type Stat = libc::stat;

/// Whether a node says that the layers below have nothing there.
pub(super) fn is_whiteout(stat: &Stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == 0
}

/// Whether a node is a directory.
pub(super) fn is_directory(stat: &Stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
}

/// A directory of one layer.
#[derive(Debug)]
pub(super) struct LayerDir {
    fd: OwnedFd,
    /// The mode to put back, if a right was lent.
    lent_mode: Option<u32>,
}

impl Drop for LayerDir {
    fn drop(&mut self) {
        if let Some(mode) = self.lent_mode {
            // It fails only if the directory is gone.
            let _ = nix::sys::stat::fchmod(&self.fd, Mode::from_bits_truncate(mode));
        }
    }
}

impl LayerDir {
    /// Opens a directory by path; `None` if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        match nix::fcntl::open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, lent_mode: None })),
            Err(nix::errno::Errno::ENOENT | nix::errno::Errno::ENOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands at a name, links not followed.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let name = c_name(name)?;
        // SAFETY: an all-zero value is valid; pointers are to live values.
        let (result, stat) = unsafe {
            let mut stat: Stat = std::mem::zeroed();
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            (libc::fstatat(self.fd.as_raw_fd(), name.as_ptr(), &mut stat, flags), stat)
        };
        if result == 0 {
            return Ok(Some(stat));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => Ok(None),
            _ => Err(error),
        }
    }

    /// Opens a directory below; `None` if this user may not, so that nobody inside may either.
    ///
    /// An ordinary user may meet own directories without a right to look into them; it is lent as long as the
    /// directory is open.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Option<Self>> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let plain = self.open_plain(name, flags);
        // SAFETY: no pointer is passed.
        if unsafe { libc::geteuid() } == 0 {
            return plain.map(|fd| Some(Self { fd, lent_mode: None }));
        }
        let mode = self.stat(name)?.map_or(0, |stat| stat.st_mode & 0o7777);
        match plain {
            Ok(fd) if mode & 0o100 != 0 => Ok(Some(Self { fd, lent_mode: None })),
            Ok(fd) if self.set_mode(name, mode | 0o500).is_ok() => {
                Ok(Some(Self { fd, lent_mode: Some(mode) }))
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                if self.set_mode(name, mode | 0o500).is_err() {
                    return Ok(None);
                }
                let fd = self.open_plain(name, flags)?;
                Ok(Some(Self { fd, lent_mode: Some(mode) }))
            }
            Ok(fd) => Ok(Some(Self { fd, lent_mode: None })),
            Err(error) => Err(error),
        }
    }

    /// Opens a file below for reading; an ordinary user's own unreadable file is lent the right for the opening.
    pub(super) fn file(&self, name: &OsStr) -> io::Result<File> {
        // Nobody may make us wait at a pipe that took the file's place.
        let flags = libc::O_RDONLY | libc::O_NONBLOCK;
        match self.open_plain(name, flags) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let Some(stat) = self.stat(name)? else { return Err(error) };
                let mode = stat.st_mode & 0o7777;
                self.set_mode(name, mode | 0o400)?;
                let opened = self.open_plain(name, flags);
                self.set_mode(name, mode)?;
                opened.map(File::from)
            }
            result => result.map(File::from),
        }
    }

    fn open_plain(&self, name: &OsStr, flags: i32) -> io::Result<OwnedFd> {
        let name = c_name(name)?;
        let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the pointer is to a live string.
        let fd = unsafe { libc::openat(self.fd.as_raw_fd(), name.as_ptr(), flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor ours.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let name = c_name(name)?;
        // SAFETY: the pointer is to a live string. The node is a file or directory of the caller's, never a link.
        if unsafe { libc::fchmodat(self.fd.as_raw_fd(), name.as_ptr(), mode, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Target of a link below.
    pub(super) fn link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(nix::fcntl::readlinkat(&self.fd, name)?)
    }

    /// Names below, in no order.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let fd = self.fd.try_clone()?;
        let mut names = Vec::new();
        let mut dir = Dir::from_fd(fd)?;
        // The clone shares its position with ours, which may have been read before.
        for entry in dir.iter() {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        drop(dir);
        // SAFETY: no pointer is passed; a directory can always be rewound.
        unsafe { libc::lseek(self.fd.as_raw_fd(), 0, libc::SEEK_SET) };
        Ok(names)
    }

    /// Whether the directory hides the layers below.
    pub(super) fn is_opaque(&self) -> bool {
        let mut value = [0_u8; 4];
        // SAFETY: pointers are to live values and the length is the buffer's.
        let length = unsafe {
            let buffer = value.as_mut_ptr().cast();
            libc::fgetxattr(self.fd.as_raw_fd(), OPAQUE.as_ptr(), buffer, value.len())
        };
        length == 1 && value[0] == b'y'
    }
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(io::Error::other)
}

/// The directories that several layers have at one path, topmost first.
#[derive(Debug, Default)]
pub(super) struct DirView {
    layers: Vec<LayerDir>,
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
            layers.extend(LayerDir::open(&root)?);
        }
        Ok(Self { layers })
    }

    /// The layer that holds a leaf.
    pub(super) fn layer(&self, index: usize) -> &LayerDir {
        &self.layers[index]
    }

    /// What the view shows at a name.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Node> {
        let mut merged: Option<(Vec<LayerDir>, Stat)> = None;
        for (index, layer) in self.layers.iter().enumerate() {
            let Some(stat) = layer.stat(name)? else { continue };
            if !is_directory(&stat) {
                if merged.is_none() && !is_whiteout(&stat) {
                    return Ok(Node::Leaf { layer: index, stat });
                }
                break;
            }
            let directory = layer.child(name)?;
            let hides = directory.as_ref().is_some_and(LayerDir::is_opaque);
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
        self.layers.last().is_some_and(LayerDir::is_opaque)
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
