//! The conversation with the program in a container: [`Connection`] sends questions, routes what comes back to whoever
//! waits for it, and collects the process log.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use engine::ports::sandbox::SandboxFault;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter},
    sync::{
        mpsc::{self, UnboundedReceiver, UnboundedSender},
        oneshot,
    },
    task::AbortHandle,
    time::timeout,
};

use super::{
    super::{
        credit::Credit,
        frames::{Answer, BLOCK, Frame, Kind, Question, Stream, WINDOW},
    },
    streams::{Incoming, Outgoing, Piece},
};
use crate::sandboxes::supervision::{program_log::ProgramLog, protocol::LogRecord};

/// How often the program inside is asked for a sign of life.
const BEAT: Duration = Duration::from_secs(4);
/// One that is silent for so many of them is gone. Many, for a container can be very busy.
const SILENT_BEATS_MAX: u32 = 6;

/// Bytes that are written together: each write is passed on by the engine and by what it runs the container with.
const TOGETHER: usize = 4 * BLOCK;

/// A conversation; dropping it closes both streams.
#[derive(Debug)]
pub(super) struct Connection {
    shared: Arc<Shared>,
    out: UnboundedSender<Frame>,
    next_id: AtomicU64,
    tasks: [AbortHandle; 3],
}

/// What the reading task and those who wait have in common.
#[derive(Debug, Default)]
struct Shared {
    /// Something has come since the last look.
    is_alive: AtomicBool,
    waiting: Mutex<Waiting>,
    log: Mutex<ProgramLog>,
}

#[derive(Debug, Default)]
struct Waiting {
    by_id: HashMap<u64, Waiter>,
    is_lost: bool,
}

/// Whoever waits for something with an id; what is dropped here says to them that nothing will come.
#[derive(Debug, Default)]
struct Waiter {
    answer: Option<oneshot::Sender<Answer>>,
    ended: Option<oneshot::Sender<i32>>,
    stdin: Option<Granting>,
    stdout: Option<UnboundedSender<Piece>>,
    stderr: Option<UnboundedSender<Piece>>,
}

impl Waiter {
    fn is_done(&self) -> bool {
        self.answer.is_none()
            && self.ended.is_none()
            && self.stdout.is_none()
            && self.stderr.is_none()
    }
}

/// Whoever writes is told when nobody will grant any more.
#[derive(Debug)]
struct Granting(Arc<Credit>);

impl Drop for Granting {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A question that was asked.
pub(super) struct Asked {
    pub id: u64,
    answer: oneshot::Receiver<Answer>,
}

/// The streams of a question.
pub(super) struct Streams {
    pub ended: oneshot::Receiver<i32>,
    pub stdin: Outgoing,
    pub stdout: Incoming,
    pub stderr: Incoming,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock still guards whole values: every critical section only inserts, removes or takes.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn gone() -> SandboxFault {
    SandboxFault::Lost("the program in the container is gone".into())
}

impl Connection {
    /// A conversation over two streams; the first answer has the id 0.
    pub(super) fn over(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        greeting: Vec<u8>,
    ) -> (Self, Asked) {
        let shared = Arc::<Shared>::default();
        let (out, frames) = mpsc::unbounded_channel();
        let (sender, answer) = oneshot::channel();
        let waiter = Waiter { answer: Some(sender), ..Waiter::default() };
        lock(&shared.waiting).by_id.insert(0, waiter);
        let writing = tokio::spawn(write(writer, greeting, frames, Arc::clone(&shared)));
        let reading = tokio::spawn(read(reader, Arc::clone(&shared)));
        let listening = tokio::spawn(listen_for_life(out.clone(), Arc::clone(&shared)));
        let tasks = [&writing, &reading, &listening].map(|task| task.abort_handle());
        (Self { shared, out, next_id: AtomicU64::new(1), tasks }, Asked { id: 0, answer })
    }

    /// The programs that were started.
    pub(super) fn log(&self) -> MutexGuard<'_, ProgramLog> {
        lock(&self.shared.log)
    }

    /// Whether nobody is at the other end any more.
    pub(super) fn is_lost(&self) -> bool {
        lock(&self.shared.waiting).is_lost
    }

    fn register(&self, waiter: Waiter, question: &Question) -> Result<u64, SandboxFault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        {
            let mut waiting = lock(&self.shared.waiting);
            if waiting.is_lost {
                return Err(gone());
            }
            waiting.by_id.insert(id, waiter);
        }
        let frame = Frame::document(Kind::Ask, id, question)
            .map_err(|error| SandboxFault::Lost(error.to_string()))?;
        self.out.send(frame).map_err(|_| gone())?;
        Ok(id)
    }

    /// Asks a question that has no streams.
    pub(super) fn ask(&self, question: &Question) -> Result<Asked, SandboxFault> {
        let (sender, answer) = oneshot::channel();
        let waiter = Waiter { answer: Some(sender), ..Waiter::default() };
        Ok(Asked { id: self.register(waiter, question)?, answer })
    }

    /// Asks a question whose answer comes after content.
    pub(super) fn ask_for_content(
        &self,
        question: &Question,
    ) -> Result<(Asked, UnboundedReceiver<Piece>), SandboxFault> {
        let (sender, answer) = oneshot::channel();
        let (content, pieces) = mpsc::unbounded_channel();
        let waiter = Waiter { answer: Some(sender), stdout: Some(content), ..Waiter::default() };
        Ok((Asked { id: self.register(waiter, question)?, answer }, pieces))
    }

    /// Asks a question to which content is sent.
    pub(super) fn ask_with_content(
        &self,
        question: &Question,
    ) -> Result<(Asked, Outgoing), SandboxFault> {
        let (sender, answer) = oneshot::channel();
        let credit = Arc::new(Credit::new(WINDOW));
        let stdin = Some(Granting(Arc::clone(&credit)));
        let waiter = Waiter { answer: Some(sender), stdin, ..Waiter::default() };
        let id = self.register(waiter, question)?;
        Ok((Asked { id, answer }, Outgoing::new(id, credit, self.out.clone())))
    }

    /// Asks for a command.
    pub(super) fn ask_for_command(
        &self,
        question: &Question,
    ) -> Result<(Asked, Streams), SandboxFault> {
        let (sender, answer) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let (stdout, stdout_pieces) = mpsc::unbounded_channel();
        let (stderr, stderr_pieces) = mpsc::unbounded_channel();
        let credit = Arc::new(Credit::new(WINDOW));
        let waiter = Waiter {
            answer: Some(sender),
            ended: Some(end),
            stdin: Some(Granting(Arc::clone(&credit))),
            stdout: Some(stdout),
            stderr: Some(stderr),
        };
        let id = self.register(waiter, question)?;
        let output = |stream, pieces| Incoming::new(id, stream, pieces, self.out.clone());
        let streams = Streams {
            ended,
            stdin: Outgoing::new(id, credit, self.out.clone()),
            stdout: output(Stream::Stdout, stdout_pieces),
            stderr: output(Stream::Stderr, stderr_pieces),
        };
        Ok((Asked { id, answer }, streams))
    }

    /// Waits for an answer.
    pub(super) async fn answer(
        &self,
        asked: Asked,
        within: Duration,
    ) -> Result<Answer, SandboxFault> {
        match timeout(within, asked.answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(gone()),
            Err(_) => {
                self.forget(asked.id);
                Err(SandboxFault::TimedOut("the program in the container does not answer".into()))
            }
        }
    }

    /// Nobody waits for this id any more.
    pub(super) fn forget(&self, id: u64) {
        lock(&self.shared.waiting).by_id.remove(&id);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.shared.lose();
    }
}

async fn write(
    writer: impl AsyncWrite + Send + Unpin,
    greeting: Vec<u8>,
    mut frames: UnboundedReceiver<Frame>,
    shared: Arc<Shared>,
) {
    let mut writer = BufWriter::with_capacity(TOGETHER, writer);
    let written = async {
        writer.write_all(&greeting).await?;
        writer.flush().await?;
        while let Some(frame) = frames.recv().await {
            frame.send(&mut writer).await?;
            // Together what has come together.
            if frames.is_empty() {
                writer.flush().await?;
            }
        }
        Ok::<_, io::Error>(())
    };
    if written.await.is_err() {
        shared.lose();
    }
}

async fn read(reader: impl AsyncRead + Send + Unpin, shared: Arc<Shared>) {
    let mut reader = BufReader::new(reader);
    while let Ok(Some(frame)) = Frame::receive(&mut reader).await {
        shared.is_alive.store(true, Ordering::Relaxed);
        if frame.kind == Kind::Gone || shared.take(frame).is_err() {
            break;
        }
    }
    shared.lose();
}

/// An engine does not tell when both ends of the program's streams inside have been closed by a kill.
async fn listen_for_life(out: UnboundedSender<Frame>, shared: Arc<Shared>) {
    let mut silent_beats = 0;
    while silent_beats < SILENT_BEATS_MAX {
        tokio::time::sleep(BEAT).await;
        silent_beats += 1;
        if shared.is_alive.swap(false, Ordering::Relaxed) {
            silent_beats = 0;
        }
        if out.send(Frame::about(Kind::Ping, Stream::Stdin, 0)).is_err() {
            break;
        }
    }
    shared.lose();
}

impl Shared {
    /// Nothing will come any more: everybody who waits is told.
    fn lose(&self) {
        lock(&self.log).lose();
        let mut waiting = lock(&self.waiting);
        waiting.is_lost = true;
        waiting.by_id.clear();
    }

    fn take(&self, frame: Frame) -> io::Result<()> {
        if frame.kind == Kind::Log {
            let mut log = lock(&self.log);
            match frame.read()? {
                LogRecord::Started(program) => log.start(program),
                LogRecord::Ended { pid, started_ns, ended_ns, exit_code } => {
                    log.end(pid, started_ns, ended_ns, exit_code);
                }
                LogRecord::Synced(_) | LogRecord::Gone => {}
            }
            return Ok(());
        }
        let mut waiting = lock(&self.waiting);
        // Whoever asked may have gone away: then nobody wants what comes.
        let Some(waiter) = waiting.by_id.get_mut(&frame.id) else { return Ok(()) };
        let id = frame.id;
        waiter.take(frame)?;
        if waiter.is_done() {
            waiting.by_id.remove(&id);
        }
        Ok(())
    }
}

impl Waiter {
    fn take(&mut self, frame: Frame) -> io::Result<()> {
        match frame.kind {
            Kind::Answer => self.hear(frame.read()?),
            Kind::Credit => {
                if let Some(Granting(credit)) = &self.stdin {
                    credit.grant(frame.granted());
                }
            }
            Kind::Close => self.stdin = None,
            Kind::Bytes => self.pass(frame.stream, Piece::Bytes(frame.payload)),
            Kind::Drained => self.pass(frame.stream, Piece::Drained),
            Kind::End => match frame.stream {
                Stream::Stdout => self.stdout = None,
                Stream::Stderr => self.stderr = None,
                Stream::Stdin => {}
            },
            Kind::Ask | Kind::Discard | Kind::Log | Kind::Ping | Kind::Gone => {}
        }
        Ok(())
    }

    fn hear(&mut self, answer: Answer) {
        if let Answer::Ended(status) = answer {
            if let Some(sender) = self.ended.take() {
                let _ = sender.send(status);
            }
            return;
        }
        if !matches!(answer, Answer::Started(_)) {
            // The last word: nothing else will come.
            self.ended = None;
            self.stdout = None;
            self.stderr = None;
        }
        if let Some(sender) = self.answer.take() {
            let _ = sender.send(answer);
        }
    }

    fn pass(&mut self, stream: Stream, piece: Piece) {
        let sender = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
            Stream::Stdin => return,
        };
        if sender.as_ref().is_some_and(|sender| sender.send(piece).is_err()) {
            // Its reader is gone, and has said so.
            *sender = None;
        }
    }
}
