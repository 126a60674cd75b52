//! Leaving the host: user, pid, network, ipc, uts and cgroup namespaces, with the id maps of root or of an ordinary
//! user.

use std::{fs, io};

use nix::{
    sched::{CloneFlags, unshare},
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, fork, getegid, geteuid, getpid, pipe, read},
};

use super::{Context, Failure};
use crate::sandboxes::supervision::protocol::Step;

/// Enters new namespaces; the next child is the init of the pid namespace.
///
/// The mount namespace is left to init, so that the supervisor keeps the host's `/proc`.
pub(super) fn enter() -> Result<(), Failure> {
    // A new session keyring, or the harness's own would be readable inside. Kernels without keyrings have none.
    // SAFETY: no pointer is passed (a null name asks for an anonymous keyring).
    unsafe { libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, 0) };
    if geteuid().is_root() { enter_as_root() } else { enter_as_user() }
}

fn flags() -> CloneFlags {
    CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP
}

/// Maps one id: root inside is the user outside.
fn enter_as_user() -> Result<(), Failure> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(flags()).during(Step::Namespaces, "unshare")?;
    write_map("/proc/self/setgroups", "deny")?;
    write_map("/proc/self/uid_map", &format!("0 {uid} 1\n"))?;
    write_map("/proc/self/gid_map", &format!("0 {gid} 1\n"))
}

fn write_map(path: &str, text: &str) -> Result<(), Failure> {
    fs::write(path, text).during(Step::IdMaps, path)
}

/// Maps every id that this process itself has to itself.
///
/// The parent namespace's capabilities are needed to write such a map, so a child forked before the change does it.
fn enter_as_root() -> Result<(), Failure> {
    let uids = identity_map("/proc/self/uid_map").during(Step::IdMaps, "/proc/self/uid_map")?;
    let gids = identity_map("/proc/self/gid_map").during(Step::IdMaps, "/proc/self/gid_map")?;
    let supervisor = getpid();
    let (wait_end, go_end) = pipe().during(Step::Other, "pipe")?;
    // SAFETY: this process has a single thread.
    match unsafe { fork() }.during(Step::Namespaces, "fork")? {
        ForkResult::Child => {
            drop(go_end);
            let mut byte = [0_u8; 1];
            let told = read(&wait_end, &mut byte);
            let written = told.map_err(io::Error::from).and_then(|_| {
                fs::write(format!("/proc/{supervisor}/uid_map"), uids)?;
                fs::write(format!("/proc/{supervisor}/gid_map"), gids)
            });
            let code = written.err().map_or(0, |error| error.raw_os_error().unwrap_or(1));
            // SAFETY: always defined; nothing of the parent's may be cleaned up here.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => {
            drop(wait_end);
            let unshared = unshare(flags());
            nix::unistd::write(&go_end, b"x").during(Step::IdMaps, "pipe")?;
            let status = waitpid(child, None).during(Step::IdMaps, "waitpid")?;
            unshared.during(Step::Namespaces, "unshare")?;
            match status {
                WaitStatus::Exited(_, 0) => Ok(()),
                WaitStatus::Exited(_, errno) => {
                    let error = io::Error::from_raw_os_error(errno);
                    Err(Failure::new(Step::IdMaps, "write id maps", &error))
                }
                _ => Err(Failure::new(Step::IdMaps, "write id maps", &io::Error::other("killed"))),
            }
        }
    }
}

/// Each id range of this namespace onto itself.
fn identity_map(path: &str) -> io::Result<String> {
    let own = fs::read_to_string(path)?;
    let lines = own.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (inside, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{inside} {inside} {count}\n"))
    });
    Ok(lines.collect())
}
