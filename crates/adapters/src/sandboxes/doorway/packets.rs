//! Packets that programs of a sandbox send to the world, seen on its loopback: the filter in the kernel
//! ([`watch_loopback`]) and what is read of each ([`read`]).

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{AsRawFd, OwnedFd},
};

use domain::evidence::NetTransport;
use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD,
    BPF_LDX, BPF_MSH, BPF_RET, BPF_W, sock_filter, sock_fprog,
};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

/// So much of each packet is looked at.
pub(super) const LOOKED_AT: usize = 256;

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// One packet to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) to: IpAddr,
    /// 0 where the protocol has none.
    pub(super) port: u16,
    pub(super) from_port: u16,
    pub(super) transport: NetTransport,
}

/// A socket that sees what is sent over this namespace's loopback to other addresses than the loopback's: beginnings of
/// TCP connections, and everything that is not TCP but for errors that the kernel itself reports.
pub(super) fn watch_loopback() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    // Without a protocol nothing is seen before the filter stands.
    let made = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
    let mut code = filter();
    let program = sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    // SAFETY: the program points to live instructions; the address is a live value of the length given.
    let bound = unsafe {
        let attached = libc::setsockopt(
            made.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<sock_fprog>() as u32,
        );
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = libc::if_nametoindex(c"lo".as_ptr()) as i32;
        attached == 0
            && libc::bind(
                made.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            ) == 0
    };
    if !bound {
        return Err(io::Error::last_os_error());
    }
    setsockopt(&made, sockopt::ReceiveTimestampns, &true)?;
    Ok(made)
}

/// What a packet that the filter let through is; none for later fragments, and for what is no whole header.
pub(super) fn read(packet: &[u8]) -> Option<Packet> {
    match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 0xf) * 4;
            let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x1fff;
            let to: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
            let to = IpAddr::V4(Ipv4Addr::from(to));
            (fragment == 0).then(|| inside(to, packet[9], packet.get(header..)?)).flatten()
        }
        6 => {
            let to: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
            let to = IpAddr::V6(Ipv6Addr::from(to)).to_canonical();
            let (mut next, mut rest) = (packet[6], packet.get(40..)?);
            // Options, routing, fragment, destination: each names the next.
            while matches!(next, 0 | 43 | 44 | 60) {
                let length = if next == 44 { 8 } else { (usize::from(*rest.get(1)?) + 1) * 8 };
                if next == 44 && u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]) >> 3 != 0 {
                    return None;
                }
                (next, rest) = (*rest.first()?, rest.get(length..)?);
            }
            inside(to, next, rest)
        }
        _ => None,
    }
}

fn inside(to: IpAddr, protocol: u8, body: &[u8]) -> Option<Packet> {
    let number = |at: usize| Some(u16::from_be_bytes([*body.get(at)?, *body.get(at + 1)?]));
    let (transport, has_ports) = match protocol {
        6 => (NetTransport::Tcp, true),
        17 => (NetTransport::Udp, true),
        1 | 58 => (NetTransport::Icmp, false),
        other => (NetTransport::Other(u16::from(other)), false),
    };
    let (from_port, port) = if has_ports { (number(0)?, number(2)?) } else { (0, 0) };
    Some(Packet { to, port, from_port, transport })
}

/// Where a jump of the filter goes.
const NEXT: u8 = 0;

/// The filter over packets that begin with their network header.
fn filter() -> Vec<sock_filter> {
    // Offsets below zero ask for what the kernel knows beside the packet.
    const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;
    const PROTOCOL: u32 = -0x1000_i32 as u32;
    const OUTGOING: u32 = 4;
    let load = |size: u32, at: u32| step(BPF_LD | size | BPF_ABS, NEXT, NEXT, at);
    let is = |value: u32, yes: u8, no: u8| step(BPF_JMP | BPF_JEQ | BPF_K, yes, no, value);
    let has = |bits: u32, yes: u8, no: u8| step(BPF_JMP | BPF_JSET | BPF_K, yes, no, bits);
    let answer = |bytes: u32| step(BPF_RET | BPF_K, NEXT, NEXT, bytes);
    // Each block ends in an answer, so that jumps are short.
    let begins = |flags: [sock_filter; 2]| {
        [flags[0], flags[1], is(u32::from(SYN), 0, 1), answer(LOOKED_AT as u32), answer(0)]
    };
    let both = u32::from(SYN | ACK);
    let and = step(BPF_ALU | BPF_AND | BPF_K, NEXT, NEXT, both);
    let mut code = vec![
        load(BPF_W, PACKET_TYPE),
        is(OUTGOING, 1, 0),
        answer(0),
        load(BPF_W, PROTOCOL),
        is(libc::ETH_P_IPV6 as u32, 24, 0),
        is(libc::ETH_P_IP as u32, 1, 0),
        answer(0),
        // IPv4: not to the loopback.
        load(BPF_B, 16),
        is(127, 0, 1),
        answer(0),
        // Its header's length, for what follows.
        step(BPF_LDX | BPF_B | BPF_MSH, NEXT, NEXT, 0),
        load(BPF_H, 6),
        has(0x1fff, 0, 1),
        answer(0),
        load(BPF_B, 9),
        is(6, 0, 6),
    ];
    code.extend(begins([step(BPF_LD | BPF_B | BPF_IND, NEXT, NEXT, 13), and]));
    code.push(answer(0));
    code.extend([
        is(1, 0, 3),
        step(BPF_LD | BPF_B | BPF_IND, NEXT, NEXT, 0),
        // Unreachable: the kernel's own word on what it refuses.
        is(3, 0, 1),
        answer(0),
        answer(LOOKED_AT as u32),
    ]);
    // IPv6, not to ::1.
    let six = code.len();
    code[4].jt = (six - 5) as u8;
    code.extend([
        load(BPF_W, 24),
        is(0, 0, 7),
        load(BPF_W, 28),
        is(0, 0, 5),
        load(BPF_W, 32),
        is(0, 0, 3),
        load(BPF_W, 36),
        is(1, 0, 1),
        answer(0),
        load(BPF_B, 6),
        is(6, 0, 6),
    ]);
    code.extend(begins([load(BPF_B, 40 + 13), and]));
    code.push(answer(0));
    code.extend([
        is(58, 0, 5),
        load(BPF_B, 40),
        is(1, 1, 0),
        // Neighbours and groups: what the kernel says by itself on any link.
        step(BPF_JMP | libc::BPF_JGE | BPF_K, 0, 2, 130),
        answer(0),
        answer(0),
        answer(LOOKED_AT as u32),
    ]);
    code
}

fn step(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}
