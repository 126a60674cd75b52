//! Descriptors of the supervisor: pid descriptors and the limit on their number.

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd},
};

use nix::{
    sys::resource::{Resource, getrlimit, setrlimit},
    unistd::Pid,
};

/// A descriptor that becomes readable when the process ends.
pub(crate) fn open_pidfd(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: no pointer is passed.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Raises the soft limit on descriptors to the hard one: the process log holds one for each living program.
pub(crate) fn raise_descriptor_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Staying at the lower limit only costs the exact time of some deaths.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
