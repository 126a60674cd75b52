//! Trees read and copied from outside: [`read_tree`] for what a caller gets, [`copy_changes`] for laying the changes
//! of one sandbox over the base of another.

use std::{
    ffi::{CString, OsStr},
    fs::{self, Permissions},
    io::{self, Read},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use engine::ports::sandbox::{FileEntry, FileNode};

use super::{
    layers::{DirView, Node, OPAQUE, Tree, is_directory, is_opaque, is_whiteout},
    state::remove_tree,
};
use crate::sandboxes::supervision::{
    directory::{Directory, Stat},
    names::text_of,
};

/// Everything below a path, in order; a file is one entry with an empty path; `None` if there is nothing.
///
/// Pipes, sockets and devices are passed over.
pub(super) fn read_tree(tree: &Tree, path: &str) -> io::Result<Option<Vec<FileEntry>>> {
    let path = super::layers::normal(path);
    let found = tree.visit(&path, |parent, name| {
        let mut entries = Vec::new();
        let is_there = if name.is_empty() {
            read_below(tree, &path, "", parent, &mut entries)?;
            true
        } else {
            match parent.child(name)? {
                Node::Absent => false,
                Node::Directory { view, .. } => {
                    read_below(tree, &path, "", &view, &mut entries)?;
                    true
                }
                Node::Leaf { layer, stat } => {
                    entries.extend(read_leaf("", name, parent.layer(layer), &stat)?);
                    true
                }
            }
        };
        Ok(is_there.then_some(entries))
    })?;
    Ok(found.flatten())
}

/// One path with nothing below it.
pub(super) fn read_one(tree: &Tree, path: &str) -> io::Result<Option<FileEntry>> {
    let found = tree.visit(path, |parent, name| {
        let directory = |mode| {
            let node = FileNode::Directory;
            Some(FileEntry { path: String::new(), node, mode })
        };
        if name.is_empty() {
            return Ok(directory(0o755));
        }
        match parent.child(name)? {
            Node::Absent => Ok(None),
            Node::Directory { stat, .. } => Ok(directory(stat.st_mode & 0o7777)),
            Node::Leaf { layer, stat } => read_leaf("", name, parent.layer(layer), &stat),
        }
    })?;
    Ok(found.flatten())
}

fn read_below(
    tree: &Tree,
    absolute: &str,
    relative: &str,
    view: &DirView,
    into: &mut Vec<FileEntry>,
) -> io::Result<()> {
    for name in view.all_names()? {
        let text = text_of(name.as_bytes());
        let path = if relative.is_empty() { text.clone() } else { format!("{relative}/{text}") };
        let below = format!("{}/{text}", absolute.trim_end_matches('/'));
        match view.child(&name)? {
            Node::Absent => {}
            Node::Leaf { layer, stat } => {
                into.extend(read_leaf(&path, &name, view.layer(layer), &stat)?);
            }
            Node::Directory { view, stat } => {
                let (node, mode) = (FileNode::Directory, stat.st_mode & 0o7777);
                into.push(FileEntry { path: path.clone(), node, mode });
                let shown = tree.mounted(&below).unwrap_or(&view);
                read_below(tree, &below, &path, shown, into)?;
            }
        }
    }
    Ok(())
}

fn read_leaf(
    path: &str,
    name: &OsStr,
    layer: &Directory,
    stat: &Stat,
) -> io::Result<Option<FileEntry>> {
    let node = match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => {
            let mut bytes = Vec::with_capacity(stat.st_size as usize);
            layer.file(name)?.read_to_end(&mut bytes)?;
            FileNode::File(bytes)
        }
        libc::S_IFLNK => FileNode::Link(text_of(layer.link(name)?.as_bytes())),
        _ => return Ok(None),
    };
    Ok(Some(FileEntry { path: path.to_owned(), node, mode: stat.st_mode & 0o7777 }))
}

/// Copies what a written layer says about `relative` (empty for all of it) into another layer of the same overlay.
///
/// Layers are given from the lowest to the topmost by calling this once for each: a later one wins.
pub(super) fn copy_changes(
    layer: &Path,
    base: &DirView,
    into: &Path,
    relative: &str,
) -> io::Result<()> {
    let Some(source) = Directory::open(layer)? else { return Ok(()) };
    let parts: Vec<&OsStr> =
        relative.split('/').filter(|part| !part.is_empty()).map(OsStr::new).collect();
    if parts.is_empty() {
        return copy_below(&source, into);
    }
    let (last, parents) = (parts[parts.len() - 1], &parts[..parts.len() - 1]);
    let mut directory = source;
    let mut target = into.to_path_buf();
    let mut is_hidden = false;
    let mut made = Vec::new();
    for part in parents {
        match directory.stat(part)? {
            None if is_hidden => return hide(base, into, &parts),
            None => return Ok(()),
            Some(stat) if !is_directory(&stat) => return hide(base, into, &parts),
            Some(stat) => {
                let Some(below) = directory.child(part)? else { return Ok(()) };
                directory = below;
                is_hidden |= is_opaque(&directory);
                target.push(part);
                made.push((target.clone(), stat));
            }
        }
    }
    let Some(stat) = directory.stat(last)? else {
        return if is_hidden { hide(base, into, &parts) } else { Ok(()) };
    };
    for (path, _) in &made {
        make_directory(path)?;
    }
    copy_node(&directory, last, &stat, &target.join(last), is_hidden)?;
    // Afterwards, for a read-only one could not be filled by an ordinary user.
    made.iter().rev().try_for_each(|(path, stat)| set_attributes(path, stat))
}

/// Says in a layer that a path of the base is gone.
fn hide(base: &DirView, into: &Path, parts: &[&OsStr]) -> io::Result<()> {
    let mut below = None;
    let mut target = into.to_path_buf();
    let (last, parents) = (parts[parts.len() - 1], &parts[..parts.len() - 1]);
    let mut made = Vec::new();
    for part in parents {
        match below.as_ref().unwrap_or(base).child(part)? {
            Node::Directory { view, stat } => {
                below = Some(view);
                target.push(part);
                made.push((target.clone(), stat));
            }
            // The base has nothing there.
            Node::Leaf { .. } | Node::Absent => return Ok(()),
        }
    }
    if matches!(below.as_ref().unwrap_or(base).child(last)?, Node::Absent) {
        return Ok(());
    }
    for (path, _) in &made {
        make_directory(path)?;
    }
    make_whiteout(&target.join(last))?;
    made.iter().rev().try_for_each(|(path, stat)| set_attributes(path, stat))
}

fn copy_below(source: &Directory, into: &Path) -> io::Result<()> {
    for name in source.names()? {
        if let Some(stat) = source.stat(&name)? {
            copy_node(source, &name, &stat, &into.join(&name), false)?;
        }
    }
    Ok(())
}

fn copy_node(
    parent: &Directory,
    name: &OsStr,
    stat: &Stat,
    target: &Path,
    is_hidden: bool,
) -> io::Result<()> {
    if is_whiteout(stat) {
        return make_whiteout(target);
    }
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFDIR => {
            let Some(source) = parent.child(name)? else { return Ok(()) };
            let hides = is_hidden || is_opaque(&source);
            if hides {
                clear(target)?;
            }
            make_directory(target)?;
            if hides {
                set_opaque(target)?;
            }
            copy_below(&source, target)?;
        }
        libc::S_IFREG => {
            clear(target)?;
            let mut from = parent.file(name)?;
            let mut to = fs::File::create_new(target)?;
            io::copy(&mut from, &mut to)?;
        }
        libc::S_IFLNK => {
            clear(target)?;
            symlink(parent.link(name)?, target)?;
        }
        libc::S_IFIFO => {
            clear(target)?;
            nix::unistd::mkfifo(target, nix::sys::stat::Mode::from_bits_truncate(0o600))?;
        }
        // A socket without its process is nothing.
        _ => return clear(target),
    }
    set_attributes(target, stat)
}

fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    // Over a whiteout of a lower layer the kernel has made the directory opaque itself.
    clear(path)?;
    fs::create_dir(path)
}

fn make_whiteout(path: &Path) -> io::Result<()> {
    clear(path)?;
    let path = c_path(path)?;
    // SAFETY: the pointer is to a live string.
    if unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR, libc::makedev(0, 0)) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn set_opaque(path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: pointers are to live values and the length is the value's.
    let result =
        unsafe { libc::lsetxattr(path.as_ptr(), OPAQUE.as_ptr(), b"y".as_ptr().cast(), 1, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Owner, mode and times like the original's.
fn set_attributes(path: &Path, stat: &Stat) -> io::Result<()> {
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::lchown(path, Some(stat.st_uid), Some(stat.st_gid))?;
    }
    if stat.st_mode & libc::S_IFMT != libc::S_IFLNK {
        fs::set_permissions(path, Permissions::from_mode(stat.st_mode & 0o7777))?;
    }
    let times = [
        libc::timespec { tv_sec: stat.st_atime, tv_nsec: stat.st_atime_nsec },
        libc::timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec },
    ];
    let path = c_path(path)?;
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: pointers are to live values.
    if unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), times.as_ptr(), flags) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}
