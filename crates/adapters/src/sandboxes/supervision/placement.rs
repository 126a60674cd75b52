//! Placing files from inside, in a forked child of init: links resolve in the sandbox's own root.

use std::{
    collections::HashSet,
    fs,
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
};

use nix::sys::{
    stat::{UtimensatFlags, utimensat},
    time::TimeSpec,
};

use super::{
    channel,
    protocol::{Kept, PlacedKind, PlacedNode, Placement},
};

/// Many small files are read together.
const PAYLOAD_BUFFER: usize = 256 * 1024;

/// Permissions that a new file gets as they are asked for: what the launcher's mask lets through.
const UNMASKED: u32 = 0o755;

/// Places what the memory file, or the pipe, describes.
pub(crate) fn place(payload: fs::File) -> io::Result<()> {
    let mut payload = io::BufReader::with_capacity(PAYLOAD_BUFFER, payload);
    let placement: Placement = channel::read_frame(&mut payload)?;
    let directory = Path::new(&placement.directory);
    fs::create_dir_all(directory).map_err(|error| named(directory, &error))?;
    let mut directories = Vec::new();
    let mut placing = Placing { payload, parents: HashSet::new(), block: Vec::new() };
    for node in &placement.nodes {
        let path = target(directory, node)?;
        placing.place(&path, node).map_err(|error| named(&path, &error))?;
        if matches!(node.kind, PlacedKind::Directory) {
            directories.push((path, node));
        }
    }
    // Modes of directories come last, or a read-only one could not be filled by an ordinary user.
    for (path, node) in directories.into_iter().rev() {
        own(&path, node.kept.as_ref()).map_err(|error| named(&path, &error))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(node.mode))?;
        date(&path, node.kept.as_ref()).map_err(|error| named(&path, &error))?;
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn target(directory: &Path, node: &PlacedNode) -> io::Result<PathBuf> {
    let relative = Path::new(&node.path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(plain) {
        return Err(io::Error::other(format!("{}: not a relative path", node.path)));
    }
    Ok(if node.path.is_empty() { directory.to_path_buf() } else { directory.join(relative) })
}

/// A placement under way. For many small files every call of the kernel counts.
struct Placing<R> {
    payload: R,
    /// Directories that are known to be there.
    parents: HashSet<PathBuf>,
    block: Vec<u8>,
}

impl<R: Read> Placing<R> {
    fn place(&mut self, path: &Path, node: &PlacedNode) -> io::Result<()> {
        if let Some(parent) = path.parent()
            && !self.parents.contains(parent)
        {
            fs::create_dir_all(parent)?;
            self.parents.insert(parent.to_path_buf());
        }
        match &node.kind {
            PlacedKind::Directory => {
                if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
                    self.remove(path)?;
                    fs::create_dir(path)?;
                }
            }
            PlacedKind::File(length) => self.file(path, node, *length)?,
            PlacedKind::Link(to) => {
                self.remove(path)?;
                symlink(to, path)?;
                own(path, node.kept.as_ref())?;
                date(path, node.kept.as_ref())?;
            }
            PlacedKind::Absent => self.remove(path)?,
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, node: &PlacedNode, length: u64) -> io::Result<()> {
        let is_plain = node.kept.is_none() && node.mode & !UNMASKED == 0;
        let mode = if is_plain { node.mode } else { 0o600 };
        let create = || fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
        let mut file = match create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove(path)?;
                create()?
            }
            created => created?,
        };
        let mut left = length;
        while left > 0 {
            let part = left.min(PAYLOAD_BUFFER as u64) as usize;
            self.block.resize(part, 0);
            self.payload.read_exact(&mut self.block)?;
            file.write_all(&self.block)?;
            left -= part as u64;
        }
        if !is_plain {
            own(path, node.kept.as_ref())?;
            // After the owner, whose change takes setuid bits away.
            file.set_permissions(fs::Permissions::from_mode(node.mode))?;
            date(path, node.kept.as_ref())?;
        }
        Ok(())
    }

    /// Removes what stands at a path, if anything does.
    fn remove(&mut self, path: &Path) -> io::Result<()> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => {
                self.parents.clear();
                fs::remove_dir_all(path)
            }
            Ok(_) => {
                // A link may have led to directories that were taken for known.
                self.parents.clear();
                fs::remove_file(path)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn own(path: &Path, kept: Option<&Kept>) -> io::Result<()> {
    let Some(kept) = kept else { return Ok(()) };
    std::os::unix::fs::lchown(path, Some(kept.uid), Some(kept.gid))
}

fn date(path: &Path, kept: Option<&Kept>) -> io::Result<()> {
    let Some(kept) = kept else { return Ok(()) };
    let modified = TimeSpec::new(
        kept.modified_ns.div_euclid(1_000_000_000),
        kept.modified_ns.rem_euclid(1_000_000_000),
    );
    let here = nix::fcntl::AT_FDCWD;
    Ok(utimensat(here, path, &TimeSpec::UTIME_NOW, &modified, UtimensatFlags::NoFollowSymlink)?)
}
