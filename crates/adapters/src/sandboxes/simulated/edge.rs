//! The edge of a simulated sandbox: what its shell's `reach` tries arrives at a [`SimulatedDoorway`].

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use domain::evidence::NetTransport;
use engine::ports::sandbox::{Arrival, ArrivedPacket, ArrivedStream, Doorway, SandboxFault};
use tokio::{io::duplex, sync::mpsc};

/// Room for what is written to a program that never reads.
const IN_FLIGHT: usize = 64 << 10;

/// The sandbox's side of an edge that stands.
pub(super) struct Edge {
    ports: BTreeSet<u16>,
    arrivals: mpsc::UnboundedSender<Arrival>,
}

impl Edge {
    /// An edge that accepts connections on these ports, and where they arrive.
    pub(super) fn open(ports: &[u16]) -> (Self, SimulatedDoorway) {
        let (arrivals, arrived) = mpsc::unbounded_channel();
        (Self { ports: ports.iter().copied().collect(), arrivals }, SimulatedDoorway { arrived })
    }

    /// A program connects, says nothing and leaves; answers whether it was accepted.
    pub(super) fn reach(&self, to: IpAddr, port: u16, at_ms: i64) -> bool {
        let is_accepted = self.ports.contains(&port);
        if !is_accepted && to.is_loopback() {
            return false;
        }
        let arrival = if is_accepted {
            let (_program, stream) = duplex(IN_FLIGHT);
            let to = SocketAddr::new(to, port);
            Arrival::Stream(ArrivedStream { at_ms, to, stream: Box::new(stream) })
        } else {
            Arrival::Packet(ArrivedPacket { at_ms, to, port, transport: NetTransport::Tcp })
        };
        // A wire that is closed sees nothing any more.
        let _ = self.arrivals.send(arrival);
        is_accepted
    }
}

/// The harness's side.
pub(super) struct SimulatedDoorway {
    arrived: mpsc::UnboundedReceiver<Arrival>,
}

#[async_trait::async_trait]
impl Doorway for SimulatedDoorway {
    async fn next(&mut self) -> Option<Arrival> {
        self.arrived.recv().await
    }

    async fn settle(&mut self) -> Result<Vec<Arrival>, SandboxFault> {
        Ok(std::iter::from_fn(|| self.arrived.try_recv().ok()).collect())
    }
}
