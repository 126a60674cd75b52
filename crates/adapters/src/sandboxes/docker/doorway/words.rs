//! What harness and keeper say to each other beside the bytes of streams: [`Order`] and [`Told`].

use std::net::{IpAddr, SocketAddr};

use domain::evidence::NetTransport;
use serde::{Deserialize, Serialize};

/// Bytes of one stream that may be on their way in each direction.
pub(super) const WINDOW: usize = 256 << 10;

/// Frames that wait to be written or looked at.
pub(super) const FRAMES_MAX: usize = 64;

/// What the harness wants.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Open the edge with these listeners; times count from the origin, in nanoseconds of the kernel's clock.
    Open { ports: Vec<u16>, origin_ns: i64 },
    /// Tell everything that has arrived until now, and then that this is it.
    Settle(u64),
}

/// What the keeper tells; a list of these is the document of one frame.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// The edge stands.
    Opened,
    /// The edge cannot be opened, for this reason.
    Refused(String),
    /// A connection was accepted; its bytes bear the id.
    Stream { id: u64, at_ms: i64, to: SocketAddr },
    /// A question to a resolver; an answer bears the id.
    Datagram { id: u64, at_ms: i64, to: SocketAddr, bytes: Vec<u8> },
    /// A packet that was refused; the transport by its number in IPv4's header.
    Packet { at_ms: i64, to: IpAddr, port: u16, protocol: u16 },
    /// So many packets could not be looked at.
    Missed(u64),
    /// Everything until this order has been told.
    Settled(u64),
    /// The edge cannot be read any more.
    Broken(String),
}

/// The number of a transport.
pub(super) fn protocol(transport: NetTransport) -> u16 {
    match transport {
        NetTransport::Icmp => 1,
        NetTransport::Tcp => 6,
        NetTransport::Udp => 17,
        NetTransport::Other(number) => number,
    }
}

/// The transport of a number.
pub(super) fn transport(protocol: u16) -> NetTransport {
    match protocol {
        1 => NetTransport::Icmp,
        6 => NetTransport::Tcp,
        17 => NetTransport::Udp,
        number => NetTransport::Other(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_come_back() {
        let check = |given: NetTransport, number: u16| {
            assert_eq!(protocol(given), number);
            assert_eq!(transport(number), given);
        };
        check(NetTransport::Tcp, 6);
        check(NetTransport::Udp, 17);
        check(NetTransport::Icmp, 1);
        check(NetTransport::Other(132), 132);
    }
}
