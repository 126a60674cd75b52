//! The process log (E3): [`ProcessLog`] is told by the kernel of each `execve`, `execveat` and `exit_group` and
//! writes down the programs that were really started.
//!
//! Whether an `execve` succeeded cannot be asked when it is announced. So a program stays pending until the process
//! is seen again (next call, end, question of the harness) and has a new memory image.

use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use nix::{
    sys::{
        epoll::{Epoll, EpollEvent, EpollFlags},
        socket::MsgFlags,
    },
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use super::{
    channel::{self, Received},
    protocol::{Launch, LogRecord, Program, realtime_ns},
};
use super::{
    descriptors::open_pidfd,
    seccomp::{CONVENTIONS, Convention},
    tracee::{self, Image, Resolved, Status},
};

/// What init and its children tell the process log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Note {
    /// Descriptors: the listener and the sandbox's root.
    Listener,
    /// The sender is about to run a command. Descriptor: memory file with its program and [`Launch`].
    Launch,
}

/// Tokens of the poll set from here on are listeners; those below are the caller's own.
const LISTENER_TOKEN: u64 = 1 << 16;
/// Tokens of the poll set from here on are process ids.
const PID_TOKEN: u64 = 1 << 32;

/// The log of one sandbox.
pub(crate) struct ProcessLog<'e> {
    epoll: &'e Epoll,
    listeners: Vec<OwnedFd>,
    root: Option<OwnedFd>,
    /// Commands of the harness that were announced, by the host's process id.
    launches: HashMap<i32, (String, Launch)>,
    /// Processes that run or may run a recorded program, by the host's process id.
    processes: HashMap<i32, Process>,
    unsettled: BTreeSet<i32>,
    records: Vec<LogRecord>,
}

#[derive(Default)]
struct Process {
    /// Wakes the supervisor at the process's end; closing it takes it out of the poll set.
    pidfd: Option<OwnedFd>,
    current: Option<Program>,
    pending: Option<Pending>,
}

struct Pending {
    program: Program,
    /// The image before the call; another one afterwards means that it succeeded.
    before: Image,
    /// The arguments could not be read before the call.
    is_unread: bool,
    /// The path could not be resolved before the call.
    is_unresolved: bool,
}

impl<'e> ProcessLog<'e> {
    /// An empty log whose process descriptors join this poll set.
    pub(crate) fn new(epoll: &'e Epoll) -> Self {
        Self {
            epoll,
            listeners: Vec::new(),
            root: None,
            launches: HashMap::new(),
            processes: HashMap::new(),
            unsettled: BTreeSet::new(),
            records: Vec::new(),
        }
    }

    /// Takes a note; answers the listener if the note brought it.
    pub(crate) fn take_note(&mut self, mut note: Received<Note>) -> Option<OwnedFd> {
        match note.message {
            Note::Listener => {
                self.root = note.descriptors.pop();
                note.descriptors.pop()
            }
            Note::Launch => {
                let payload = fs::File::from(note.descriptors.pop()?);
                let launch = channel::read_frame(payload).ok()?;
                self.launches.insert(note.sender?, launch);
                None
            }
        }
    }

    /// The kernel's questions are answered from now on.
    pub(crate) fn listen(&mut self, listener: OwnedFd) -> io::Result<()> {
        let token = LISTENER_TOKEN + self.listeners.len() as u64;
        self.epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, token))?;
        self.listeners.push(listener);
        Ok(())
    }

    /// Does what a token of the poll set stands for, unless it is the caller's own.
    pub(crate) fn wake(&mut self, token: u64, notes: BorrowedFd<'_>) {
        match token {
            PID_TOKEN.. => self.process_ended(token),
            LISTENER_TOKEN.. => self.answer((token - LISTENER_TOKEN) as usize, notes),
            _ => {}
        }
    }

    /// Adds a record of the supervisor's own.
    pub(crate) fn push(&mut self, record: LogRecord) {
        self.records.push(record);
    }

    /// Everything recorded since the last call.
    pub(crate) fn drain(&mut self) -> Vec<LogRecord> {
        std::mem::take(&mut self.records)
    }

    /// Reads one announced call, writes it down, and lets it go on.
    fn answer(&mut self, listener: usize, notes: BorrowedFd<'_>) {
        let Some(listener) = self.listeners.get(listener) else { return };
        let listener = listener.as_raw_fd();
        // SAFETY: all-zero is what the kernel asks for.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live value of the kernel's layout.
        if unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut call) } < 0 {
            // The caller was killed before it could be asked.
            return;
        }
        let at_ns = realtime_ns();
        let number = call.data.nr as u32;
        let convention = CONVENTIONS.iter().find(|one| {
            one.arch == call.data.arch
                && [one.execve, one.execveat, one.exit_group].contains(&number)
        });
        if let Some(convention) = convention {
            if number == convention.exit_group {
                self.exit_called(call.pid as i32, call.data.args[0], at_ns);
            } else {
                self.exec_called(&call, convention, notes, at_ns);
            }
        }
        let mut response = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        // It fails only if the caller is dead.
        // SAFETY: the pointer is to a live value of the kernel's layout.
        unsafe { libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response) };
    }

    fn exec_called(
        &mut self,
        call: &libc::seccomp_notif,
        convention: &Convention,
        notes: BorrowedFd<'_>,
        at_ns: i64,
    ) {
        let thread = call.pid as i32;
        let Some(status) = Status::read(thread) else { return };
        let before = Image::read(status.process);
        self.settle_one(status.process, &before, at_ns);
        let Some(mut pending) = self.pending(call, convention, notes, &status, before) else {
            return;
        };
        pending.program.started_ns = at_ns;
        let token = PID_TOKEN + status.process as u64;
        let process = self.processes.entry(status.process).or_default();
        if process.pidfd.is_none()
            && let Ok(pidfd) = open_pidfd(Pid::from_raw(status.process))
            && self.epoll.add(&pidfd, EpollEvent::new(EpollFlags::EPOLLIN, token)).is_ok()
        {
            process.pidfd = Some(pidfd);
        }
        process.pending = Some(pending);
        self.unsettled.insert(status.process);
    }

    /// What is about to run, or `None` if the call cannot succeed.
    fn pending(
        &mut self,
        call: &libc::seccomp_notif,
        convention: &Convention,
        notes: BorrowedFd<'_>,
        status: &Status,
        before: Image,
    ) -> Option<Pending> {
        let parent = self
            .processes
            .get(&status.parent)
            .and_then(|process| process.current.as_ref())
            .map(|program| program.pid)
            .or_else(|| Status::read(status.parent).map(|parent| parent.inside))
            .unwrap_or(0);
        let mut program = Program {
            pid: status.inside,
            parent,
            uid: status.uid,
            started_ns: 0,
            program: String::new(),
            argv: Vec::new(),
            cwd: tracee::cwd(status.process).unwrap_or_default(),
        };
        let asked = tracee::asked(call, convention);
        let (path, is_unread) = match asked {
            Some(asked) => {
                program.argv = asked.argv;
                (asked.path, false)
            }
            None => match self.launch_of(status.process, notes) {
                Some((path, launch)) => {
                    program.argv = tracee::cut(launch.argv);
                    program.cwd = launch.cwd;
                    (Some(path), false)
                }
                None => (None, true),
            },
        };
        let resolved = match (&path, &self.root) {
            (Some(path), Some(root)) => tracee::resolve(status, root.as_fd(), &program.cwd, path),
            _ => Resolved::Unknown,
        };
        let is_unresolved = match resolved {
            Resolved::Program(path) => {
                program.program = path;
                false
            }
            Resolved::Nothing => return None,
            Resolved::Unknown => {
                program.program = path.unwrap_or_default();
                true
            }
        };
        Some(Pending { program, before, is_unread, is_unresolved })
    }

    fn launch_of(&mut self, process: i32, notes: BorrowedFd<'_>) -> Option<(String, Launch)> {
        // The note was sent before the call, so it is either here or waiting.
        while !self.launches.contains_key(&process) {
            let received = channel::receive::<Note>(notes, MsgFlags::MSG_DONTWAIT).ok()??;
            self.take_note(received);
        }
        self.launches.remove(&process)
    }

    fn exit_called(&mut self, thread: i32, code: u64, at_ns: i64) {
        let process = match self.processes.contains_key(&thread) {
            true => thread,
            // Any thread may end its process.
            false => match Status::read(thread) {
                Some(status) => status.process,
                None => return,
            },
        };
        if self.unsettled.contains(&process) {
            self.settle_one(process, &Image::read(process), at_ns);
        }
        if let Some(process) = self.processes.remove(&process) {
            self.end(process.current, at_ns, Some((code & 0xff) as i32));
        }
        self.unsettled.remove(&process);
    }

    /// A process of the poll set is dead without having announced it.
    fn process_ended(&mut self, token: u64) {
        let process = (token - PID_TOKEN) as i32;
        let at_ns = realtime_ns();
        self.unsettled.remove(&process);
        let Some(process) = self.processes.remove(&process) else { return };
        let mut current = process.current;
        if let Some(pending) = process.pending {
            // It was killed before it could be looked at; nearly every announced start succeeds.
            self.end(current, pending.program.started_ns, None);
            self.records.push(LogRecord::Started(pending.program.clone()));
            current = Some(pending.program);
        }
        self.end(current, at_ns, None);
    }

    /// Looks at every process whose start is not certain yet.
    pub(crate) fn settle(&mut self) {
        let at_ns = realtime_ns();
        for process in std::mem::take(&mut self.unsettled) {
            self.settle_one(process, &Image::read(process), at_ns);
            if self.processes.get(&process).is_some_and(|process| process.pending.is_some()) {
                self.unsettled.insert(process);
            }
        }
        self.launches.retain(|process, _| Status::read(*process).is_some());
    }

    /// Decides about a pending start, given the image as it is now.
    fn settle_one(&mut self, host: i32, now: &Image, at_ns: i64) {
        let Some(process) = self.processes.get_mut(&host) else { return };
        let Some(pending) = process.pending.take() else { return };
        if pending.before == *now {
            // Announced again, or ended: then it had failed. Merely asked: it may still be on its way.
            if at_ns - pending.program.started_ns < FAILED_AFTER_NS {
                process.pending = Some(pending);
            }
            return;
        }
        let mut program = pending.program;
        if pending.is_unread {
            program.argv = tracee::command_line(host);
        }
        if pending.is_unresolved
            && let Some(path) = tracee::executable(host)
        {
            program.program = path;
        }
        let started_ns = program.started_ns;
        let previous = process.current.replace(program.clone());
        self.end(previous, started_ns, None);
        self.records.push(LogRecord::Started(program));
    }

    fn end(&mut self, program: Option<Program>, ended_ns: i64, exit_code: Option<i32>) {
        if let Some(Program { pid, started_ns, .. }) = program {
            self.records.push(LogRecord::Ended { pid, started_ns, ended_ns, exit_code });
        }
    }
}

/// A start whose image has not changed after so long has failed.
const FAILED_AFTER_NS: i64 = 50_000_000;
