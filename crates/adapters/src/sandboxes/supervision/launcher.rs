//! The launcher: a single-threaded process that starts what the harness asks for, looks over the tree, and reaps.

use std::{
    collections::HashMap,
    fs, io,
    io::Read,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, SigmaskHow, Signal, sigprocmask},
        signalfd::{SfdFlags, SignalFd},
        socket::MsgFlags,
    },
    unistd::{ForkResult, fork, pipe2},
};

use super::{
    channel, placement,
    protocol::{Count, Launch, Reply, Request, realtime_ns},
    sweep::Sweep,
};
use crate::sandboxes::doorway;

/// How a forked child of the launcher becomes what was asked for.
pub(crate) trait Children {
    /// Becomes the command; a failure is written to `problem`.
    fn become_command(&self, launch: &Launch, stdio: [OwnedFd; 3], problem: OwnedFd) -> !;

    /// Gives up what a child that places files must not have.
    fn before_placing(&self) -> io::Result<()>;
}

/// Carries out [`Request`]s one after the other; it must run in a process with a single thread.
pub(crate) struct Launcher<'c, C> {
    control: BorrowedFd<'c>,
    signals: SignalFd,
    children: C,
    /// Commands that run, by pid.
    commands: HashMap<i32, u64>,
    /// Children whose start or work is not over; their pipe closes when it is.
    pending: Vec<Pending>,
    sweep: Sweep,
}

struct Pending {
    id: u64,
    pid: i32,
    kind: PendingKind,
    pipe: fs::File,
    /// The status, if the child ended before its pipe was read.
    status: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PendingKind {
    Command,
    Placement,
}

/// From here on the ends of children are read from a descriptor.
pub(crate) fn take_child_signals() -> io::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&mask), None)?;
    Ok(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

impl<'c, C: Children> Launcher<'c, C> {
    /// A launcher that is spoken to over `control`.
    pub(crate) fn new(
        control: BorrowedFd<'c>,
        signals: SignalFd,
        children: C,
        sweep: Sweep,
    ) -> Self {
        let (commands, pending) = (HashMap::new(), Vec::new());
        Self { control, signals, children, commands, pending, sweep }
    }

    /// Serves until the conversation ends.
    pub(crate) fn serve(&mut self) -> io::Result<()> {
        self.reply(&Reply::Ready { origin_ns: realtime_ns() })?;
        loop {
            let mut polled = vec![
                PollFd::new(self.control, PollFlags::POLLIN),
                PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            ];
            polled.extend(
                self.pending
                    .iter()
                    .map(|pending| PollFd::new(pending.pipe.as_fd(), PollFlags::POLLIN)),
            );
            match poll(&mut polled, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let ready: Vec<bool> = polled.iter().map(|fd| fd.any().unwrap_or(false)).collect();
            // A pipe that closes means "started"; it is read before the end of the same child is told.
            for index in (0..self.pending.len()).rev() {
                if ready[index + 2] {
                    let pending = self.pending.remove(index);
                    self.settle(pending)?;
                }
            }
            if ready[1] {
                self.reap()?;
            }
            if ready[0] {
                let received = channel::receive::<Request>(self.control, MsgFlags::empty())?;
                let Some(received) = received else { return Ok(()) };
                self.carry_out(received.message, received.descriptors)?;
            }
        }
    }

    fn reply(&self, reply: &Reply) -> io::Result<()> {
        channel::send(self.control, reply, &[])
    }

    fn carry_out(&mut self, request: Request, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let done = |id, count| Reply::Done { id, count };
        match request {
            Request::Exec { id } => self.exec(id, descriptors),
            Request::Put { id } => self.put(id, descriptors),
            Request::Kill { id, pid } => {
                self.sweep.kill_tree(pid as i32);
                self.reply(&done(id, Count::default()))
            }
            Request::Stop { id } => match self.sweep.stop_all() {
                Ok(()) => self.reply(&done(id, self.sweep.count())),
                Err(error) => self.reply(&Reply::Failed { id, reason: error.to_string() }),
            },
            Request::Continue { id } => {
                self.sweep.continue_all();
                self.reply(&done(id, Count::default()))
            }
            Request::Count { id } => self.reply(&done(id, self.sweep.count())),
            Request::KillAll { id } => match self.sweep.kill_all() {
                Ok(()) => self.reply(&done(id, Count::default())),
                Err(error) => self.reply(&Reply::Failed { id, reason: error.to_string() }),
            },
            Request::Doorway { id, ports } => match doorway::open(&ports) {
                Ok(sockets) => {
                    let numbers: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
                    channel::send(self.control, &Reply::Doorway { id }, &numbers)
                }
                Err(error) => self.reply(&Reply::Failed { id, reason: error.to_string() }),
            },
        }
    }

    fn exec(&mut self, id: u64, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let Ok([payload, stdin, stdout, stderr]) = <[OwnedFd; 4]>::try_from(descriptors) else {
            return self.reply(&Reply::Failed { id, reason: "descriptors are missing".into() });
        };
        let launch: Launch = channel::read_frame(fs::File::from(payload))?;
        let (read_end, write_end) = pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        // SAFETY: by contract this process has a single thread.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                drop(read_end);
                self.children.become_command(&launch, [stdin, stdout, stderr], write_end)
            }
            Ok(ForkResult::Parent { child }) => {
                let pipe = fs::File::from(read_end);
                let (pid, kind) = (child.as_raw(), PendingKind::Command);
                self.pending.push(Pending { id, pid, kind, pipe, status: None });
                Ok(())
            }
            Err(error) => self.reply(&Reply::Failed { id, reason: format!("fork: {error}") }),
        }
    }

    fn put(&mut self, id: u64, mut descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let Some(payload) = descriptors.pop() else {
            return self.reply(&Reply::Failed { id, reason: "descriptors are missing".into() });
        };
        let (read_end, write_end) = pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        // SAFETY: by contract this process has a single thread.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                drop(read_end);
                let place = || placement::place(fs::File::from(payload));
                let problem = self.children.before_placing().and_then(|()| place()).err();
                if let Some(problem) = &problem {
                    // The launcher sees the closed pipe even if the text is lost.
                    let _ = nix::unistd::write(&write_end, problem.to_string().as_bytes());
                }
                // SAFETY: always defined; nothing of the launcher's may be cleaned up here.
                unsafe { libc::_exit(i32::from(problem.is_some())) }
            }
            Ok(ForkResult::Parent { child }) => {
                let pipe = fs::File::from(read_end);
                let (pid, kind) = (child.as_raw(), PendingKind::Placement);
                self.pending.push(Pending { id, pid, kind, pipe, status: None });
                Ok(())
            }
            Err(error) => self.reply(&Reply::Failed { id, reason: format!("fork: {error}") }),
        }
    }

    /// Reads why a child failed, or that it did not.
    fn settle(&mut self, mut pending: Pending) -> io::Result<()> {
        let mut reason = Vec::new();
        pending.pipe.read_to_end(&mut reason)?;
        let id = pending.id;
        if !reason.is_empty() {
            let reason = String::from_utf8_lossy(&reason).into_owned();
            return self.reply(&Reply::Failed { id, reason });
        }
        match (pending.kind, pending.status) {
            (PendingKind::Placement, _) => self.reply(&Reply::Done { id, count: Count::default() }),
            (PendingKind::Command, status) => {
                self.reply(&Reply::Started { id, pid: pending.pid as u32 })?;
                match status {
                    Some(status) => self.reply(&Reply::Ended { id, status }),
                    None => {
                        self.commands.insert(pending.pid, id);
                        Ok(())
                    }
                }
            }
        }
    }

    fn reap(&mut self) -> io::Result<()> {
        while let Ok(Some(_)) = self.signals.read_signal() {}
        loop {
            let mut status = 0;
            // SAFETY: the pointer is to a live integer.
            let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::__WALL) };
            if pid <= 0 {
                return Ok(());
            }
            if let Some(id) = self.commands.remove(&pid) {
                self.reply(&Reply::Ended { id, status })?;
            } else if let Some(pending) = self.pending.iter_mut().find(|pending| pending.pid == pid)
            {
                pending.status = Some(status);
            }
        }
    }
}
