//! The harness's end of a namespace's edge, held by descriptors: [`FdDoorway`].

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    future::poll_fn,
    io::{self, IoSlice, IoSliceMut},
    net::{IpAddr, SocketAddr},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::{Duration, Instant},
};

use domain::evidence::NetTransport;
use engine::ports::sandbox::{
    Arrival, ArrivedDatagram, ArrivedPacket, ArrivedStream, Doorway, SandboxFault,
};
use nix::{
    errno::Errno,
    sys::socket::{
        ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage,
        accept4, getpeername, getsockname, getsockopt, recvmsg, sendmsg, setsockopt, sockopt,
    },
};
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    opening::RESOLVER_PORT,
    packets::{self, LOOKED_AT},
};
use crate::sandboxes::supervision::protocol::realtime_ns;

/// Longest question to a resolver that is read.
const DATAGRAM_MAX: usize = 4096;

/// Packets that wait to be looked at, in bytes of the kernel's memory.
const PACKETS_MAX: usize = 16 << 20;

/// Packets that are looked at in one go, so that a sandbox that floods its edge neither holds up the others nor fills the
/// memory: what is not looked at waits in the kernel, and what has no room there is counted as missed.
const PACKETS_AT_ONCE: usize = 4_096;

/// Arrivals that one settling tells at the most: more than a turn keeps.
const SETTLED_MAX: usize = 250_000;

/// A beginning whose connection was not accepted by then is none.
const UNACCEPTED: Duration = Duration::from_secs(1);

/// An edge whose sockets are here while their network is the sandbox's.
pub(crate) struct FdDoorway {
    origin_ns: i64,
    packets: AsyncFd<OwnedFd>,
    /// Behind it, so that what is dropped first is never the last of it.
    _closing: Closing,
    datagrams: Vec<Arc<AsyncFd<OwnedFd>>>,
    listeners: Vec<AsyncFd<OwnedFd>>,
    ports: BTreeSet<u16>,
    begun: HashMap<Begun, (i64, Instant)>,
    /// Answers of ours that are on their way past the packet socket.
    answers: Arc<Mutex<HashMap<(IpAddr, u16), u32>>>,
    waiting: VecDeque<Arrival>,
    /// Packets were left for the next time.
    has_more: bool,
}

/// The last descriptor of a packet socket. The kernel waits for its own readers before it lets such a socket go, which
/// takes longer than anything that runs beside sessions may.
struct Closing(Option<OwnedFd>);

impl Drop for Closing {
    fn drop(&mut self) {
        let socket = self.0.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(socket));
        }
    }
}

/// A connection's beginning: where to, and from which port.
type Begun = (IpAddr, u16, u16);

impl FdDoorway {
    /// The edge that was opened with these sockets; times count from the origin.
    pub(crate) fn new(sockets: Vec<OwnedFd>, origin_ns: i64) -> io::Result<Self> {
        let mut sockets = sockets.into_iter();
        let packets = sockets.next().ok_or(io::ErrorKind::InvalidInput)?;
        // Only root may have more than the host's default.
        let _ = setsockopt(&packets, sockopt::RcvBufForce, &PACKETS_MAX)
            .or_else(|_| setsockopt(&packets, sockopt::RcvBuf, &PACKETS_MAX));
        let (mut datagrams, mut listeners) = (Vec::new(), Vec::new());
        let mut ports = BTreeSet::new();
        for socket in sockets {
            match getsockopt(&socket, sockopt::SockType)? {
                SockType::Datagram => datagrams.push(Arc::new(registered(socket)?)),
                _ => {
                    ports.insert(local(&socket)?.port());
                    listeners.push(registered(socket)?);
                }
            }
        }
        Ok(Self {
            origin_ns,
            _closing: Closing(Some(packets.try_clone()?)),
            packets: registered(packets)?,
            datagrams,
            listeners,
            ports,
            begun: HashMap::new(),
            answers: Arc::default(),
            waiting: VecDeque::new(),
            has_more: false,
        })
    }

    /// Waits until any of the sockets has something.
    async fn readable(&mut self) {
        poll_fn(|context| {
            let mut is_ready = false;
            let datagrams = self.datagrams.iter().map(Arc::as_ref);
            for socket in [&self.packets].into_iter().chain(datagrams).chain(&self.listeners) {
                match socket.poll_read_ready(context) {
                    Poll::Ready(Ok(mut guard)) => {
                        // Everything is read after this, so what comes from now on wakes again.
                        guard.clear_ready();
                        is_ready = true;
                    }
                    // Only a runtime that ends breaks the wait.
                    Poll::Ready(Err(_)) | Poll::Pending => {}
                }
            }
            if is_ready { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Takes in everything that has arrived.
    fn pump(&mut self) -> io::Result<()> {
        self.read_packets()?;
        for at in 0..self.datagrams.len() {
            let socket = Arc::clone(&self.datagrams[at]);
            while let Some(datagram) = self.read_datagram(&socket)? {
                self.waiting.push_back(Arrival::Datagram(datagram));
            }
        }
        for at in 0..self.listeners.len() {
            while let Some(stream) = accepted(self.listeners[at].get_ref())? {
                self.accept(stream)?;
            }
        }
        Ok(())
    }

    fn at_ms(&self, ns: i64) -> i64 {
        (ns - self.origin_ns).div_euclid(1_000_000)
    }

    fn read_packets(&mut self) -> io::Result<()> {
        let mut buffer = [0_u8; LOOKED_AT];
        self.has_more = true;
        for _ in 0..PACKETS_AT_ONCE {
            let mut control = nix::cmsg_space!(libc::timespec);
            let mut parts = [IoSliceMut::new(&mut buffer)];
            let fd = self.packets.as_raw_fd();
            let received =
                recvmsg::<()>(fd, &mut parts, Some(&mut control), MsgFlags::MSG_DONTWAIT);
            let (length, sent_ns) = match received {
                Ok(message) => (message.bytes, stamp(message.cmsgs()?)),
                Err(Errno::EAGAIN) => {
                    self.has_more = false;
                    break;
                }
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(packet) = packets::read(&buffer[..length]) else { continue };
            let at_ms = self.at_ms(sent_ns);
            let packets::Packet { to, port, from_port, transport } = packet;
            match transport {
                NetTransport::Tcp if self.ports.contains(&port) => {
                    self.begun.insert((to, port, from_port), (at_ms, Instant::now()));
                }
                // Accepted by the sockets for names.
                NetTransport::Udp if port == RESOLVER_PORT && !self.datagrams.is_empty() => {}
                NetTransport::Udp if from_port == RESOLVER_PORT && self.is_answer(to, port) => {}
                _ => {
                    let packet = ArrivedPacket { at_ms, to, port, transport };
                    self.waiting.push_back(Arrival::Packet(packet));
                }
            }
        }
        let missed = missed(self.packets.as_raw_fd())?;
        if missed > 0 {
            self.waiting.push_back(Arrival::Missed(missed));
        }
        Ok(())
    }

    /// Whether a packet is one of our own answers.
    fn is_answer(&self, to: IpAddr, port: u16) -> bool {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = answers.get_mut(&(to, port)) else { return false };
        *count -= 1;
        if *count == 0 {
            answers.remove(&(to, port));
        }
        true
    }

    fn read_datagram(&self, socket: &Arc<AsyncFd<OwnedFd>>) -> io::Result<Option<ArrivedDatagram>> {
        let mut buffer = vec![0_u8; DATAGRAM_MAX];
        let mut control = nix::cmsg_space!(libc::in6_pktinfo, libc::in_pktinfo, libc::timespec);
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let fd = socket.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut control), flags) {
            Ok(message) => message,
            // Anything but a datagram concerns an answer that nobody took.
            Err(_) => return Ok(None),
        };
        let mut meant = None;
        for part in message.cmsgs()? {
            match part {
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    meant = Some(IpAddr::from(u32::from_be(info.ipi_addr.s_addr).to_be_bytes()));
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    meant = Some(IpAddr::from(info.ipi6_addr.s6_addr));
                }
                _ => {}
            }
        }
        let at_ms = self.at_ms(stamp(message.cmsgs()?));
        let from = message.address.as_ref().and_then(address);
        let length = message.bytes;
        let (Some(meant), Some(from)) = (meant, from) else { return Ok(None) };
        buffer.truncate(length);
        let (socket, answers) = (Arc::clone(socket), Arc::clone(&self.answers));
        let reply = move |bytes: &[u8]| {
            if !from.ip().is_loopback() {
                let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                *answers.entry((from.ip(), from.port())).or_default() += 1;
            }
            // A sandbox that is gone, or that closed its socket, takes no answer.
            let _ = send_from(socket.get_ref(), meant, from, bytes);
        };
        let to = SocketAddr::new(meant, RESOLVER_PORT);
        Ok(Some(ArrivedDatagram { at_ms, to, bytes: buffer, reply: Box::new(reply) }))
    }

    fn accept(&mut self, socket: OwnedFd) -> io::Result<()> {
        let (Ok(to), Ok(from)) = (local(&socket), peer(&socket)) else { return Ok(()) };
        let key = (to.ip(), to.port(), from.port());
        if !self.begun.contains_key(&key) && !to.ip().is_loopback() {
            self.read_packets()?;
        }
        let begun = self.begun.remove(&key);
        let at_ms = begun.map_or_else(|| self.at_ms(realtime_ns()), |(at_ms, _)| at_ms);
        let stream = tokio::net::TcpStream::from_std(std::net::TcpStream::from(socket))?;
        // A connection that is gone already shows at the first use.
        let _ = stream.set_nodelay(true);
        self.waiting.push_back(Arrival::Stream(ArrivedStream {
            at_ms,
            to,
            stream: Box::new(stream),
        }));
        Ok(())
    }

    /// Beginnings that no connection came of were refused.
    fn give_up_unaccepted(&mut self) {
        let waiting = &mut self.waiting;
        self.begun.retain(|(to, port, _), (at_ms, since)| {
            let is_young = since.elapsed() < UNACCEPTED;
            if !is_young {
                waiting.push_back(Arrival::Packet(ArrivedPacket {
                    at_ms: *at_ms,
                    to: *to,
                    port: *port,
                    transport: NetTransport::Tcp,
                }));
            }
            is_young
        });
    }
}

#[async_trait::async_trait]
impl Doorway for FdDoorway {
    async fn next(&mut self) -> Option<Arrival> {
        loop {
            if let Some(arrival) = self.waiting.pop_front() {
                return Some(arrival);
            }
            match self.has_more {
                true => tokio::task::yield_now().await,
                false => self.readable().await,
            }
            // What cannot be read now shows again, and `settle` tells.
            let _ = self.pump();
        }
    }

    async fn settle(&mut self) -> Result<Vec<Arrival>, SandboxFault> {
        loop {
            self.pump().map_err(|error| SandboxFault::Lost(format!("doorway: {error}")))?;
            // A sandbox that stands still adds nothing; one that does not is not waited for for ever.
            if !self.has_more || self.waiting.len() >= SETTLED_MAX {
                break;
            }
        }
        self.give_up_unaccepted();
        Ok(self.waiting.drain(..).collect())
    }
}

fn registered(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the socket is owned, moves with its owner, and its number stays the same until it is dropped.
    let registered = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
    Ok(registered?)
}

fn accepted(listener: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    loop {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        return match accept4(listener.as_raw_fd(), flags) {
            // SAFETY: the kernel has just made this descriptor ours.
            Ok(fd) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
            Err(Errno::EAGAIN) => Ok(None),
            Err(Errno::EINTR | Errno::ECONNABORTED) => continue,
            Err(error) => Err(error.into()),
        };
    }
}

/// When a message was sent by the kernel's word, else now.
fn stamp(parts: impl Iterator<Item = ControlMessageOwned>) -> i64 {
    let mut parts = parts.filter_map(|part| match part {
        ControlMessageOwned::ScmTimestampns(time) => {
            Some(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
        }
        _ => None,
    });
    parts.next().unwrap_or_else(realtime_ns)
}

/// Packets that the kernel dropped since it was asked last.
fn missed(fd: i32) -> io::Result<u64> {
    let mut counted = [0_u32; 2];
    let mut length = size_of_val(&counted) as u32;
    // SAFETY: the value is live and of the length given: packets and drops.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counted.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(u64::from(counted[1])) }
}

fn send_from(socket: &OwnedFd, own: IpAddr, to: SocketAddr, bytes: &[u8]) -> nix::Result<usize> {
    let parts = [IoSlice::new(bytes)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let storage = SockaddrStorage::from(to);
    let fd = socket.as_raw_fd();
    match own {
        IpAddr::V4(own) => {
            let own = libc::in_addr { s_addr: u32::from(own).to_be() };
            let none = libc::in_addr { s_addr: 0 };
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: own, ipi_addr: none };
            sendmsg(fd, &parts, &[ControlMessage::Ipv4PacketInfo(&info)], flags, Some(&storage))
        }
        IpAddr::V6(own) => {
            let own = libc::in6_addr { s6_addr: own.octets() };
            let info = libc::in6_pktinfo { ipi6_addr: own, ipi6_ifindex: 0 };
            sendmsg(fd, &parts, &[ControlMessage::Ipv6PacketInfo(&info)], flags, Some(&storage))
        }
    }
}

fn local(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let storage: SockaddrStorage = getsockname(socket.as_raw_fd())?;
    address(&storage).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn peer(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let storage: SockaddrStorage = getpeername(socket.as_raw_fd())?;
    address(&storage).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 =
        storage.as_sockaddr_in().map(|address| SocketAddr::from((address.ip(), address.port())));
    v4.or_else(|| {
        let address = storage.as_sockaddr_in6()?;
        Some(SocketAddr::new(IpAddr::V6(address.ip()).to_canonical(), address.port()))
    })
}
