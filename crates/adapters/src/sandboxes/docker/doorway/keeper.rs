//! What runs in a container that shares the network of another one: [`keeper_main`] opens the edge there and passes on
//! everything that arrives; the harness is at standard input and output.

use std::{
    collections::BTreeMap,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
};

use engine::ports::sandbox::{Arrival, DatagramReply, Doorway};
use futures_util::FutureExt;
use tokio::{
    io::{AsyncWriteExt, BufReader, BufWriter},
    net::unix::pipe::{Receiver, Sender},
    sync::mpsc,
};

use super::{
    super::frames::{Frame, Kind},
    lines::Lines,
    words::{FRAMES_MAX, Order, Told, protocol},
};
use crate::sandboxes::{
    doorway::{FdDoorway, open},
    supervision::descriptors::raise_descriptor_limit,
};

/// The argument that turns a binary into the keeper of an edge.
pub const KEEPER_ARGUMENT: &str = "__keeper";

/// Arrivals that are told in one frame at most.
const TOLD_AT_ONCE: usize = 512;

/// Questions to resolvers that may still be answered.
const REPLIES_MAX: usize = 4096;

/// Runs until the harness hangs up, and never returns.
///
/// A binary calls this before anything else when its first argument is [`KEEPER_ARGUMENT`].
pub fn keeper_main() -> ! {
    raise_descriptor_limit();
    let kept = (|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(keep())
    })();
    let code = match kept {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            127
        }
    };
    std::process::exit(code)
}

async fn keep() -> io::Result<()> {
    let [input, output] = [io::stdin().as_fd(), io::stdout().as_fd()].map(nonblocking);
    let mut input = BufReader::new(Receiver::from_owned_fd_unchecked(input?)?);
    let output = Sender::from_owned_fd_unchecked(output?)?;
    let (out, frames) = mpsc::channel(FRAMES_MAX);
    let writing = tokio::spawn(write(output, frames));
    let Some(first) = Frame::receive(&mut input).await? else { return Ok(()) };
    let Order::Open { ports, origin_ns } = first.read()? else {
        return Err(io::Error::other("the first order opens the edge"));
    };
    let opened = open(&ports).and_then(|sockets| FdDoorway::new(sockets, origin_ns));
    let doorway = match opened {
        Ok(doorway) => doorway,
        Err(error) => {
            say(&out, vec![Told::Refused(error.to_string())]).await?;
            drop(out);
            return writing.await?;
        }
    };
    say(&out, vec![Told::Opened]).await?;
    let (orders, told) = mpsc::unbounded_channel();
    let keeper = Keeper {
        doorway,
        lines: Lines::new(out.clone()),
        replies: Arc::default(),
        next_id: 1,
        out,
    };
    let (lines, replies) = (Arc::clone(&keeper.lines), Arc::clone(&keeper.replies));
    tokio::select! {
        ended = listen(input, &lines, &replies, orders) => ended,
        ended = keeper.serve(told) => ended,
        ended = writing => ended?,
    }
}

fn nonblocking(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let fd = fd.try_clone_to_owned()?;
    let flags = nix::fcntl::OFlag::O_NONBLOCK;
    nix::fcntl::fcntl(&fd, nix::fcntl::FcntlArg::F_SETFL(flags))?;
    Ok(fd)
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

async fn say(out: &mpsc::Sender<Frame>, told: Vec<Told>) -> io::Result<()> {
    let frame = Frame::document(Kind::Answer, 0, &told)?;
    out.send(frame).await.map_err(io::Error::other)
}

/// Those that can still be answered, by their ids.
type Replies = Mutex<BTreeMap<u64, DatagramReply>>;

/// Takes what the harness says until it hangs up.
async fn listen(
    mut input: BufReader<Receiver>,
    lines: &Lines,
    replies: &Replies,
    orders: mpsc::UnboundedSender<Order>,
) -> io::Result<()> {
    while let Some(frame) = Frame::receive(&mut input).await? {
        match frame.kind {
            Kind::Ask => orders.send(frame.read()?).map_err(io::Error::other)?,
            Kind::Answer => {
                let reply = {
                    let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
                    replies.remove(&frame.id)
                };
                if let Some(reply) = reply {
                    reply(&frame.payload);
                }
            }
            _ => lines.hear(frame),
        }
    }
    Ok(())
}

struct Keeper {
    doorway: FdDoorway,
    lines: Arc<Lines>,
    replies: Arc<Replies>,
    next_id: u64,
    out: mpsc::Sender<Frame>,
}

impl Keeper {
    async fn serve(mut self, mut orders: mpsc::UnboundedReceiver<Order>) -> io::Result<()> {
        loop {
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Settle(number)) => self.settle(number).await?,
                    Some(Order::Open { .. }) => return Err(io::Error::other("it is open already")),
                    None => return Ok(()),
                },
                arrival = self.doorway.next() => {
                    let Some(arrival) = arrival else { return Ok(()) };
                    let mut arrivals = vec![arrival];
                    while arrivals.len() < TOLD_AT_ONCE
                        && let Some(Some(more)) = self.doorway.next().now_or_never()
                    {
                        arrivals.push(more);
                    }
                    self.tell(arrivals).await?;
                }
            }
        }
    }

    async fn settle(&mut self, number: u64) -> io::Result<()> {
        let last = match self.doorway.settle().await {
            Ok(arrivals) => {
                let mut arrivals = arrivals.into_iter();
                loop {
                    let some: Vec<Arrival> = arrivals.by_ref().take(TOLD_AT_ONCE).collect();
                    if some.is_empty() {
                        break Told::Settled(number);
                    }
                    self.tell(some).await?;
                }
            }
            Err(fault) => Told::Broken(fault.to_string()),
        };
        say(&self.out, vec![last]).await
    }

    /// Tells of arrivals, and carries connections only after that.
    async fn tell(&mut self, arrivals: Vec<Arrival>) -> io::Result<()> {
        let mut streams = Vec::new();
        let mut told = Vec::with_capacity(arrivals.len());
        for arrival in arrivals {
            let id = self.next_id;
            self.next_id += 1;
            told.push(match arrival {
                Arrival::Stream(arrived) => {
                    streams.push((id, arrived.stream));
                    Told::Stream { id, at_ms: arrived.at_ms, to: arrived.to }
                }
                Arrival::Datagram(arrived) => {
                    let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
                    replies.insert(id, arrived.reply);
                    if replies.len() > REPLIES_MAX {
                        replies.pop_first();
                    }
                    Told::Datagram {
                        id,
                        at_ms: arrived.at_ms,
                        to: arrived.to,
                        bytes: arrived.bytes,
                    }
                }
                Arrival::Packet(packet) => Told::Packet {
                    at_ms: packet.at_ms,
                    to: packet.to,
                    port: packet.port,
                    protocol: protocol(packet.transport),
                },
                Arrival::Missed(count) => Told::Missed(count),
            });
        }
        say(&self.out, told).await?;
        for (id, stream) in streams {
            // The program's own end shows when it is written to.
            self.lines.carry(id, stream, std::future::pending());
        }
        Ok(())
    }
}
