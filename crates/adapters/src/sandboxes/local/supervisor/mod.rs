//! The supervisor: a single-threaded process that [`supervisor_main`] turns a binary into. It makes the namespaces,
//! forks the sandbox's init, keeps the process log and kills everything when its lifeline breaks.

mod init;
mod launch;
mod mounts;
mod namespaces;

use std::{
    fs, io,
    io::{Read, Write},
    os::{
        fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    process,
};

use nix::{
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        signal::{Signal, kill},
        wait::waitpid,
    },
    unistd::{ForkResult, Pid, fork},
};

use super::protocol::{CONTROL_FD, LOG_FD, Setup};
use crate::sandboxes::supervision::{
    channel,
    descriptors::{open_pidfd, raise_descriptor_limit},
    process_log::{Note, ProcessLog},
    protocol::{LogRecord, Refusal, Reply, Step},
};

/// A failed step of the setup.
pub(super) struct Failure(Refusal);

impl Failure {
    /// Names the step and what was tried.
    pub(super) fn new(step: Step, what: impl Into<String>, error: &io::Error) -> Self {
        let errno = error.raw_os_error().unwrap_or(0);
        Self(Refusal { step, what: what.into(), errno })
    }
}

/// Adds the step to an error.
pub(super) trait Context<T> {
    /// Turns an error into a [`Failure`] of this step.
    fn during(self, step: Step, what: &str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn during(self, step: Step, what: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, what, &error.into()))
    }
}

/// Runs the supervisor of one sandbox and never returns.
///
/// A binary calls this before anything else (above all before it starts a thread) when its first argument is
/// `__sandbox`. Descriptors 3 and 4 must be those that the harness hands over.
pub fn supervisor_main() -> ! {
    // SAFETY: by contract these descriptors were handed over by the harness and belong to nobody else.
    let (control, log) = unsafe {
        (OwnedFd::from_raw_fd(CONTROL_FD), UnixStream::from(OwnedFd::from_raw_fd(LOG_FD)))
    };
    let mut log = log;
    let code = match channel::read_frame::<Setup>(&mut log) {
        Ok(setup) => supervise(setup, control, log),
        Err(_) => 2,
    };
    process::exit(code)
}

fn supervise(setup: Setup, control: OwnedFd, log: UnixStream) -> i32 {
    match begin(&setup, control, &log) {
        Ok(running) => {
            // The paths of the host are not needed any more.
            drop(setup);
            running.watch(log)
        }
        Err(()) => 1,
    }
}

/// Makes the namespaces and forks init; a failure is told to the harness.
fn begin(setup: &Setup, control: OwnedFd, log: &UnixStream) -> Result<Running, ()> {
    let refuse = |control: &OwnedFd, failure: Failure| {
        // If the harness is gone, nobody is left to be told.
        let _ = channel::send(control.as_fd(), &Reply::Refused(failure.0), &[]);
    };
    let prepared = prepare(setup);
    let (groups, notes_here, notes_there) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            refuse(&control, failure);
            return Err(());
        }
    };
    // SAFETY: this process has a single thread.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            drop(notes_here);
            let Groups { procs, thaw } = groups;
            drop(thaw);
            // Init must not hold the lifeline, or nobody would see it break.
            let log_fd = log.as_raw_fd();
            // SAFETY: the child leaves through `_exit`, so the other owner never closes it again.
            unsafe { libc::close(log_fd) };
            let failure = init::run(setup, procs, &control, notes_there);
            refuse(&control, failure);
            // SAFETY: always defined; no destructor of the parent's state may run here.
            unsafe { libc::_exit(1) }
        }
        Ok(ForkResult::Parent { child }) => {
            let thaw = groups.thaw;
            Ok(Running { init: child, thaw, notes: notes_here, record: setup.record })
        }
        Err(error) => {
            refuse(&control, Failure::new(Step::Namespaces, "fork", &error.into()));
            Err(())
        }
    }
}

/// Control group files that were opened before the namespaces were left.
struct Groups {
    procs: Vec<fs::File>,
    thaw: Option<(fs::File, String)>,
}

fn prepare(setup: &Setup) -> Result<(Groups, OwnedFd, OwnedFd), Failure> {
    raise_descriptor_limit();
    let open = |path: &std::path::Path| {
        fs::OpenOptions::new()
            .write(true)
            .open(path)
            .during(Step::Other, &format!("open {}", path.display()))
    };
    let procs = setup.cgroup_procs.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    let thaw = match &setup.thaw {
        Some((path, word)) => Some((open(path)?, word.clone())),
        None => None,
    };
    let (here, there) = channel::packet_pair().during(Step::Other, "socketpair")?;
    nix::sys::socket::setsockopt(&here, nix::sys::socket::sockopt::PassCred, &true)
        .during(Step::Other, "pass credentials")?;
    namespaces::enter()?;
    Ok((Groups { procs, thaw }, here, there))
}

/// A sandbox whose init was forked.
struct Running {
    init: Pid,
    thaw: Option<(fs::File, String)>,
    notes: OwnedFd,
    record: bool,
}

const LIFELINE: u64 = 0;
const INIT: u64 = 1;
const NOTES: u64 = 2;

impl Running {
    /// Watches over the sandbox until init is dead; answers the exit code of the supervisor.
    fn watch(mut self, log: UnixStream) -> i32 {
        match self.serve(&log) {
            Ok(()) => 0,
            Err(_) => {
                self.kill();
                3
            }
        }
    }

    fn serve(&mut self, stream: &UnixStream) -> io::Result<()> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let init = open_pidfd(self.init)?;
        let readable = |token| EpollEvent::new(EpollFlags::EPOLLIN, token);
        epoll.add(stream, readable(LIFELINE))?;
        epoll.add(&init, readable(INIT))?;
        epoll.add(&self.notes, readable(NOTES))?;
        let mut log = ProcessLog::new(&epoll);
        loop {
            let mut events = [EpollEvent::empty(); 64];
            let ready = match epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(ready) => ready,
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for event in &events[..ready] {
                match event.data() {
                    LIFELINE => {
                        let mut question = [0_u8; 1];
                        if !matches!((&*stream).read(&mut question), Ok(1)) {
                            self.kill();
                            self.gone(&mut log, stream);
                            return Ok(());
                        }
                        log.settle();
                        log.push(LogRecord::Synced(question[0]));
                    }
                    INIT => {
                        waitpid(self.init, None)?;
                        self.gone(&mut log, stream);
                        return Ok(());
                    }
                    NOTES => self.take_note(&mut log, &epoll)?,
                    token => log.wake(token, self.notes.as_fd()),
                }
            }
            flush(&mut log, stream)?;
        }
    }

    fn take_note(&self, log: &mut ProcessLog<'_>, epoll: &Epoll) -> io::Result<()> {
        // Not waiting: an answered call of the same round may have taken the note that woke us.
        let flags = nix::sys::socket::MsgFlags::MSG_DONTWAIT;
        let received = match channel::receive::<Note>(self.notes.as_fd(), flags) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(epoll.delete(&self.notes)?),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        if let Some(listener) = log.take_note(received)
            && self.record
        {
            log.listen(listener)?;
        }
        Ok(())
    }

    /// Kills init and with it the whole namespace; returns once every process of it is dead.
    fn kill(&mut self) {
        if let Some((file, word)) = &mut self.thaw {
            // A frozen version 1 group would not die; a group that is gone needs no thaw.
            let _ = file.write_all(word.as_bytes());
        }
        // Both calls fail only if init is already dead and reaped.
        let _ = kill(self.init, Signal::SIGKILL);
        let _ = waitpid(self.init, None);
    }

    fn gone(&self, log: &mut ProcessLog<'_>, stream: &UnixStream) {
        log.settle();
        log.push(LogRecord::Gone);
        // The harness may be gone itself.
        let _ = flush(log, stream);
    }
}

fn flush(log: &mut ProcessLog<'_>, mut stream: &UnixStream) -> io::Result<()> {
    for record in log.drain() {
        channel::write_frame(&mut stream, &record)?;
    }
    Ok(())
}
