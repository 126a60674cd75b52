//! From a forked child of init to a command: session, limits, capabilities, environment, exec.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs,
    io::{self, Write},
    os::{
        fd::{AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
};

use nix::{
    sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask},
    },
    unistd::{chdir, setsid},
};

use super::process_log::Note;
use crate::sandboxes::local::{
    channel,
    protocol::{Launch, Rlimits},
};

/// What a command takes from init.
pub(super) struct Context<'i> {
    pub cgroup_procs: &'i [fs::File],
    pub rlimits: Rlimits,
    pub notes: Option<BorrowedFd<'i>>,
}

/// Capabilities that root keeps inside: those that a container engine gives by default.
///
/// `SYS_PTRACE` and `SYS_ADMIN` are not among them, so init and its memory are out of reach.
const KEPT: [u32; 14] = [
    0,  // CHOWN
    1,  // DAC_OVERRIDE
    3,  // FOWNER
    4,  // FSETID
    5,  // KILL
    6,  // SETGID
    7,  // SETUID
    8,  // SETPCAP
    10, // NET_BIND_SERVICE
    13, // NET_RAW
    18, // SYS_CHROOT
    27, // MKNOD
    29, // AUDIT_WRITE
    31, // SETFCAP
];
/// One above the highest capability that any kernel knows today, with room.
const CAPABILITIES_END: u32 = 64;
/// Programs that use `select` break above this.
const DESCRIPTORS_MAX: u64 = 1024;

/// Turns this forked child into the command; a failure is written to `problem`.
pub(super) fn become_command(
    launch: &Launch,
    stdio: [OwnedFd; 3],
    context: &Context<'_>,
    problem: OwnedFd,
) -> ! {
    let reason = match prepare(launch, stdio, context) {
        Err(error) => error.to_string(),
        Ok((program, argv, env)) => {
            let Err(errno) = nix::unistd::execve(&program, &argv, &env);
            format!("{}: {}", launch.argv[0], errno.desc())
        }
    };
    // Init sees the closed pipe even if the text is lost.
    let _ = nix::unistd::write(&problem, reason.as_bytes());
    // SAFETY: always defined; nothing of init's may be cleaned up here.
    unsafe { libc::_exit(127) }
}

type Executable = (CString, Vec<CString>, Vec<CString>);

fn prepare(launch: &Launch, stdio: [OwnedFd; 3], context: &Context<'_>) -> io::Result<Executable> {
    setsid()?;
    // SAFETY: default actions only; the runtime of this binary ignores SIGPIPE, which commands must not inherit.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl)? };
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    for (number, fd) in (0..).zip(&stdio) {
        // SAFETY: both are descriptors; the old ones of init's are /dev/null.
        if unsafe { libc::dup2(fd.as_raw_fd(), number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    for mut group in context.cgroup_procs {
        group.write_all(b"0\n")?;
    }
    set_limits(context.rlimits)?;
    chdir(launch.cwd.as_str())
        .map_err(|errno| io::Error::other(format!("{}: {}", launch.cwd, errno.desc())))?;
    let program = find_program(launch)?;
    if let Some(notes) = context.notes {
        let payload = channel::memory_file(&(&program, launch), &[])?;
        channel::send(notes, &Note::Launch, &[payload.as_raw_fd()])?;
    }
    drop_capabilities();
    close_on_exec_from(3)?;
    let text = |text: &str| CString::new(text).map_err(io::Error::other);
    let argv = launch.argv.iter().map(|argument| text(argument)).collect::<io::Result<_>>()?;
    Ok((text(&program)?, argv, environment(&launch.env)?))
}

fn environment(variables: &BTreeMap<String, String>) -> io::Result<Vec<CString>> {
    let entry = |(name, value)| CString::new(format!("{name}={value}")).map_err(io::Error::other);
    variables.iter().map(entry).collect()
}

fn set_limits(rlimits: Rlimits) -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS_MAX.min(hard), hard)?;
    let limits = [
        (Resource::RLIMIT_DATA, rlimits.data_bytes),
        (Resource::RLIMIT_NPROC, rlimits.processes),
        (Resource::RLIMIT_FSIZE, rlimits.file_bytes),
    ];
    for (resource, limit) in limits {
        if let Some(limit) = limit {
            let (_, hard) = getrlimit(resource)?;
            setrlimit(resource, limit.min(hard), limit.min(hard))?;
        }
    }
    Ok(())
}

/// The program that `argv[0]` names, looked up like a shell does.
fn find_program(launch: &Launch) -> io::Result<String> {
    let Some(name) = launch.argv.first().filter(|name| !name.is_empty()) else {
        return Err(io::Error::other("no program was named"));
    };
    if name.contains('/') {
        return Ok(name.clone());
    }
    let path = launch.env.get("PATH").map_or("", String::as_str);
    let candidates = path.split(':').filter(|directory| !directory.is_empty());
    for candidate in candidates.map(|directory| format!("{directory}/{name}")) {
        let found = fs::metadata(&candidate);
        if found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0) {
            return Ok(candidate);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("{name}: command not found")))
}

/// Leaves only [`KEPT`] capabilities to this process and its descendants.
pub(super) fn drop_capabilities() {
    for capability in (0..CAPABILITIES_END).filter(|capability| !KEPT.contains(capability)) {
        // SAFETY: no pointer is passed. Numbers above the kernel's last are refused, which is as good.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability as libc::c_ulong, 0, 0, 0) };
    }
    let mask = KEPT.iter().fold(0_u32, |mask, capability| mask | 1 << capability);
    let header = CapabilityHeader { version: 0x2008_0522, pid: 0 };
    let low = CapabilityData { effective: mask, permitted: mask, inheritable: 0 };
    let high = CapabilityData { effective: 0, permitted: 0, inheritable: 0 };
    let data = [low, high];
    // SAFETY: header and data are of the layout that this version asks for.
    unsafe { libc::syscall(libc::SYS_capset, &header, data.as_ptr()) };
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
