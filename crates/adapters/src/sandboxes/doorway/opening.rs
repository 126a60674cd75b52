//! What is opened inside the namespace: routes, listeners, and a socket that sees every packet ([`open`]).

use std::{
    fs, io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
};

use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, listen, setsockopt, socket,
    sockopt,
};

use super::{packets, routes};

/// Where names are asked for.
pub(super) const RESOLVER_PORT: u16 = 53;

/// Connections that wait to be accepted on one port.
const WAITING_MAX: i32 = 1024;

/// Files of the kernel's settings with what they are to say. Its own answers to echo requests would look as if the world
/// had answered; IPv6 that is switched off would hide attempts by it.
const SETTINGS: [(&str, &str); 4] = [
    ("/proc/sys/net/ipv6/conf/all/disable_ipv6", "0"),
    (IPV6_IS_OFF, "0"),
    ("/proc/sys/net/ipv4/icmp_echo_ignore_all", "1"),
    ("/proc/sys/net/ipv6/icmp/echo_ignore_all", "1"),
];

/// Says `1` where the loopback has no IPv6; not there where the kernel has none.
const IPV6_IS_OFF: &str = "/proc/sys/net/ipv6/conf/lo/disable_ipv6";

/// Opens this namespace's edge: the packet socket first, then sockets for names, then a listener for each port that no
/// program of the sandbox holds already, for each family.
///
/// The process needs the rights to administer this network and to open raw sockets in it.
pub(crate) fn open(ports: &[u16]) -> io::Result<Vec<OwnedFd>> {
    for (path, value) in SETTINGS {
        // A kernel without the setting, or with one that cannot be changed, answers echo requests itself.
        let _ = fs::write(path, value);
    }
    if fs::read_to_string(IPV6_IS_OFF).is_ok_and(|said| said.trim() == "1") {
        let why = "IPv6 is off and cannot be switched on, so that attempts by it would not be seen";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    // Before there is a route, so that not one packet is missed.
    let mut opened = vec![packets::watch_loopback()?];
    let has_ipv6 = routes::make_every_address_local()?;
    let mut hosts: Vec<SocketAddr> = vec![(Ipv4Addr::UNSPECIFIED, 0).into()];
    if has_ipv6 {
        hosts.push((Ipv6Addr::UNSPECIFIED, 0).into());
    }
    for mut host in hosts {
        host.set_port(RESOLVER_PORT);
        opened.extend(unless_taken(datagrams(host))?);
        for port in ports.iter().copied().chain([RESOLVER_PORT]) {
            host.set_port(port);
            opened.extend(unless_taken(listener(host))?);
        }
    }
    Ok(opened)
}

fn unless_taken(opened: nix::Result<OwnedFd>) -> io::Result<Option<OwnedFd>> {
    match opened {
        Ok(socket) => Ok(Some(socket)),
        Err(nix::errno::Errno::EADDRINUSE) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn at(host: SocketAddr, kind: SockType) -> nix::Result<OwnedFd> {
    let family = if host.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let made = socket(family, kind, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    if host.is_ipv6() {
        setsockopt(&made, sockopt::Ipv6V6Only, &true)?;
    }
    Ok(made)
}

fn listener(host: SocketAddr) -> nix::Result<OwnedFd> {
    let made = at(host, SockType::Stream)?;
    setsockopt(&made, sockopt::ReuseAddr, &true)?;
    bind(std::os::fd::AsRawFd::as_raw_fd(&made), &SockaddrStorage::from(host))?;
    listen(&made, Backlog::new(WAITING_MAX)?)?;
    Ok(made)
}

/// A socket for datagrams that tells of each where it was meant to go.
fn datagrams(host: SocketAddr) -> nix::Result<OwnedFd> {
    let made = at(host, SockType::Datagram)?;
    match host.is_ipv6() {
        true => setsockopt(&made, sockopt::Ipv6RecvPacketInfo, &true)?,
        false => setsockopt(&made, sockopt::Ipv4PacketInfo, &true)?,
    }
    setsockopt(&made, sockopt::ReceiveTimestampns, &true)?;
    bind(std::os::fd::AsRawFd::as_raw_fd(&made), &SockaddrStorage::from(host))?;
    Ok(made)
}
