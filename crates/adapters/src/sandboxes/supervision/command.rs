//! From a forked child of the launcher to a command: session, signals, streams, program, exec.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs, io,
    os::{
        fd::{AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
};

use nix::{
    sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask},
    unistd::{chdir, setsid},
};

use super::{channel, process_log::Note, protocol::Launch};

/// What `execve` is given.
pub(crate) type Executable = (CString, Vec<CString>, Vec<CString>);

/// Becomes the leader of a session of its own with these streams and default signals.
pub(crate) fn detach(stdio: &[OwnedFd; 3]) -> io::Result<()> {
    setsid()?;
    shed()?;
    for (number, fd) in (0..).zip(stdio) {
        // SAFETY: both are descriptors; the old ones are /dev/null.
        if unsafe { libc::dup2(fd.as_raw_fd(), number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Puts back what the runtime of this binary and the launcher changed, and lets nothing but the streams stay open: no
/// command must inherit that.
pub(crate) fn shed() -> io::Result<()> {
    // SAFETY: default actions only.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl)? };
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    close_on_exec_from(3)
}

/// Goes to the working directory of a command.
pub(crate) fn enter(cwd: &str) -> io::Result<()> {
    chdir(cwd).map_err(|errno| io::Error::other(format!("{cwd}: {}", errno.desc())))
}

/// Looks the program up and tells the process log of it.
pub(crate) fn executable(launch: &Launch, notes: Option<BorrowedFd<'_>>) -> io::Result<Executable> {
    let program = find_program(launch)?;
    if let Some(notes) = notes {
        let payload = channel::memory_file(&(&program, launch), &[])?;
        channel::send(notes, &Note::Launch, &[payload.as_raw_fd()])?;
    }
    let text = |text: &str| CString::new(text).map_err(io::Error::other);
    let argv = launch.argv.iter().map(|argument| text(argument)).collect::<io::Result<_>>()?;
    Ok((text(&program)?, argv, environment(&launch.env)?))
}

/// Turns this process into the program; answers why that failed.
pub(crate) fn run(prepared: io::Result<Executable>, name: &str) -> String {
    match prepared {
        Err(error) => error.to_string(),
        Ok((program, argv, env)) => {
            let Err(errno) = nix::unistd::execve(&program, &argv, &env);
            format!("{name}: {}", errno.desc())
        }
    }
}

/// Like [`run`] in a forked child: a failure is written to `problem`, and the child ends.
pub(crate) fn run_or_exit(
    prepared: io::Result<Executable>,
    launch: &Launch,
    problem: OwnedFd,
) -> ! {
    let reason = run(prepared, launch.argv.first().map_or("", String::as_str));
    // The launcher sees the closed pipe even if the text is lost.
    let _ = nix::unistd::write(&problem, reason.as_bytes());
    // SAFETY: always defined; nothing of the launcher's may be cleaned up here.
    unsafe { libc::_exit(127) }
}

fn environment(variables: &BTreeMap<String, String>) -> io::Result<Vec<CString>> {
    let entry = |(name, value)| CString::new(format!("{name}={value}")).map_err(io::Error::other);
    variables.iter().map(entry).collect()
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

fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 {
        return Ok(());
    }
    // Kernels before 5.11 and strict container engines do not have the call.
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_string_lossy().parse::<i32>().unwrap_or(0);
        if number >= first as i32 {
            // SAFETY: no pointer is passed; a number that was closed meanwhile is refused.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}
