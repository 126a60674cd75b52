//! The thread that reads the container's tree of files: links are not followed, and no program of the container takes
//! part.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::mpsc::Sender,
    thread,
};

use tokio::sync::mpsc;

use crate::sandboxes::{
    docker::frames::{Answer, BLOCK, Frame, Kind, Listed, Seen, Stream},
    supervision::{
        channel::write_frame,
        directory::{Directory, Stat},
        names::text_of,
        protocol::{Kept, PlacedKind, PlacedNode},
    },
};

/// Bytes that are read of a file without a length.
const MADE_UP_MAX: u64 = 1 << 20;
/// Deep trees are gone through by recursion.
const STACK_BYTES: usize = 64 << 20;
/// Known hashes are forgotten when there are more.
const KNOWN_MAX: usize = 1_000_000;
/// Trees that the kernel makes up; they are read only if they are asked for by name.
const MADE_UP: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What can be asked of the tree; paths are absolute.
pub(super) enum FileQuestion {
    /// Everything below a path with its content.
    Read(String),
    /// What stands at these paths.
    Look(Vec<String>),
    /// What stands below a path on its own mount.
    Walk(String),
    /// What these directories hold on their own mount.
    List(Vec<String>),
    /// What stands at these paths with content, owner and time.
    Carry(Vec<String>),
}

/// Starts the thread.
pub(super) fn spawn(out: mpsc::Sender<Frame>) -> io::Result<Sender<(u64, FileQuestion)>> {
    let (sender, questions) = std::sync::mpsc::channel::<(u64, FileQuestion)>();
    let builder = thread::Builder::new().name("files".into()).stack_size(STACK_BYTES);
    builder.spawn(move || {
        let mut known = HashMap::new();
        for (id, question) in questions {
            let mut reader = Reader { known: &mut known, sink: Sink::new(id, &out) };
            let answer = match reader.carry_out(question).and_then(|found| {
                reader.sink.flush()?;
                Ok(found)
            }) {
                Ok(found) => Answer::Sent(found),
                Err(error) => Answer::Failed(error.to_string()),
            };
            let sent = Frame::document(Kind::Answer, id, &answer)
                .and_then(|frame| out.blocking_send(frame).map_err(io::Error::other));
            if sent.is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// Bytes on their way to the harness.
struct Sink<'o> {
    id: u64,
    out: &'o mpsc::Sender<Frame>,
    block: Vec<u8>,
}

impl<'o> Sink<'o> {
    fn new(id: u64, out: &'o mpsc::Sender<Frame>) -> Self {
        Self { id, out, block: Vec::with_capacity(BLOCK) }
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
        let frame = Frame::bytes(Stream::Stdout, self.id, block);
        self.out.blocking_send(frame).map_err(io::Error::other)
    }
}

/// A file's hash with what tells whether it is still the same.
struct Known {
    identity: (u64, i64, i64),
    hash: String,
}

struct Reader<'r> {
    known: &'r mut HashMap<String, Known>,
    sink: Sink<'r>,
}

/// What a path names: the directory that holds it and its name there; an empty name for the root.
struct Place {
    directory: Directory,
    name: OsString,
}

/// Goes down to the parent of a path without following links; none if it cannot be there.
fn find(path: &str) -> io::Result<Option<Place>> {
    let Some(mut directory) = Directory::open(Path::new("/"))? else { return Ok(None) };
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(io::Error::other(format!("{path}: no plain path")));
    }
    let Some((name, parents)) = parts.split_last() else {
        return Ok(Some(Place { directory, name: OsString::new() }));
    };
    for part in parents {
        match descend(&directory, OsStr::new(part))? {
            Some(child) => directory = child,
            None => return Ok(None),
        }
    }
    Ok(Some(Place { directory, name: OsString::from(name) }))
}

/// A directory below; none if it is gone or something else.
fn descend(directory: &Directory, name: &OsStr) -> io::Result<Option<Directory>> {
    match directory.child(name) {
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => Ok(None),
            _ => Err(error),
        },
        found => found,
    }
}

fn kind_of(stat: &Stat) -> u32 {
    stat.st_mode & libc::S_IFMT
}

fn join(parent: &str, name: &OsStr) -> String {
    format!("{}/{}", parent.trim_end_matches('/'), text_of(name.as_bytes()))
}

fn sorted_names(directory: &Directory) -> io::Result<Vec<OsString>> {
    let mut names = directory.names()?;
    names.sort();
    Ok(names)
}

/// Which mount a node is on; the device where the kernel does not number mounts.
fn mount_of(directory: &Directory, name: &OsStr) -> io::Result<u64> {
    let name = std::ffi::CString::new(name.as_bytes()).map_err(io::Error::other)?;
    let flags = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH | libc::AT_NO_AUTOMOUNT;
    // SAFETY: an all-zero value is valid; pointers are to live values.
    let (result, found) = unsafe {
        let mut found: libc::statx = std::mem::zeroed();
        let fd = directory.as_fd().as_raw_fd();
        (libc::statx(fd, name.as_ptr(), flags, libc::STATX_MNT_ID, &mut found), found)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(match found.stx_mask & libc::STATX_MNT_ID {
        0 => u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
        _ => found.stx_mnt_id,
    })
}

/// A directory by its path; none if there is something else or nothing.
fn open(path: &str) -> io::Result<Option<Directory>> {
    let Some(Place { directory, name }) = find(path)? else { return Ok(None) };
    if name.is_empty() { Ok(Some(directory)) } else { descend(&directory, &name) }
}

/// What a directory holds, other mounts left out; none if it is no directory.
fn list(path: &str) -> io::Result<Option<Vec<Listed>>> {
    let Some(directory) = open(path)? else { return Ok(None) };
    let mount = mount_of(&directory, OsStr::new(""))?;
    let mut listed = Vec::new();
    for name in sorted_names(&directory)? {
        let Some(stat) = directory.stat(&name)? else { continue };
        if mount_of(&directory, &name)? == mount {
            listed.push(Listed {
                name: text_of(name.as_bytes()),
                is_directory: kind_of(&stat) == libc::S_IFDIR,
                ctime_ns: ctime_ns(&stat),
            });
        }
    }
    Ok(Some(listed))
}

fn ctime_ns(stat: &Stat) -> i64 {
    stat.st_ctime * 1_000_000_000 + stat.st_ctime_nsec
}

impl Reader<'_> {
    fn carry_out(&mut self, question: FileQuestion) -> io::Result<bool> {
        match question {
            FileQuestion::Read(path) => self.read(&path),
            FileQuestion::Look(paths) => {
                for path in &paths {
                    let seen = self.look(path)?;
                    write_frame(&mut self.sink, &seen)?;
                }
                Ok(true)
            }
            FileQuestion::Walk(path) => self.walk(&path),
            FileQuestion::List(paths) => {
                for path in &paths {
                    let listed = list(path)?;
                    write_frame(&mut self.sink, &listed)?;
                }
                Ok(true)
            }
            FileQuestion::Carry(paths) => {
                for path in &paths {
                    self.carry(path)?;
                }
                Ok(true)
            }
        }
    }

    fn read(&mut self, path: &str) -> io::Result<bool> {
        let Some(Place { directory, name }) = find(path)? else { return Ok(false) };
        let path = format!("/{}", path.trim_matches('/'));
        if name.is_empty() {
            self.read_below(&path, "", &directory)?;
            return Ok(true);
        }
        let Some(stat) = directory.stat(&name)? else { return Ok(false) };
        match kind_of(&stat) {
            libc::S_IFDIR => match descend(&directory, &name)? {
                Some(directory) => self.read_below(&path, "", &directory)?,
                None => return Ok(false),
            },
            _ => self.read_leaf("", &directory, &name, &stat, None)?,
        }
        Ok(true)
    }

    fn read_below(
        &mut self,
        absolute: &str,
        relative: &str,
        directory: &Directory,
    ) -> io::Result<()> {
        for name in sorted_names(directory)? {
            let below = join(absolute, &name);
            let path = join(relative, &name);
            let path = if relative.is_empty() { path.trim_start_matches('/') } else { &path };
            let Some(stat) = directory.stat(&name)? else { continue };
            if kind_of(&stat) != libc::S_IFDIR {
                self.read_leaf(path, directory, &name, &stat, None)?;
                continue;
            }
            let node = PlacedNode {
                path: path.to_owned(),
                mode: stat.st_mode & 0o7777,
                kind: PlacedKind::Directory,
                kept: None,
            };
            write_frame(&mut self.sink, &node)?;
            if !MADE_UP.contains(&below.as_str())
                && let Some(child) = descend(directory, &name)?
            {
                self.read_below(&below, path, &child)?;
            }
        }
        Ok(())
    }

    /// One node and nothing below it, by its path from the root.
    fn carry(&mut self, path: &str) -> io::Result<()> {
        let Some(Place { directory, name }) = find(path)? else { return Ok(()) };
        let Some(stat) = directory.stat(&name)? else { return Ok(()) };
        let kept = Some(Kept {
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified_ns: stat.st_mtime * 1_000_000_000 + stat.st_mtime_nsec,
        });
        let path = path.trim_start_matches('/');
        if kind_of(&stat) != libc::S_IFDIR {
            return self.read_leaf(path, &directory, &name, &stat, kept);
        }
        let (path, mode) = (path.to_owned(), stat.st_mode & 0o7777);
        let node = PlacedNode { path, mode, kind: PlacedKind::Directory, kept };
        write_frame(&mut self.sink, &node)
    }

    /// Pipes, sockets and devices are passed over.
    fn read_leaf(
        &mut self,
        path: &str,
        directory: &Directory,
        name: &OsStr,
        stat: &Stat,
        kept: Option<Kept>,
    ) -> io::Result<()> {
        let (path, mode) = (path.to_owned(), stat.st_mode & 0o7777);
        let node = |kind| PlacedNode { path: path.clone(), mode, kind, kept };
        match kind_of(stat) {
            // The kernel does not say how long what it makes up is.
            libc::S_IFREG if stat.st_size == 0 => {
                let mut content = Vec::new();
                directory.file(name)?.take(MADE_UP_MAX).read_to_end(&mut content)?;
                let length = content.len() as u64;
                write_frame(&mut self.sink, &node(PlacedKind::File(length)))?;
                self.sink.write_all(&content)
            }
            libc::S_IFREG => {
                let length = stat.st_size as u64;
                write_frame(&mut self.sink, &node(PlacedKind::File(length)))?;
                let copied = io::copy(&mut directory.file(name)?.take(length), &mut self.sink)?;
                if copied != length {
                    return Err(io::Error::other(format!(
                        "{path}: became shorter while it was read"
                    )));
                }
                Ok(())
            }
            libc::S_IFLNK => {
                let target = text_of(directory.link(name)?.as_bytes());
                write_frame(&mut self.sink, &node(PlacedKind::Link(target)))
            }
            _ => Ok(()),
        }
    }

    fn look(&mut self, path: &str) -> io::Result<Option<Seen>> {
        let Some(Place { directory, name }) = find(path)? else { return Ok(None) };
        let name = if name.is_empty() { OsStr::new(".") } else { &name };
        match directory.stat(name)? {
            Some(stat) => self.see(path, &directory, name, &stat).map(Some),
            None => Ok(None),
        }
    }

    fn see(
        &mut self,
        path: &str,
        directory: &Directory,
        name: &OsStr,
        stat: &Stat,
    ) -> io::Result<Seen> {
        let kind = kind_of(stat);
        let ctime_ns = ctime_ns(stat);
        let hash = match kind {
            libc::S_IFREG => Some(self.hash(path, directory, name, stat, ctime_ns)?),
            _ => None,
        };
        let link_target = match kind {
            libc::S_IFLNK => Some(text_of(directory.link(name)?.as_bytes())),
            _ => None,
        };
        let size = if kind == libc::S_IFREG { stat.st_size as u64 } else { 0 };
        Ok(Seen { mode: stat.st_mode, uid: stat.st_uid, size, ctime_ns, hash, link_target })
    }

    fn hash(
        &mut self,
        path: &str,
        directory: &Directory,
        name: &OsStr,
        stat: &Stat,
        ctime_ns: i64,
    ) -> io::Result<String> {
        let identity = (stat.st_ino, stat.st_size, ctime_ns);
        if let Some(known) = self.known.get(path).filter(|known| known.identity == identity) {
            return Ok(known.hash.clone());
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(directory.file(name)?)?;
        let hash = hasher.finalize().to_hex().to_string();
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(path.to_owned(), Known { identity, hash: hash.clone() });
        Ok(hash)
    }

    fn walk(&mut self, path: &str) -> io::Result<bool> {
        let Some(directory) = open(path)? else { return Ok(false) };
        let mount = mount_of(&directory, OsStr::new(""))?;
        self.walk_below(&format!("/{}", path.trim_matches('/')), &directory, mount)?;
        Ok(true)
    }

    fn walk_below(&mut self, path: &str, directory: &Directory, mount: u64) -> io::Result<()> {
        for name in sorted_names(directory)? {
            let Some(stat) = directory.stat(&name)? else { continue };
            if mount_of(directory, &name)? != mount {
                continue;
            }
            let below = join(path, &name);
            let seen = self.see(&below, directory, &name, &stat)?;
            write_frame(&mut self.sink, &(&below, seen))?;
            if kind_of(&stat) == libc::S_IFDIR
                && let Some(child) = descend(directory, &name)?
            {
                self.walk_below(&below, &child, mount)?;
            }
        }
        Ok(())
    }
}
