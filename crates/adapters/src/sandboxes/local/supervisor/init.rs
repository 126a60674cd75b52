//! The sandbox's init: pid 1 of its namespace. It builds the root view, starts what the harness asks for, and reaps.

use std::{
    collections::HashMap,
    fs, io,
    io::Read,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
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

use super::{Context, Failure, launch, mounts, placement, process_log::Note, seccomp, sweep};
use crate::sandboxes::local::{
    channel,
    protocol::{Count, Launch, Reply, Request, Rlimits, Setup, Step, realtime_ns},
};

/// Becomes init; returns only if the sandbox could not be made.
pub(super) fn run(
    setup: &Setup,
    cgroup_procs: Vec<fs::File>,
    control: &OwnedFd,
    notes: OwnedFd,
) -> Failure {
    match prepare(setup, &notes) {
        Err(failure) => failure,
        Ok(signals) => {
            let mut init = Init {
                control: control.as_fd(),
                signals,
                notes: setup.record.then_some(notes),
                cgroup_procs,
                rlimits: setup.rlimits,
                commands: HashMap::new(),
                pending: Vec::new(),
                stopped: sweep::Stopped::default(),
            };
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
    let listener = seccomp::install(setup.record).during(Step::ProcessLog, "seccomp filter")?;
    if let Some(listener) = listener {
        use std::os::fd::AsRawFd;
        let root = fs::File::open("/").during(Step::Other, "open the root")?;
        let descriptors = [listener.as_raw_fd(), root.as_raw_fd()];
        channel::send(notes.as_fd(), &Note::Listener, &descriptors)
            .during(Step::ProcessLog, "hand over the listener")?;
    }
    // Init's memory has seen paths of the host: no program inside may look into it.
    nix::sys::prctl::set_dumpable(false).during(Step::Other, "not dumpable")?;
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&mask), None).during(Step::Other, "signal mask")?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .during(Step::Other, "signalfd")
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
        use std::os::fd::AsRawFd;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as i16;
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

struct Init<'c> {
    control: BorrowedFd<'c>,
    signals: SignalFd,
    /// Where launches are told to the process log.
    notes: Option<OwnedFd>,
    cgroup_procs: Vec<fs::File>,
    rlimits: Rlimits,
    /// Commands that run, by pid.
    commands: HashMap<i32, u64>,
    /// Children whose start or work is not over; their pipe closes when it is.
    pending: Vec<Pending>,
    stopped: sweep::Stopped,
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

impl Init<'_> {
    fn serve(&mut self) -> io::Result<()> {
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
                sweep::kill_tree(pid as i32);
                self.reply(&done(id, Count::default()))
            }
            Request::Stop { id } => match self.stopped.stop_all() {
                Ok(()) => self.reply(&done(id, sweep::count())),
                Err(error) => self.reply(&Reply::Failed { id, reason: error.to_string() }),
            },
            Request::Continue { id } => {
                self.stopped.continue_all();
                self.reply(&done(id, Count::default()))
            }
            Request::Count { id } => self.reply(&done(id, sweep::count())),
            Request::KillAll { id } => {
                sweep::kill_all();
                self.reply(&done(id, Count::default()))
            }
        }
    }

    fn exec(&mut self, id: u64, descriptors: Vec<OwnedFd>) -> io::Result<()> {
        let Ok([payload, stdin, stdout, stderr]) = <[OwnedFd; 4]>::try_from(descriptors) else {
            return self.reply(&Reply::Failed { id, reason: "descriptors are missing".into() });
        };
        let launch: Launch = channel::read_frame(fs::File::from(payload))?;
        let (read_end, write_end) = pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        // SAFETY: init has a single thread.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                drop(read_end);
                let context = launch::Context {
                    cgroup_procs: &self.cgroup_procs,
                    rlimits: self.rlimits,
                    notes: self.notes.as_ref().map(|notes| notes.as_fd()),
                };
                launch::become_command(&launch, [stdin, stdout, stderr], &context, write_end)
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
        // SAFETY: init has a single thread.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                drop(read_end);
                launch::drop_capabilities();
                let problem = placement::place(fs::File::from(payload)).err();
                if let Some(problem) = &problem {
                    // Init sees the closed pipe even if the text is lost.
                    let _ = nix::unistd::write(&write_end, problem.to_string().as_bytes());
                }
                // SAFETY: always defined; nothing of init's may be cleaned up here.
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
