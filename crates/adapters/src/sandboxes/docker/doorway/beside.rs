//! The harness's end of an edge that a container beside the sandbox's keeps: [`BesideDoorway`].

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bollard::models::{ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig};
use engine::ports::sandbox::{
    Arrival, ArrivedDatagram, ArrivedPacket, ArrivedStream, Doorway, SandboxFault,
};
use tokio::{
    io::{
        AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, DuplexStream, ReadBuf, duplex,
    },
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::timeout,
};

use super::{
    super::{
        container::{Container, Running, SandboxLabels},
        engine::{LABEL_ATTEMPT, LABEL_RUN, LABEL_SERVICE, LABEL_SESSION},
        frames::{Frame, Kind, Stream},
        host::Maker,
        volume::EMPTY_IMAGE,
    },
    KEEPER_ARGUMENT,
    lines::Lines,
    words::{FRAMES_MAX, Order, Told, transport},
};

/// A keeper that has not answered by then does not.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// What the keeper needs to open an edge, and nothing else of what the engine gives.
const CAPABILITIES: [&str; 3] = ["NET_ADMIN", "NET_BIND_SERVICE", "NET_RAW"];

/// Its processes and its memory: it is one, and holds what is on its way.
const PROCESSES_MAX: i64 = 16;
const MEMORY_BYTES: i64 = 512 << 20;

/// Bytes of one direction of a connection that wait to be carried here.
const IN_FLIGHT: usize = 64 << 10;

/// What the engine's labels call the keeper's container.
const SERVICE: &str = "edge";

impl Maker {
    /// Opens the edge of a container by another one that shares its network.
    ///
    /// # Errors
    /// [`SandboxFault::Unsupported`] if the engine does not let it.
    pub(super) async fn open_beside(
        &self,
        container: &Container,
        labels: &SandboxLabels,
        ports: &[u16],
    ) -> Result<BesideDoorway, SandboxFault> {
        let body = self.keeper_body(&container.id, labels).await?;
        let refused = |fault: SandboxFault| match fault {
            SandboxFault::Lost(why) => SandboxFault::Unsupported(format!(
                "the engine refuses a container with {} in the network of another one: {why}",
                CAPABILITIES.join(" and ")
            )),
            other => other,
        };
        let running = Running::start(self.engine(), self.remover(), body).await.map_err(refused)?;
        let order = Order::Open { ports: ports.to_vec(), origin_ns: container.link.origin_ns() };
        BesideDoorway::open(running, &order).await
    }

    async fn keeper_body(
        &self,
        main: &str,
        labels: &SandboxLabels,
    ) -> Result<ContainerCreateBody, SandboxFault> {
        let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
        // The kernel's settings of the network are read-only in containers, for each engine by means of its own.
        let opened = if self.is_podman() {
            words(&["unmask=ALL", "apparmor=unconfined"])
        } else {
            words(&["apparmor=unconfined"])
        };
        Ok(ContainerCreateBody {
            image: Some(EMPTY_IMAGE.to_owned()),
            entrypoint: Some(self.entrypoint(KEEPER_ARGUMENT)),
            cmd: Some(Vec::new()),
            user: Some("0".to_owned()),
            open_stdin: Some(true),
            stdin_once: Some(true),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            healthcheck: Some(HealthConfig {
                test: Some(vec!["NONE".to_owned()]),
                ..Default::default()
            }),
            labels: Some(self.engine().labels([
                (LABEL_RUN, labels.run.as_str()),
                (LABEL_SESSION, labels.session.as_str()),
                (LABEL_ATTEMPT, labels.attempt.as_str()),
                (LABEL_SERVICE, SERVICE),
            ])),
            host_config: Some(HostConfig {
                binds: Some(vec![self.bind().await?]),
                network_mode: Some(format!("container:{main}")),
                cap_drop: words(&["ALL"]),
                cap_add: words(&CAPABILITIES),
                security_opt: opened,
                masked_paths: Some(Vec::new()),
                readonly_paths: Some(Vec::new()),
                memory: Some(MEMORY_BYTES),
                memory_swap: Some(MEMORY_BYTES),
                pids_limit: Some(PROCESSES_MAX),
                log_config: Some(HostConfigLogConfig {
                    typ: Some("none".to_owned()),
                    ..Default::default()
                }),
                init: Some(false),
                ..Default::default()
            }),
            ..Default::default()
        })
    }
}

/// An edge whose sockets are in a container beside the sandbox's.
pub(super) struct BesideDoorway {
    told: mpsc::Receiver<Heard>,
    waiting: VecDeque<Arrival>,
    out: mpsc::Sender<Frame>,
    settled: u64,
    tasks: [AbortHandle; 2],
    /// Taken away with this.
    running: Running,
}

/// What has come, in its order.
enum Heard {
    Opened,
    Refused(String),
    Arrived(Arrival),
    Settled(u64),
    Broken(String),
}

impl BesideDoorway {
    /// Orders the edge, and waits until it stands.
    async fn open(mut running: Running, order: &Order) -> Result<Self, SandboxFault> {
        let lost = |error: io::Error| SandboxFault::Lost(format!("doorway: {error}"));
        let order = Frame::document(Kind::Ask, 0, order).map_err(lost)?;
        let (out, frames) = mpsc::channel(FRAMES_MAX);
        let (hear, told) = mpsc::channel(FRAMES_MAX);
        let lines = Lines::new(out.clone());
        let gone = || SandboxFault::Lost("somebody else speaks with the keeper".into());
        let (reader, writer) = running.take_streams().ok_or_else(gone)?;
        let writing = tokio::spawn(write(writer, frames, Arc::clone(&lines)));
        let reading = tokio::spawn(read(reader, lines, out.clone(), hear));
        let tasks = [writing.abort_handle(), reading.abort_handle()];
        let waiting = VecDeque::new();
        let mut doorway = Self { told, waiting, out, settled: 0, tasks, running };
        // A keeper that is gone already shows below.
        let _ = doorway.out.send(order).await;
        match timeout(ANSWER_TIMEOUT, doorway.told.recv()).await {
            Ok(Some(Heard::Opened)) => Ok(doorway),
            Ok(Some(Heard::Refused(why))) => Err(SandboxFault::Unsupported(format!(
                "the edge of the container's network cannot be opened from beside it: {why}"
            ))),
            Ok(_) => {
                let ended = SandboxFault::Lost("the keeper of the edge has ended".into());
                Err(doorway.running.explain(ended).await)
            }
            Err(_) => Err(SandboxFault::TimedOut("the keeper of the edge does not answer".into())),
        }
    }
}

impl Drop for BesideDoorway {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

#[async_trait::async_trait]
impl Doorway for BesideDoorway {
    async fn next(&mut self) -> Option<Arrival> {
        loop {
            if let Some(arrival) = self.waiting.pop_front() {
                return Some(arrival);
            }
            match self.told.recv().await? {
                Heard::Arrived(arrival) => return Some(arrival),
                // Of a settling that nobody waited for; `settle` asks anew.
                Heard::Opened | Heard::Refused(_) | Heard::Settled(_) | Heard::Broken(_) => {}
            }
        }
    }

    async fn settle(&mut self) -> Result<Vec<Arrival>, SandboxFault> {
        let lost = |why: &str| SandboxFault::Lost(format!("doorway: {why}"));
        self.settled += 1;
        let order = Frame::document(Kind::Ask, 0, &Order::Settle(self.settled));
        let order = order.map_err(|error| lost(&error.to_string()))?;
        let gone = || lost("the keeper of the edge is gone");
        self.out.send(order).await.map_err(|_| gone())?;
        let settled = async {
            loop {
                match self.told.recv().await.ok_or_else(gone)? {
                    // Kept here, so that nothing is lost if the wait is given up.
                    Heard::Arrived(arrival) => self.waiting.push_back(arrival),
                    Heard::Settled(number) if number == self.settled => return Ok(()),
                    Heard::Broken(why) => return Err(lost(&why)),
                    Heard::Opened | Heard::Refused(_) | Heard::Settled(_) => {}
                }
            }
        };
        let late = || SandboxFault::TimedOut("the keeper of the edge does not answer".into());
        timeout(ANSWER_TIMEOUT, settled).await.map_err(|_| late())??;
        Ok(self.waiting.drain(..).collect())
    }
}

async fn write(
    writer: impl AsyncWrite + Send + Unpin,
    mut frames: mpsc::Receiver<Frame>,
    lines: Arc<Lines>,
) {
    let mut writer = BufWriter::new(writer);
    let written = async {
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
        lines.lose();
    }
}

async fn read(
    reader: impl AsyncRead + Send + Unpin,
    lines: Arc<Lines>,
    out: mpsc::Sender<Frame>,
    hear: mpsc::Sender<Heard>,
) {
    let mut reader = BufReader::new(reader);
    let heard = async {
        while let Some(frame) = Frame::receive(&mut reader).await? {
            if frame.kind != Kind::Answer {
                lines.hear(frame);
                continue;
            }
            for told in frame.read::<Vec<Told>>()? {
                let sent = hear.send(heard(told, &lines, &out)).await;
                sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
        }
        Ok::<_, io::Error>(())
    };
    // Whoever waits sees the end of what is told.
    let _ = heard.await;
    lines.lose();
}

fn heard(told: Told, lines: &Arc<Lines>, out: &mpsc::Sender<Frame>) -> Heard {
    Heard::Arrived(match told {
        Told::Opened => return Heard::Opened,
        Told::Refused(why) => return Heard::Refused(why),
        Told::Settled(number) => return Heard::Settled(number),
        Told::Broken(why) => return Heard::Broken(why),
        Told::Stream { id, at_ms, to } => {
            let (here, there) = duplex(IN_FLIGHT);
            let (held, left) = oneshot::channel::<()>();
            // It is never sent: that it is dropped says it.
            lines.carry(id, there, async move { drop(left.await) });
            let stream = Box::new(HeldStream { inner: here, _held: held });
            Arrival::Stream(ArrivedStream { at_ms, to, stream })
        }
        Told::Datagram { id, at_ms, to, bytes } => {
            let out = out.clone();
            let reply = move |bytes: &[u8]| {
                let mut frame = Frame::about(Kind::Answer, Stream::Stdin, id);
                frame.payload = bytes.to_vec();
                if let Err(mpsc::error::TrySendError::Full(frame)) = out.try_send(frame) {
                    let out = out.clone();
                    tokio::spawn(async move { out.send(frame).await });
                }
            };
            Arrival::Datagram(ArrivedDatagram { at_ms, to, bytes, reply: Box::new(reply) })
        }
        Told::Packet { at_ms, to, port, protocol } => {
            Arrival::Packet(ArrivedPacket { at_ms, to, port, transport: transport(protocol) })
        }
        Told::Missed(count) => Arrival::Missed(count),
    })
}

/// A connection of the sandbox; whoever drops it takes no more of its bytes.
struct HeldStream {
    inner: DuplexStream,
    _held: oneshot::Sender<()>,
}

impl AsyncRead for HeldStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for HeldStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
