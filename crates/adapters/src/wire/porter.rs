//! Who stands at a sandbox's edge: [`Porter`] takes everything that arrives, [`Desk`] is what its parts share.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{
    evidence::{NetOutcome, NetTransport, NetWay},
    ids::Turn,
    release::{Policy, Ruling},
};
use engine::ports::{
    sandbox::{Arrival, ArrivedDatagram, ArrivedPacket, ArrivedStream, Doorway, SandboxFault},
    wire::Attempts,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use super::{
    book::{Book, attempt},
    carry::{Client, Meant, Second, carry, turn_away},
    dns::{Answer, Question},
    egress::SandboxClock,
    names::Names,
    proxy,
};

/// Where names are asked for.
pub(super) const RESOLVER_PORT: u16 = 53;
/// Where the proxy is, on the loopback.
pub(super) const PROXY_PORT: u16 = 3128;
/// Connections whose first words take longer are told without them.
const DECIDED_TIMEOUT: Duration = Duration::from_millis(300);
/// A resolver's connection without a question for so long ends.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections that are carried at once; each holds descriptors of the harness, which all sessions share.
const CARRIED_MAX: usize = 128;

/// What all parts of one wire share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) policy: watch::Sender<Arc<Policy>>,
    pub(super) book: Book,
    pub(super) names: Mutex<Names>,
    /// Resolvers that the sandbox's own files name: asking them is no attempt to reach them.
    pub(super) resolvers: BTreeSet<IpAddr>,
    pub(super) clock: SandboxClock,
}

impl Desk {
    /// The policy that holds now.
    pub(super) fn policy(&self) -> Arc<Policy> {
        self.policy.borrow().clone()
    }

    /// Waits until the policy does not allow this any more.
    pub(super) async fn until_refused(&self, meant: &Meant) {
        let mut policies = self.policy.subscribe();
        let refuses =
            |policy: &Arc<Policy>| policy.ruling(&meant.host, meant.port) == Ruling::Refused;
        if policies.wait_for(refuses).await.is_err() {
            std::future::pending().await
        }
    }

    /// A request that came behind another one on the same connection.
    pub(super) fn refused_second(&self, second: &Second, why: String) {
        let Second { meant, method, path } = second;
        let by = (NetTransport::Tcp, NetWay::Direct);
        let place = (&*meant.host, meant.port);
        let mut beside = attempt(self.clock.now_ms(), place, by, (NetOutcome::Refused, why));
        beside.method = Some(method.clone());
        beside.path.clone_from(path);
        self.book.note(beside);
    }

    /// The host that an address stands for, in a program's words.
    fn host(&self, address: IpAddr) -> String {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.name(address).map_or_else(|| address.to_string(), str::to_owned)
    }

    /// Answers a question and accounts for it; none if it is no question.
    fn resolve(
        &self,
        message: &[u8],
        at_ms: i64,
        asked: IpAddr,
        transport: NetTransport,
    ) -> Option<Vec<u8>> {
        let is_own = asked.is_loopback() || self.resolvers.contains(&asked);
        if !is_own {
            let rule = "refused: names are asked of the wire's own resolver".to_owned();
            let place = (&*self.host(asked), RESOLVER_PORT);
            let decided = (NetOutcome::Refused, rule);
            self.book.note_refused(attempt(at_ms, place, (transport, NetWay::Direct), decided));
        }
        let question = Question::parse(message)?;
        let name = question.name.to_ascii_lowercase();
        let is_loopback = name == "localhost" || name.ends_with(".localhost");
        if is_loopback {
            let address = Answer::Address(Ipv4Addr::LOCALHOST);
            return Some(question.answer(if question.is_for_address {
                address
            } else {
                Answer::Nothing
            }));
        }
        if self.policy().knows(&name) && !is_asked_of_itself(&name) {
            if !question.is_for_address {
                return Some(question.answer(Answer::Nothing));
            }
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            let address = names.address(&name).map_or(Answer::Failed, Answer::Address);
            return Some(question.answer(address));
        }
        if !is_asked_of_itself(&name) {
            let decided = (NetOutcome::Refused, Ruling::Refused.to_string());
            let by = (transport, NetWay::Resolver);
            self.book.note_refused(attempt(at_ms, (&question.name, 0), by, decided));
        }
        Some(question.answer(Answer::NoSuchName))
    }
}

/// Whether programs ask for a name without meaning the world: the root, the sandbox's own name, the names of its own
/// addresses.
fn is_asked_of_itself(name: &str) -> bool {
    let own = [".127.in-addr.arpa", ".18.198.in-addr.arpa", ".19.198.in-addr.arpa"];
    matches!(name, "" | "sandbox")
        || own.iter().any(|zone| name.ends_with(zone))
        || name.ends_with(".0.0.0.0.ip6.arpa")
}

/// What a porter is told.
pub(super) enum Order {
    /// Tell what was attempted since it was told last, as of this turn; the time is that of the sandbox.
    Take(Turn, i64, oneshot::Sender<Result<Attempts, SandboxFault>>),
    /// End.
    Close(oneshot::Sender<()>),
}

/// Takes what arrives at one edge.
pub(super) struct Porter {
    pub(super) desk: Arc<Desk>,
    pub(super) doorway: Box<dyn Doorway>,
    /// Who answers behind ports of the loopback that are not the wire's own.
    pub(super) inner: BTreeMap<u16, mpsc::UnboundedSender<ArrivedStream>>,
    pub(super) is_blocked: watch::Receiver<bool>,
    pub(super) carried: JoinSet<()>,
    /// When it was asked last, in the sandbox's time.
    pub(super) told_ms: i64,
}

impl Porter {
    /// Works until it is told to end or nobody can tell it any more; what it carries ends with it.
    pub(super) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Take(turn, now_ms, told)) => {
                        let attempts = self.take(turn, now_ms).await;
                        // Whoever asked may have gone.
                        let _ = told.send(attempts);
                    }
                    Some(Order::Close(closed)) => {
                        self.carried.shutdown().await;
                        let _ = closed.send(());
                        return;
                    }
                    None => return,
                },
                arrival = self.doorway.next(), if is_open => match arrival {
                    Some(arrival) => self.arrived(arrival),
                    None => is_open = false,
                },
                Some(_) = self.carried.join_next(), if !self.carried.is_empty() => {}
            }
        }
    }

    async fn take(&mut self, turn: Turn, now_ms: i64) -> Result<Attempts, SandboxFault> {
        for arrival in self.doorway.settle().await? {
            self.arrived(arrival);
        }
        // A connection that says nothing is told by its address alone.
        let _ = tokio::time::timeout(DECIDED_TIMEOUT, self.desk.book.decided()).await;
        let attempts = self.desk.book.tell(turn, self.told_ms);
        self.told_ms = now_ms;
        Ok(attempts)
    }

    fn arrived(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Stream(stream) => self.stream(stream),
            Arrival::Datagram(datagram) => self.datagram(datagram),
            Arrival::Packet(packet) => self.packet(packet),
            Arrival::Missed(_) => self.desk.book.missed(),
        }
    }

    fn packet(&self, packet: ArrivedPacket) {
        let ArrivedPacket { at_ms, to, port, transport } = packet;
        let host = self.desk.host(to);
        let policy = self.desk.policy();
        let ruling = policy.ruling(&host, port);
        let decided = match (ruling, transport) {
            (Ruling::Refused, _) => (NetOutcome::Refused, ruling.to_string()),
            (_, NetTransport::Tcp) => {
                let rule = format!("{ruling}; but this port is carried by the proxy alone");
                (NetOutcome::Failed, rule)
            }
            _ => (NetOutcome::Refused, "refused: TCP alone is carried".to_owned()),
        };
        let by = (transport, NetWay::Direct);
        self.desk.book.note_refused(attempt(at_ms, (&host, port), by, decided));
    }

    fn datagram(&self, datagram: ArrivedDatagram) {
        let ArrivedDatagram { at_ms, to, bytes, reply } = datagram;
        let asked = to.ip().to_canonical();
        if let Some(answer) = self.desk.resolve(&bytes, at_ms, asked, NetTransport::Udp) {
            reply(&answer);
        }
    }

    fn stream(&mut self, arrived: ArrivedStream) {
        let to = arrived.to.ip().to_canonical();
        let (at_ms, port) = (arrived.at_ms, arrived.to.port());
        let desk = Arc::clone(&self.desk);
        if self.carried.len() >= CARRIED_MAX {
            let rule = format!("refused: {CARRIED_MAX} connections are carried already");
            let by = (NetTransport::Tcp, NetWay::Direct);
            let decided = (NetOutcome::Refused, rule);
            desk.book.note_refused(attempt(at_ms, (&desk.host(to), port), by, decided));
            return;
        }
        if port == RESOLVER_PORT {
            self.carried.spawn(async move { resolve_over(&desk, arrived, to).await });
            return;
        }
        if to.is_loopback() {
            match self.inner.get(&port) {
                Some(inner) if !*self.is_blocked.borrow() => {
                    // Nobody behind the port: the stream ends.
                    let _ = inner.send(arrived);
                }
                None if port == PROXY_PORT => {
                    let undecided = desk.book.undecided();
                    let client = Client::new(arrived.stream);
                    self.carried.spawn(async move {
                        proxy::serve(&desk, client, at_ms, undecided).await;
                    });
                }
                // Only the world is behind the other ports, and this is not the world.
                Some(_) | None => {}
            }
            return;
        }
        let meant = Meant { host: desk.host(to), port };
        let policy = desk.policy();
        let ruling = policy.ruling(&meant.host, port);
        let rule = ruling.to_string();
        let is_refused = ruling == Ruling::Refused;
        let outcome = if is_refused { NetOutcome::Refused } else { NetOutcome::Failed };
        let by = (NetTransport::Tcp, NetWay::Direct);
        let line =
            desk.book.begin(attempt(at_ms, (&meant.host, port), by, (outcome, rule.clone())));
        let undecided = desk.book.undecided();
        let client = Client::new(arrived.stream);
        self.carried.spawn(async move {
            match is_refused {
                true => turn_away(client, line, undecided, &rule).await,
                false => carry(&desk, client, meant, line, undecided).await,
            }
        });
    }
}

/// Questions over a connection, each behind its length.
async fn resolve_over(desk: &Desk, arrived: ArrivedStream, asked: IpAddr) {
    let ArrivedStream { at_ms, mut stream, .. } = arrived;
    let questions = async {
        while let Ok(length) = stream.read_u16().await {
            let mut message = vec![0_u8; usize::from(length)];
            stream.read_exact(&mut message).await?;
            let Some(answer) = desk.resolve(&message, at_ms, asked, NetTransport::Tcp) else {
                break;
            };
            let length = u16::try_from(answer.len()).map_err(std::io::Error::other)?;
            stream.write_all(&[&length.to_be_bytes()[..], &answer].concat()).await?;
        }
        Ok::<_, std::io::Error>(())
    };
    // A program that asks nothing, or breaks off, gets no answer.
    let _ = tokio::time::timeout(QUESTION_TIMEOUT, questions).await;
}
