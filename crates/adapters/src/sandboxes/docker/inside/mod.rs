//! What runs in a container: [`container_main`] turns a binary into it.
//!
//! Pid 1 forks the supervisor, which forks the launcher of commands, and then becomes the image's own command, so that
//! an image's own init stays pid 1. Both are watched by a filter of the kernel whose questions the supervisor answers.

mod files;
mod identity;
mod launch;
mod relay;
mod streams;
mod supervisor;
mod watcher;

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    fcntl::OFlag,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{setsockopt, sockopt},
    unistd::{ForkResult, Pid, fork, pipe2},
};

use super::link::Setup;
use crate::sandboxes::supervision::{
    capabilities, channel, command,
    process_log::Note,
    protocol::Launch,
    seccomp::{self, Doors},
    sweep::First,
};

/// A supervisor that was told of a failure has passed it on by then.
const PASSING_ON: Duration = Duration::from_secs(10);
/// Written by a process whose calls are watched.
const WATCHED: &[u8] = b"y";
/// Written by a process whose calls the engine does not let us watch.
const UNWATCHED: &[u8] = b"n";

/// Runs the program in a container and never returns.
///
/// A binary calls this before anything else (above all before it starts a thread) when its first argument is
/// [`super::link::INSIDE_ARGUMENT`]. The original command follows after `--`; the harness is at standard input and
/// output.
pub fn container_main() -> ! {
    let problem = match begin() {
        Ok(problem) => problem,
        Err(error) => error.to_string(),
    };
    // Nobody else may be there to tell.
    eprintln!("{problem}");
    std::process::exit(127)
}

/// Becomes the image's own command; answers why that failed.
fn begin() -> io::Result<String> {
    let argv: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .skip_while(|argument| argument != "--")
        .skip(1)
        .collect();
    // Unbuffered: what follows the setup is for the supervisor.
    let setup: Setup =
        channel::read_frame(fs::File::from(io::stdin().as_fd().try_clone_to_owned()?))?;
    let (notes, notes_there) = channel::packet_pair()?;
    setsockopt(&notes_there, sockopt::PassCred, &true)?;
    let (began, report) = pipe2(OFlag::O_CLOEXEC)?;
    let first = if argv.is_empty() { First::Ours } else { First::Foreign };
    // SAFETY: this process has a single thread.
    match unsafe { fork() }? {
        ForkResult::Child => {
            drop(report);
            supervisor::run(setup, first, notes_there, notes, began)
        }
        ForkResult::Parent { child } if first == First::Ours => {
            drop((began, notes_there, notes));
            stay(child, report)
        }
        ForkResult::Parent { .. } => {
            drop((began, notes_there));
            let problem = become_command(setup, argv, &notes, &report);
            // It sees the closed pipe even if the text is lost.
            let _ = nix::unistd::write(&report, problem.as_bytes());
            drop(report);
            wait_for_supervisor(&notes);
            Ok(problem)
        }
    }
}

/// Without a command of the image, pid 1 stays what it is, without what it needed to begin: it reaps, and ends with the
/// supervisor, so that a container whose harness is gone ends by itself.
fn stay(supervisor: Pid, report: OwnedFd) -> io::Result<String> {
    close_stdio()?;
    // Its memory has seen the environment of the image: no program inside may look into it.
    nix::sys::prctl::set_dumpable(false)?;
    capabilities::bound_to(&[]);
    capabilities::keep_only(&[])?;
    // It runs no program, so there is nothing to watch.
    nix::unistd::write(&report, WATCHED)?;
    drop(report);
    loop {
        match nix::sys::wait::wait() {
            Ok(status) if status.pid() == Some(supervisor) => std::process::exit(0),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn become_command(setup: Setup, argv: Vec<String>, notes: &OwnedFd, report: &OwnedFd) -> String {
    let Setup { record, keep_capabilities, user, cwd, env } = setup;
    let mut launch = Launch { argv, cwd, env, user };
    let prepared = (|| {
        close_stdio()?;
        watch(record, notes, report)?;
        command::shed()?;
        launch::assume(&mut launch, &keep_capabilities)?;
        command::executable(&launch, record.then_some(notes.as_fd()))
    })();
    command::run(prepared, launch.argv.first().map_or("", String::as_str))
}

/// Our standard streams are the supervisor's alone.
fn close_stdio() -> io::Result<()> {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for number in 0..3 {
        // SAFETY: both are descriptors of this process.
        if unsafe { libc::dup2(null.as_raw_fd(), number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Installs the filter, hands its listener to the supervisor, and reports whether that was allowed.
fn watch(record: bool, notes: &OwnedFd, report: &OwnedFd) -> io::Result<()> {
    let listener = match record {
        true => seccomp::install(true, Doors::Administration).ok().flatten(),
        false => None,
    };
    let Some(listener) = listener else {
        match seccomp::install(false, Doors::Administration) {
            // Without the capability the engine's own filter is as strict.
            Err(error) if capabilities::is_held(capabilities::SYS_ADMIN) => return Err(error),
            _ => return Ok(nix::unistd::write(report, UNWATCHED).map(drop)?),
        }
    };
    let root = fs::File::open("/")?;
    let descriptors = [listener.as_raw_fd(), root.as_raw_fd()];
    channel::send(notes.as_fd(), &Note::Listener, &descriptors)?;
    Ok(nix::unistd::write(report, WATCHED).map(drop)?)
}

/// Our end would be the supervisor's: it must have told the harness first, which it says by hanging up.
fn wait_for_supervisor(notes: &OwnedFd) {
    let timeout = PollTimeout::try_from(PASSING_ON).unwrap_or(PollTimeout::MAX);
    // An error means that nobody is there to wait for.
    let _ = poll(&mut [PollFd::new(notes.as_fd(), PollFlags::POLLIN)], timeout);
}
