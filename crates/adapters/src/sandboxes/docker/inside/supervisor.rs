//! The supervisor in a container: it forks the launcher, keeps the process log, and speaks to the harness.

use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
};

use nix::{
    fcntl::OFlag,
    sys::{
        prctl,
        stat::{Mode, umask},
    },
    unistd::{ForkResult, fork, getpid, getppid, pipe2, setsid},
};

use super::{close_stdio, files, launch, relay, watch, watcher};
use crate::sandboxes::{
    docker::{
        frames::{Frame, GONE},
        link::Setup,
    },
    supervision::{
        channel,
        descriptors::raise_descriptor_limit,
        launcher::{Launcher, take_child_signals},
        sweep::{First, Sweep},
    },
};

/// Frames that wait for the harness to read them.
const FRAMES_MAX: usize = 64;

/// Serves until the harness hangs up.
///
/// `notes` is where launches and listeners are announced, `notes_there` the end for the announcers; `began` tells what
/// becomes of the image's own command.
pub(super) fn run(
    setup: Setup,
    first: First,
    notes: OwnedFd,
    notes_there: OwnedFd,
    began: OwnedFd,
) -> ! {
    if let Err(error) = serve(setup, first, notes, notes_there, began) {
        eprintln!("supervisor: {error}");
    }
    leave(&io::stdout())
}

/// Tells the harness, if it can still be told, that nothing more will come, and ends this process at once.
///
/// An engine keeps its end of our streams open for as long as the container lives.
pub(super) fn leave(output: &impl AsFd) -> ! {
    let _ = nix::unistd::write(output, &GONE);
    // SAFETY: always defined; threads of ours may be waiting for what never comes.
    unsafe { libc::_exit(0) }
}

fn serve(
    setup: Setup,
    first: First,
    notes: OwnedFd,
    notes_there: OwnedFd,
    began: OwnedFd,
) -> io::Result<()> {
    // A signal to the group of pid 1 is not for us.
    setsid()?;
    let (control, control_there) = channel::packet_pair()?;
    let (launcher_began, report) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: this process has a single thread.
    match unsafe { fork() }? {
        ForkResult::Child => {
            drop((control, launcher_began, notes, began));
            launcher(setup, first, &control_there, notes_there, report)
        }
        ForkResult::Parent { .. } => drop((control_there, report, notes_there)),
    }
    raise_descriptor_limit();
    // Its memory has seen environments of commands: no program inside may look into it.
    prctl::set_dumpable(false)?;
    let (out, frames) = tokio::sync::mpsc::channel::<Frame>(FRAMES_MAX);
    // All threads there will ever be, made while there is room for them.
    let parts = relay::Parts {
        input: io::stdin().as_fd().try_clone_to_owned()?,
        output: io::stdout().as_fd().try_clone_to_owned()?,
        control,
        began: [fs::File::from(began), fs::File::from(launcher_began)],
        hang_up: notes.try_clone()?,
        questions: watcher::spawn(notes, setup.record, out.clone())?,
        files: files::spawn(out.clone())?,
        out,
        frames,
    };
    relay::run(parts)
}

/// Becomes the launcher of commands.
fn launcher(setup: Setup, first: First, control: &OwnedFd, notes: OwnedFd, report: OwnedFd) -> ! {
    let output = io::stdout().as_fd().try_clone_to_owned();
    let begun = (|| {
        // Of all that the supervisor has, only what is named here stays open.
        setsid()?;
        // What a command leaves behind is reaped, whatever pid 1 does.
        prctl::set_child_subreaper(true)?;
        close_stdio()?;
        umask(Mode::from_bits_truncate(0o022));
        watch(setup.record, &notes, &report)?;
        prctl::set_dumpable(false)?;
        let notes = setup.record.then_some(notes);
        let children = launch::Commands { keep_capabilities: setup.keep_capabilities, notes };
        let sweep = Sweep::beside(first, [getpid().as_raw(), getppid().as_raw()]);
        let signals = take_child_signals()?;
        Ok::<_, io::Error>(Launcher::new(control.as_fd(), signals, children, sweep))
    })();
    match begun {
        Ok(mut launcher) => {
            drop(report);
            // The end of the conversation is the supervisor's end.
            let _ = launcher.serve();
            if let Ok(output) = output {
                leave(&output);
            }
        }
        Err(error) => {
            let _ = nix::unistd::write(&report, error.to_string().as_bytes());
        }
    }
    // SAFETY: always defined; nothing of the supervisor's may be cleaned up here.
    unsafe { libc::_exit(0) }
}
