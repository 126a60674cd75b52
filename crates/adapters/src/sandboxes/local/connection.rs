//! The harness's side of a supervisor: [`Connection`] sends requests, routes replies, collects the process log, and
//! kills the tree when it is told to or dropped.

use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
    os::unix::net::UnixStream as StdUnixStream,
    path::Path,
    process::Child,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use engine::ports::sandbox::SandboxFault;
use nix::sys::socket::MsgFlags;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, Interest, unix::AsyncFd},
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
    sync::{oneshot, watch},
};

use super::protocol::{SUPERVISOR_ARGUMENT, Setup};
use crate::{
    process,
    sandboxes::supervision::{
        channel,
        program_log::ProgramLog,
        protocol::{LogRecord, Refusal, Reply, Request},
    },
};

/// A supervisor that does not answer in this time is lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// A tree that is not dead by then is reported.
const DEATH_TIMEOUT: Duration = Duration::from_secs(20);

/// How a supervisor came up.
pub(super) enum Beginning {
    /// The sandbox stands.
    Ready(Connection),
    /// The host does not allow it.
    Refused(Refusal),
}

/// A living supervisor.
pub(super) struct Connection {
    control: Arc<AsyncFd<OwnedFd>>,
    waiting: Arc<Mutex<Waiting>>,
    next_id: AtomicU64,
    questions: tokio::sync::Mutex<Questions>,
    log: Arc<Mutex<ProgramLog>>,
    answered: watch::Receiver<Answered>,
    /// A second handle on the log stream, to cut it.
    lifeline: StdUnixStream,
    supervisor: Mutex<Option<Child>>,
    /// Wall clock of the kernel at the moment the root view stood.
    pub origin_ns: i64,
}

struct Questions {
    stream: OwnedWriteHalf,
    last: u8,
}

/// What the log stream has said so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answered {
    question: u8,
    is_gone: bool,
    is_closed: bool,
}

#[derive(Default)]
struct Waiting {
    replies: HashMap<u64, oneshot::Sender<Replied>>,
    endings: HashMap<u64, oneshot::Sender<i32>>,
    is_closed: bool,
}

/// A reply with what came with it.
type Replied = (Reply, Vec<OwnedFd>);

/// A command that was started.
pub(super) struct StartedCommand {
    pub pid: u32,
    /// Resolves with the status of `waitpid`.
    pub ended: oneshot::Receiver<i32>,
}

fn lost(what: &str, error: &dyn std::fmt::Display) -> SandboxFault {
    SandboxFault::Lost(format!("{what}: {error}"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock still guards whole values: every critical section only inserts, removes or takes.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Connection {
    /// Starts a supervisor and waits until its sandbox stands.
    pub(super) async fn begin(program: &Path, setup: &Setup) -> Result<Beginning, SandboxFault> {
        let host = |error: io::Error| match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE) => {
                SandboxFault::HostLimit(error.to_string())
            }
            _ => lost("supervisor", &error),
        };
        let (control, control_there) = channel::packet_pair().map_err(host)?;
        let (log, log_there) = channel::stream_pair().map_err(host)?;
        let argument = SUPERVISOR_ARGUMENT;
        let supervisor =
            process::supervise(program, argument, &[control_there, log_there]).map_err(host)?;
        let log = StdUnixStream::from(log);
        channel::write_frame(&log, setup).map_err(host)?;
        let lifeline = log.try_clone().map_err(host)?;
        // From here on a failure must cut the lifeline: the connection owns the supervisor.
        log.set_nonblocking(true).map_err(host)?;
        set_nonblocking(&control).map_err(host)?;
        let (reader, writer) = tokio::net::UnixStream::from_std(log).map_err(host)?.into_split();
        let interest = Interest::READABLE | Interest::WRITABLE;
        // SAFETY: the socket is owned, moves with its owner, and its number stays the same until it is dropped.
        let control = unsafe { AsyncFd::register_with_interest(control, interest) };
        let (answers, answered) = watch::channel(Answered::default());
        let mut connection = Connection {
            control: Arc::new(control.map_err(|error| host(error.into()))?),
            waiting: Arc::default(),
            next_id: AtomicU64::new(1),
            questions: tokio::sync::Mutex::new(Questions { stream: writer, last: 0 }),
            log: Arc::default(),
            answered,
            lifeline,
            supervisor: Mutex::new(Some(supervisor)),
            origin_ns: 0,
        };
        let ready = connection.expect(0);
        tokio::spawn(read_replies(
            Arc::clone(&connection.control),
            Arc::clone(&connection.waiting),
        ));
        tokio::spawn(read_log(reader, Arc::clone(&connection.log), answers));
        match connection.answer(ready).await?.0 {
            Reply::Ready { origin_ns } => {
                connection.origin_ns = origin_ns;
                Ok(Beginning::Ready(connection))
            }
            Reply::Refused(refusal) => Ok(Beginning::Refused(refusal)),
            other => Err(SandboxFault::Lost(format!("unexpected reply {other:?}"))),
        }
    }

    /// The programs that were started; complete after [`Connection::sync`].
    pub(super) fn log(&self) -> MutexGuard<'_, ProgramLog> {
        lock(&self.log)
    }

    fn expect(&self, id: u64) -> oneshot::Receiver<Replied> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        // Without a reader nobody would ever answer: the dropped sender says so at once.
        if !waiting.is_closed {
            waiting.replies.insert(id, sender);
        }
        receiver
    }

    async fn answer(&self, receiver: oneshot::Receiver<Replied>) -> Result<Replied, SandboxFault> {
        match tokio::time::timeout(ANSWER_TIMEOUT, receiver).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) => Err(SandboxFault::Lost("the supervisor is gone".into())),
            Err(_) => Err(SandboxFault::TimedOut("the supervisor does not answer".into())),
        }
    }

    /// Asks and waits for the reply; a refusal is `Ok(Reply::Failed)`.
    pub(super) async fn ask(
        &self,
        request: impl FnOnce(u64) -> Request,
        descriptors: &[RawFd],
    ) -> Result<Reply, SandboxFault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let reply = self.expect(id);
        self.send(&request(id), descriptors).await?;
        Ok(self.answer(reply).await?.0)
    }

    /// Opens the edge of the network; its sockets.
    pub(super) async fn open_doorway(&self, ports: Vec<u16>) -> Result<Vec<OwnedFd>, SandboxFault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let reply = self.expect(id);
        self.send(&Request::Doorway { id, ports }, &[]).await?;
        match self.answer(reply).await? {
            (Reply::Doorway { .. }, sockets) => Ok(sockets),
            (Reply::Failed { reason, .. }, _) => Err(SandboxFault::Unsupported(format!(
                "the edge of the sandbox's network cannot be opened: {reason}"
            ))),
            (other, _) => Err(SandboxFault::Lost(format!("unexpected reply {other:?}"))),
        }
    }

    async fn send(&self, request: &Request, descriptors: &[RawFd]) -> Result<(), SandboxFault> {
        let sent = self.control.async_io(Interest::WRITABLE, |socket| {
            channel::send(socket.as_fd(), request, descriptors)
        });
        sent.await.map_err(|error| lost("request", &error))
    }

    /// Starts a command; the inner error says why it cannot be run.
    pub(super) async fn start(
        &self,
        descriptors: &[RawFd],
    ) -> Result<Result<StartedCommand, String>, SandboxFault> {
        let (sender, ended) = oneshot::channel();
        let register = |id| {
            lock(&self.waiting).endings.insert(id, sender);
            Request::Exec { id }
        };
        match self.ask(register, descriptors).await? {
            Reply::Started { pid, .. } => Ok(Ok(StartedCommand { pid, ended })),
            Reply::Failed { id, reason } => {
                lock(&self.waiting).endings.remove(&id);
                Ok(Err(reason))
            }
            other => Err(SandboxFault::Lost(format!("unexpected reply {other:?}"))),
        }
    }

    /// Waits until everything that the process log has seen so far is here.
    pub(super) async fn sync(&self) -> Result<(), SandboxFault> {
        let mut questions = self.questions.lock().await;
        questions.last = questions.last.wrapping_add(1).max(1);
        let question = questions.last;
        questions
            .stream
            .write_all(&[question])
            .await
            .map_err(|error| lost("process log", &error))?;
        let mut answered = self.answered.clone();
        let done = answered.wait_for(|seen| seen.question == question || seen.is_closed);
        match tokio::time::timeout(ANSWER_TIMEOUT, done).await {
            Ok(Ok(seen)) if !seen.is_closed => Ok(()),
            Ok(_) => Err(SandboxFault::Lost("the process log is gone".into())),
            Err(_) => Err(SandboxFault::TimedOut("the process log does not answer".into())),
        }
    }

    /// Kills the tree; returns when the kernel has told that all of it is dead.
    pub(super) async fn end(&self) -> Result<(), SandboxFault> {
        // It fails only if the supervisor has gone before.
        let _ = self.lifeline.shutdown(std::net::Shutdown::Write);
        let mut answered = self.answered.clone();
        let closed = answered.wait_for(|seen| seen.is_closed);
        let is_gone = match tokio::time::timeout(DEATH_TIMEOUT, closed).await {
            Ok(Ok(seen)) => seen.is_gone,
            Ok(Err(_)) => false,
            Err(_) => return Err(SandboxFault::TimedOut("the tree does not die".into())),
        };
        self.bury();
        // Without the supervisor's word: init died with it, and the kernel kills a namespace with its init.
        if is_gone { Ok(()) } else { Err(SandboxFault::Lost("death was not confirmed".into())) }
    }

    /// Kills the tree at once, from anywhere; waits for the supervisor.
    pub(super) fn kill(&self) {
        // Both directions: a supervisor that waits to write must not wait for us.
        let _ = self.lifeline.shutdown(std::net::Shutdown::Both);
        self.bury();
    }

    /// Waits for the supervisor process, whose end is the end of the tree.
    fn bury(&self) {
        let Some(mut supervisor) = lock(&self.supervisor).take() else { return };
        let deadline = Instant::now() + DEATH_TIMEOUT;
        loop {
            match supervisor.try_wait() {
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_micros(300));
                }
                Ok(None) => {
                    // Init is told of its parent's death by the kernel.
                    let _ = supervisor.kill();
                    let _ = supervisor.wait();
                    return;
                }
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill();
    }
}

fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    let flags = nix::fcntl::OFlag::O_NONBLOCK;
    nix::fcntl::fcntl(fd, nix::fcntl::FcntlArg::F_SETFL(flags))?;
    Ok(())
}

async fn read_replies(control: Arc<AsyncFd<OwnedFd>>, waiting: Arc<Mutex<Waiting>>) {
    loop {
        let received = control.async_io(Interest::READABLE, |socket| {
            channel::receive::<Reply>(socket.as_fd(), MsgFlags::MSG_DONTWAIT)
        });
        let Ok(Some(received)) = received.await else { break };
        let mut waiting = lock(&waiting);
        // Whoever asked may have gone away: then nobody wants the answer.
        match received.message {
            Reply::Ended { id, status } => {
                if let Some(sender) = waiting.endings.remove(&id) {
                    let _ = sender.send(status);
                }
            }
            reply => {
                let id = match &reply {
                    Reply::Ready { .. } | Reply::Refused(_) => 0,
                    Reply::Started { id, .. }
                    | Reply::Failed { id, .. }
                    | Reply::Ended { id, .. }
                    | Reply::Doorway { id }
                    | Reply::Done { id, .. } => *id,
                };
                if let Some(sender) = waiting.replies.remove(&id) {
                    let _ = sender.send((reply, received.descriptors));
                }
            }
        }
    }
    let mut waiting = lock(&waiting);
    waiting.is_closed = true;
    waiting.replies.clear();
    waiting.endings.clear();
}

async fn read_log(
    mut stream: OwnedReadHalf,
    log: Arc<Mutex<ProgramLog>>,
    answers: watch::Sender<Answered>,
) {
    while let Ok(record) = read_record(&mut stream).await {
        match record {
            LogRecord::Started(program) => lock(&log).start(program),
            LogRecord::Ended { pid, started_ns, ended_ns, exit_code } => {
                lock(&log).end(pid, started_ns, ended_ns, exit_code);
            }
            LogRecord::Synced(question) => answers.send_modify(|seen| seen.question = question),
            LogRecord::Gone => answers.send_modify(|seen| seen.is_gone = true),
        }
    }
    answers.send_modify(|seen| seen.is_closed = true);
}

async fn read_record(stream: &mut OwnedReadHalf) -> io::Result<LogRecord> {
    let length = stream.read_u32_le().await?;
    let mut body = vec![0_u8; length as usize];
    stream.read_exact(&mut body).await?;
    Ok(serde_json::from_slice(&body)?)
}

/// Raw numbers of descriptors, for sending.
pub(super) fn numbers<const N: usize>(descriptors: [&dyn AsRawFd; N]) -> [RawFd; N] {
    descriptors.map(AsRawFd::as_raw_fd)
}
