//! Placing files from inside, in a forked child of init: links resolve in the sandbox's own root.

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink},
    path::{Component, Path},
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

/// Places what the memory file, or the pipe, describes.
pub(crate) fn place(payload: fs::File) -> io::Result<()> {
    let mut payload = io::BufReader::with_capacity(PAYLOAD_BUFFER, payload);
    let placement: Placement = channel::read_frame(&mut payload)?;
    let directory = Path::new(&placement.directory);
    fs::create_dir_all(directory).map_err(|error| named(directory, &error))?;
    let mut directories = Vec::new();
    for node in &placement.nodes {
        let path = target(directory, node)?;
        place_node(&path, node, &mut payload).map_err(|error| named(&path, &error))?;
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

fn target(directory: &Path, node: &PlacedNode) -> io::Result<std::path::PathBuf> {
    let relative = Path::new(&node.path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(plain) {
        return Err(io::Error::other(format!("{}: not a relative path", node.path)));
    }
    Ok(if node.path.is_empty() { directory.to_path_buf() } else { directory.join(relative) })
}

fn place_node(path: &Path, node: &PlacedNode, payload: &mut impl Read) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match &node.kind {
        PlacedKind::Directory => {
            if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
                remove(path)?;
                fs::create_dir(path)?;
            }
        }
        PlacedKind::File(length) => {
            remove(path)?;
            let mut file =
                fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            let copied = io::copy(&mut payload.take(*length), &mut file)?;
            if copied != *length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            own(path, node.kept.as_ref())?;
            // After the owner, whose change takes setuid bits away.
            file.set_permissions(fs::Permissions::from_mode(node.mode))?;
            date(path, node.kept.as_ref())?;
        }
        PlacedKind::Link(to) => {
            remove(path)?;
            symlink(to, path)?;
            own(path, node.kept.as_ref())?;
            date(path, node.kept.as_ref())?;
        }
        PlacedKind::Absent => remove(path)?,
    }
    Ok(())
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

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
        Err(error) => Err(error),
    }
}
