//! The supervisor's conversation: [`run`] takes the harness's questions to whoever can answer them, and the streams of
//! commands to and fro.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs, io,
    io::Write,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    rc::Rc,
    time::Duration,
};

use nix::sys::socket::{MsgFlags, Shutdown, shutdown};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter, Interest, unix::AsyncFd},
    net::unix::pipe::{Receiver, Sender},
    sync::{mpsc, watch},
    task::{LocalSet, spawn_local},
};

use super::{
    UNWATCHED, WATCHED,
    files::FileQuestion,
    streams::{self, Destination, Mode, pipe_from, pipe_to},
};
use crate::sandboxes::{
    docker::{
        credit::Credit,
        frames::{Answer, BLOCK, Frame, Kind, Question, Stream, WINDOW},
    },
    supervision::{
        channel,
        protocol::{Launch, Reply, Request, realtime_ns},
    },
};

/// When the harness hangs up, the tree gets so long to die.
const DYING: Duration = Duration::from_secs(10);
/// The id of what we ask for ourselves; the harness counts from 1.
const OWN: u64 = 0;

/// What the supervisor has made before.
pub(super) struct Parts {
    /// From the harness.
    pub input: OwnedFd,
    /// To the harness.
    pub output: OwnedFd,
    /// To and from the launcher.
    pub control: OwnedFd,
    /// What pid 1 and the launcher say of their beginning.
    pub began: [fs::File; 2],
    /// The announcers' socket: shutting it down lets pid 1 end.
    pub hang_up: OwnedFd,
    /// Where the process log is asked to catch up.
    pub questions: fs::File,
    /// Where the tree of files is asked about.
    pub files: std::sync::mpsc::Sender<(u64, FileQuestion)>,
    pub out: mpsc::Sender<Frame>,
    pub frames: mpsc::Receiver<Frame>,
}

/// Serves until the harness hangs up or the launcher is gone.
pub(super) fn run(parts: Parts) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve(parts))
}

async fn serve(parts: Parts) -> io::Result<()> {
    let Parts { input, output, control, began, hang_up, questions, files, out, frames } = parts;
    for end in [&input, &output, &control] {
        set_nonblocking(end)?;
    }
    streams::widen(&input);
    streams::widen(&output);
    let input = BufReader::with_capacity(BLOCK, Receiver::from_owned_fd_unchecked(input)?);
    let output = Sender::from_owned_fd_unchecked(output)?;
    let writer = spawn_local(write(output, frames));
    let is_recording = match begin(began).await {
        Ok(is_recording) => is_recording,
        Err(problem) => {
            out.send(Frame::document(Kind::Answer, OWN, &Answer::Failed(problem))?)
                .await
                .map_err(io::Error::other)?;
            drop(out);
            // The process log has a sender of its own, so the writer does not end by itself.
            let _ = tokio::time::timeout(Duration::from_millis(200), writer).await;
            return Ok(shutdown(hang_up.as_raw_fd(), Shutdown::Both)?);
        }
    };
    let ready = Answer::Ready { origin_ns: realtime_ns(), is_recording };
    let interest = Interest::READABLE | Interest::WRITABLE;
    // SAFETY: the socket is owned, moves with its owner, and its number stays the same until it is dropped.
    let control = unsafe { AsyncFd::register_with_interest(control, interest)? };
    let relay = Relay { control, out, questions, files, commands: RefCell::default() };
    relay.answer(OWN, &ready).await?;
    let ended = tokio::select! {
        ended = relay.listen_to_harness(input) => ended,
        ended = relay.listen_to_launcher() => {
            ended?;
            return Err(io::Error::other("the launcher is gone"));
        }
        _ = writer => Err(io::Error::other("the harness does not listen")),
    };
    // Whatever ended the conversation: nothing may go on without a harness.
    relay.send(&Request::KillAll { id: OWN }, &[]).await?;
    let _ = tokio::time::timeout(DYING, relay.listen_to_launcher_until_killed()).await;
    ended
}

/// Whether pid 1 and the launcher are watched; the text says why one of them has not begun.
async fn begin(began: [fs::File; 2]) -> Result<bool, String> {
    let mut are_watched = true;
    for file in began {
        let told = async {
            let mut told = Vec::new();
            let mut pipe = Receiver::from_owned_fd(OwnedFd::from(file))?;
            pipe.read_to_end(&mut told).await?;
            Ok::<_, io::Error>(told)
        };
        let told = told.await.map_err(|error| error.to_string())?;
        if told.as_slice() == UNWATCHED {
            are_watched = false;
        } else if told.as_slice() != WATCHED {
            let problem =
                told.get(1..).filter(|_| told.starts_with(WATCHED) || told.starts_with(UNWATCHED));
            return Err(String::from_utf8_lossy(problem.unwrap_or(&told)).into_owned());
        }
    }
    Ok(are_watched)
}

async fn write(output: Sender, mut frames: mpsc::Receiver<Frame>) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    while let Some(frame) = frames.recv().await {
        frame.send(&mut output).await?;
        // Together what has come together.
        if frames.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    let flags = nix::fcntl::OFlag::O_NONBLOCK;
    nix::fcntl::fcntl(fd, nix::fcntl::FcntlArg::F_SETFL(flags))?;
    Ok(())
}

struct Relay {
    control: AsyncFd<OwnedFd>,
    out: mpsc::Sender<Frame>,
    questions: fs::File,
    files: std::sync::mpsc::Sender<(u64, FileQuestion)>,
    /// Commands and placements whose streams are open.
    commands: RefCell<HashMap<u64, Running>>,
}

struct Running {
    /// Dropped when the input has ended.
    stdin: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// Standard output and error.
    outputs: Vec<Output>,
    has_ended: bool,
}

struct Output {
    credit: Rc<Credit>,
    mode: watch::Sender<Mode>,
}

impl Relay {
    async fn answer(&self, id: u64, answer: &Answer) -> io::Result<()> {
        let frame = Frame::document(Kind::Answer, id, answer)?;
        self.out.send(frame).await.map_err(io::Error::other)
    }

    async fn send(&self, request: &Request, descriptors: &[i32]) -> io::Result<()> {
        let sent = self.control.async_io(Interest::WRITABLE, |socket| {
            channel::send(socket.as_fd(), request, descriptors)
        });
        sent.await
    }

    async fn listen_to_harness(&self, mut input: BufReader<Receiver>) -> io::Result<()> {
        while let Some(frame) = Frame::receive(&mut input).await? {
            match frame.kind {
                Kind::Ask => self.ask(frame.id, frame.read()?).await?,
                Kind::Ping => self.out.send(frame).await.map_err(io::Error::other)?,
                _ => self.stream(frame),
            }
        }
        Ok(())
    }

    /// What is said about a stream; one that is gone needs nothing any more.
    fn stream(&self, frame: Frame) {
        let mut commands = self.commands.borrow_mut();
        let Some(running) = commands.get_mut(&frame.id) else { return };
        let output = match frame.stream {
            Stream::Stdin => None,
            Stream::Stdout => running.outputs.first(),
            Stream::Stderr => running.outputs.get(1),
        };
        match (frame.kind, output) {
            (Kind::Bytes, None) => {
                if let Some(stdin) = &running.stdin {
                    // A command that does not read any more has been told to the harness.
                    let _ = stdin.send(frame.payload);
                }
            }
            (Kind::End, None) => running.stdin = None,
            (Kind::Credit, Some(output)) => output.credit.grant(frame.granted()),
            (Kind::Close, Some(output)) => drop(output.mode.send_replace(Mode::Closed)),
            (Kind::Discard, Some(output)) => drop(output.mode.send_replace(Mode::Discard)),
            _ => {}
        }
    }

    async fn ask(&self, id: u64, question: Question) -> io::Result<()> {
        match question {
            Question::Exec(launch) => match self.exec(id, &launch).await {
                Ok(()) => Ok(()),
                Err(error) => self.answer(id, &Answer::Failed(error.to_string())).await,
            },
            Question::Put => match self.put(id).await {
                Ok(()) => Ok(()),
                Err(error) => self.answer(id, &Answer::Failed(error.to_string())).await,
            },
            Question::Kill(pid) => self.send(&Request::Kill { id, pid }, &[]).await,
            Question::Stop => self.send(&Request::Stop { id }, &[]).await,
            Question::Continue => self.send(&Request::Continue { id }, &[]).await,
            Question::Count => self.send(&Request::Count { id }, &[]).await,
            Question::KillAll => self.send(&Request::KillAll { id }, &[]).await,
            Question::Sync => (&self.questions).write_all(&id.to_le_bytes()),
            Question::Read(path) => self.look(id, FileQuestion::Read(path)),
            Question::Look(paths) => self.look(id, FileQuestion::Look(paths)),
            Question::Walk(path) => self.look(id, FileQuestion::Walk(path)),
            Question::List(paths) => self.look(id, FileQuestion::List(paths)),
            Question::Carry(paths) => self.look(id, FileQuestion::Carry(paths)),
        }
    }

    fn look(&self, id: u64, question: FileQuestion) -> io::Result<()> {
        self.files.send((id, question)).map_err(io::Error::other)
    }

    async fn exec(&self, id: u64, launch: &Launch) -> io::Result<()> {
        let (stdin, stdin_there) = pipe_to()?;
        let (stdout, stdout_there) = pipe_from()?;
        let (stderr, stderr_there) = pipe_from()?;
        let payload = channel::memory_file(launch, &[])?;
        let descriptors = [
            payload.as_raw_fd(),
            stdin_there.as_raw_fd(),
            stdout_there.as_raw_fd(),
            stderr_there.as_raw_fd(),
        ];
        self.send(&Request::Exec { id }, &descriptors).await?;
        let stdin = self.input(id, stdin);
        let outputs = [(stdout, Stream::Stdout), (stderr, Stream::Stderr)]
            .map(|(pipe, stream)| self.output(id, pipe, stream));
        let running = Running { stdin: Some(stdin), outputs: outputs.into(), has_ended: false };
        self.commands.borrow_mut().insert(id, running);
        Ok(())
    }

    async fn put(&self, id: u64) -> io::Result<()> {
        let (content, content_there) = pipe_to()?;
        streams::widen(&content_there);
        self.send(&Request::Put { id }, &[content_there.as_raw_fd()]).await?;
        let stdin = Some(self.input(id, content));
        let running = Running { stdin, outputs: Vec::new(), has_ended: false };
        self.commands.borrow_mut().insert(id, running);
        Ok(())
    }

    fn input(&self, id: u64, pipe: Sender) -> mpsc::UnboundedSender<Vec<u8>> {
        let (sender, blocks) = mpsc::unbounded_channel();
        spawn_local(streams::receive(pipe, id, blocks, self.out.clone()));
        sender
    }

    fn output(&self, id: u64, pipe: Receiver, stream: Stream) -> Output {
        let credit = Rc::new(Credit::new(WINDOW));
        let (mode, changes) = watch::channel(Mode::Open);
        let out = self.out.clone();
        let to = Destination { id, stream, credit: Rc::clone(&credit), mode: changes, out };
        spawn_local(streams::send(pipe, to));
        Output { credit, mode }
    }

    async fn listen_to_launcher(&self) -> io::Result<()> {
        while let Some(reply) = self.reply().await? {
            self.pass_on(reply).await?;
            self.forget_finished();
        }
        Ok(())
    }

    async fn listen_to_launcher_until_killed(&self) -> io::Result<()> {
        loop {
            match self.reply().await? {
                None | Some(Reply::Done { id: OWN, .. } | Reply::Failed { id: OWN, .. }) => {
                    return Ok(());
                }
                Some(_) => {}
            }
        }
    }

    async fn reply(&self) -> io::Result<Option<Reply>> {
        let received = self.control.async_io(Interest::READABLE, |socket| {
            channel::receive::<Reply>(socket.as_fd(), MsgFlags::MSG_DONTWAIT)
        });
        Ok(received.await?.map(|received| received.message))
    }

    async fn pass_on(&self, reply: Reply) -> io::Result<()> {
        match reply {
            // The launcher's own greeting; the harness is greeted once pid 1 has begun, too.
            Reply::Ready { .. } | Reply::Refused(_) | Reply::Doorway { .. } => Ok(()),
            Reply::Started { id, pid } => self.answer(id, &Answer::Started(pid)).await,
            Reply::Failed { id, reason } => {
                self.commands.borrow_mut().remove(&id);
                self.answer(id, &Answer::Failed(reason)).await
            }
            Reply::Done { id, count } => {
                self.commands.borrow_mut().remove(&id);
                self.answer(id, &Answer::Done(count)).await
            }
            Reply::Ended { id, status } => {
                if let Some(running) = self.commands.borrow_mut().get_mut(&id) {
                    running.has_ended = true;
                    for output in &running.outputs {
                        output.mode.send_if_modified(|mode| {
                            let is_open = *mode == Mode::Open;
                            if is_open {
                                *mode = Mode::Ended;
                            }
                            is_open
                        });
                    }
                }
                self.answer(id, &Answer::Ended(status)).await
            }
        }
    }

    /// Commands that have ended and whose outputs nobody sends any more.
    fn forget_finished(&self) {
        self.commands.borrow_mut().retain(|_, running| {
            let is_sent = running.outputs.iter().all(|output| output.mode.is_closed());
            !(running.has_ended && is_sent)
        });
    }
}
