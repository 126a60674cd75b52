//! The sandbox's init: pid 1 of its namespace. It builds the root view and serves as the launcher of commands.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
};

use nix::sys::{signal::Signal, signalfd::SignalFd};

use super::{Context, Failure, launch, mounts};
use crate::sandboxes::{
    local::protocol::Setup,
    supervision::{
        channel,
        launcher::{Launcher, take_child_signals},
        process_log::Note,
        protocol::Step,
        seccomp,
        sweep::Sweep,
    },
};

/// Becomes init; returns only if the sandbox could not be made.
pub(crate) fn run(
    setup: &Setup,
    cgroup_procs: Vec<fs::File>,
    control: &OwnedFd,
    notes: OwnedFd,
) -> Failure {
    match prepare(setup, &notes) {
        Err(failure) => failure,
        Ok(signals) => {
            let notes = setup.record.then_some(notes);
            let children = launch::Commands { cgroup_procs, rlimits: setup.rlimits, notes };
            let sweep = Sweep::of_namespace();
            let mut init = Launcher::new(control.as_fd(), signals, children, sweep);
            // The end of the conversation is the harness's way to end the sandbox.
            let _ = init.serve();
            // SAFETY: always defined; the kernel kills the rest of the namespace.
            unsafe { libc::_exit(0) }
        }
    }
}

fn prepare(setup: &Setup, notes: &OwnedFd) -> Result<SignalFd, Failure> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).during(Step::Other, "death signal")?;
    nix::unistd::setsid().during(Step::Other, "setsid")?;
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    mounts::build(setup)?;
    nix::unistd::sethostname("sandbox").during(Step::Other, "hostname")?;
    bring_loopback_up().during(Step::Other, "bring lo up")?;
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0)
        .during(Step::Other, "core limit")?;
    nix::sys::prctl::set_no_new_privs().during(Step::Other, "no new privileges")?;
    let listener = seccomp::install(setup.record, seccomp::Doors::Network)
        .during(Step::ProcessLog, "seccomp filter")?;
    if let Some(listener) = listener {
        let root = fs::File::open("/").during(Step::Other, "open the root")?;
        let descriptors = [listener.as_raw_fd(), root.as_raw_fd()];
        channel::send(notes.as_fd(), &Note::Listener, &descriptors)
            .during(Step::ProcessLog, "hand over the listener")?;
    }
    // Init's memory has seen paths of the host: no program inside may look into it.
    nix::sys::prctl::set_dumpable(false).during(Step::Other, "not dumpable")?;
    take_child_signals().during(Step::Other, "signalfd")
}

fn bring_loopback_up() -> io::Result<()> {
    let socket = nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Inet,
        nix::sys::socket::SockType::Datagram,
        nix::sys::socket::SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: an all-zero request is valid; the kernel reads name and flags of a live value.
    let result = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
