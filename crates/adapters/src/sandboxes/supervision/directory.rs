//! A directory on disk that is read without following links: [`Directory`].

use std::{
    ffi::{CString, OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
};

use nix::{dir::Dir, fcntl::OFlag, sys::stat::Mode};

/// What the kernel knows of a node.
pub(crate) type Stat = libc::stat;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Directory {
    fd: OwnedFd,
    /// The mode to put back, if a right was lent.
    lent_mode: Option<u32>,
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Some(mode) = self.lent_mode {
            // It fails only if the directory is gone.
            let _ = nix::sys::stat::fchmod(&self.fd, Mode::from_bits_truncate(mode));
        }
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Directory {
    /// Opens a directory by path; `None` if there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        match nix::fcntl::open(path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd, lent_mode: None })),
            Err(nix::errno::Errno::ENOENT | nix::errno::Errno::ENOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands at a name, links not followed.
    pub(crate) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
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
    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Option<Self>> {
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
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<File> {
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
    pub(crate) fn link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(nix::fcntl::readlinkat(&self.fd, name)?)
    }

    /// Names below, in no order.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
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
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(io::Error::other)
}
