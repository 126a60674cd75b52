//! The thread that keeps the process log of a container: it answers the kernel and sends what it writes down.

use std::{
    fs,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    thread,
};

use nix::{
    errno::Errno,
    fcntl::OFlag,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        socket::MsgFlags,
    },
    unistd::pipe2,
};
use tokio::sync::mpsc;

use super::supervisor::leave;
use crate::sandboxes::{
    docker::frames::{Answer, Frame, Kind},
    supervision::{
        channel,
        process_log::{Note, ProcessLog},
        protocol::Count,
    },
};

const QUESTIONS: u64 = 0;
const NOTES: u64 = 1;

/// Starts the thread; the ids of questions that it is to answer are written into the file, eight bytes each.
pub(super) fn spawn(
    notes: OwnedFd,
    record: bool,
    out: mpsc::Sender<Frame>,
) -> io::Result<fs::File> {
    let (questions, asked) = pipe2(OFlag::O_CLOEXEC)?;
    let watcher = Watcher { notes, record, questions: fs::File::from(questions), out };
    thread::Builder::new().name("process log".into()).spawn(move || {
        let Err(problem) = watcher.watch() else { return };
        eprintln!("process log: {problem}");
        // Nobody may believe in a log that is not kept: without it the supervisor ends.
        leave(&io::stdout())
    })?;
    Ok(fs::File::from(asked))
}

struct Watcher {
    notes: OwnedFd,
    record: bool,
    questions: fs::File,
    out: mpsc::Sender<Frame>,
}

impl Watcher {
    fn watch(mut self) -> io::Result<()> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&self.questions, EpollEvent::new(EpollFlags::EPOLLIN, QUESTIONS))?;
        epoll.add(&self.notes, EpollEvent::new(EpollFlags::EPOLLIN, NOTES))?;
        let mut log = ProcessLog::new(&epoll);
        loop {
            let mut events = [EpollEvent::empty(); 64];
            let ready = match epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let mut question = None;
            for event in &events[..ready] {
                match event.data() {
                    QUESTIONS => {
                        let mut id = [0; 8];
                        if self.questions.read(&mut id)? < id.len() {
                            // The conversation has ended.
                            return Ok(());
                        }
                        log.settle();
                        question = Some(u64::from_le_bytes(id));
                    }
                    NOTES => self.take_note(&mut log, &epoll)?,
                    token => log.wake(token, self.notes.as_fd()),
                }
            }
            for record in log.drain() {
                self.send(Frame::document(Kind::Log, 0, &record)?)?;
            }
            if let Some(id) = question {
                let answer = Answer::Done(Count::default());
                self.send(Frame::document(Kind::Answer, id, &answer)?)?;
            }
        }
    }

    fn take_note(&self, log: &mut ProcessLog<'_>, epoll: &Epoll) -> io::Result<()> {
        // Not waiting: an answered call of the same round may have taken the note that woke us.
        let received = channel::receive::<Note>(self.notes.as_fd(), MsgFlags::MSG_DONTWAIT);
        match received {
            Ok(Some(received)) => match log.take_note(received) {
                Some(listener) if self.record => log.listen(listener),
                _ => Ok(()),
            },
            Ok(None) => Ok(epoll.delete(&self.notes)?),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Waits if the harness does not read: then the programs inside wait, too.
    fn send(&self, frame: Frame) -> io::Result<()> {
        self.out.blocking_send(frame).map_err(io::Error::other)
    }
}
