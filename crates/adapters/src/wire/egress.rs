//! The implementer of the wire's port: [`Egress`] opens a sandbox's edge and sets a porter there.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::{Arc, Mutex},
};

use domain::{ids::Turn, release::Policy};
use engine::ports::{
    sandbox::{FileNode, Sandbox, SandboxFault},
    wire::{Attempts, InnerPort, Wire, Wires},
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use super::{
    book::Book,
    names::Names,
    porter::{Desk, Order, PROXY_PORT, Porter},
};

/// Ports that programs use without being told.
const COMMON: [u16; 2] = [80, 443];

/// Wires that carry from this host's network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Egress;

/// The wire of one sandbox.
struct EgressWire {
    desk: Arc<Desk>,
    orders: mpsc::UnboundedSender<Order>,
    blocks: watch::Sender<bool>,
    has_proxy: bool,
    clock: SandboxClock,
}

#[async_trait::async_trait]
impl Wires for Egress {
    async fn open(
        &self,
        sandbox: &dyn Sandbox,
        policies: &[Policy],
        inner: Vec<InnerPort>,
    ) -> Result<Box<dyn Wire>, SandboxFault> {
        let has_proxy = policies.iter().any(|policy| *policy != Policy::Nothing);
        let mut ports: BTreeSet<u16> = inner.iter().map(|inner| inner.port).collect();
        if has_proxy {
            ports.extend(COMMON);
            ports.insert(PROXY_PORT);
        }
        ports.extend(policies.iter().flat_map(Policy::ports));
        let ports: Vec<u16> = ports.into_iter().collect();
        let resolvers = resolvers(sandbox).await?;
        let doorway = sandbox.doorway(&ports).await?;
        let clock = SandboxClock::of(sandbox);
        let (policy, _) = watch::channel(Arc::new(policies.first().cloned().unwrap_or_default()));
        let names = Mutex::new(Names::default());
        let desk = Arc::new(Desk { policy, book: Book::default(), names, resolvers, clock });
        let (orders, told) = mpsc::unbounded_channel();
        let (blocks, is_blocked) = watch::channel(false);
        let porter = Porter {
            desk: Arc::clone(&desk),
            doorway,
            inner: inner.into_iter().map(|inner| (inner.port, inner.streams)).collect(),
            is_blocked,
            carried: JoinSet::new(),
            told_ms: 0,
        };
        tokio::spawn(porter.run(told));
        Ok(Box::new(EgressWire { desk, orders, blocks, has_proxy, clock }))
    }
}

#[async_trait::async_trait]
impl Wire for EgressWire {
    fn govern(&self, policy: Policy) {
        if !*self.blocks.borrow() {
            self.desk.policy.send_replace(Arc::new(policy));
        }
    }

    fn env(&self) -> BTreeMap<String, String> {
        if !self.has_proxy {
            return BTreeMap::new();
        }
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        let own = "localhost,127.0.0.1,::1";
        let words = [
            ("http_proxy", &*proxy),
            ("https_proxy", &proxy),
            ("HTTP_PROXY", &proxy),
            ("HTTPS_PROXY", &proxy),
            ("ALL_PROXY", &proxy),
            ("no_proxy", own),
            ("NO_PROXY", own),
        ];
        words.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    async fn take(&self, turn: Turn) -> Result<Attempts, SandboxFault> {
        let lost = || SandboxFault::Lost("the wire is gone".to_owned());
        let (told, attempts) = oneshot::channel();
        let order = Order::Take(turn, self.clock.now_ms(), told);
        self.orders.send(order).map_err(|_| lost())?;
        attempts.await.map_err(|_| lost())?
    }

    fn block(&self) {
        self.blocks.send_replace(true);
        self.desk.policy.send_replace(Arc::new(Policy::Nothing));
    }

    async fn close(&self) {
        let (closed, is_closed) = oneshot::channel();
        // A porter that is gone has closed.
        if self.orders.send(Order::Close(closed)).is_ok() {
            let _ = is_closed.await;
        }
    }
}

/// The time of a sandbox, read without it: its clock and the host's run alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct SandboxClock {
    began_ms: i64,
    since: std::time::Instant,
}

impl SandboxClock {
    fn of(sandbox: &dyn Sandbox) -> Self {
        Self { began_ms: sandbox.now_ms(), since: std::time::Instant::now() }
    }

    /// Milliseconds since the sandbox's origin.
    pub(super) fn now_ms(&self) -> i64 {
        let since = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.began_ms.saturating_add(since)
    }
}

/// Resolvers that the sandbox's programs will ask.
async fn resolvers(sandbox: &dyn Sandbox) -> Result<BTreeSet<IpAddr>, SandboxFault> {
    let found = sandbox.get("/etc/resolv.conf").await?.unwrap_or_default();
    let text = found.into_iter().find_map(|entry| match entry.node {
        FileNode::File(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    });
    let text = text.unwrap_or_default();
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        address.split('%').next()?.parse::<IpAddr>().ok()
    });
    Ok(named.map(|address| address.to_canonical()).collect())
}
