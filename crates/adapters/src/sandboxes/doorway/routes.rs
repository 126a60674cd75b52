//! Routes of the namespace, set by netlink: every address of both families is local.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

/// Header of a message, header of a route, one attribute with the interface.
const LENGTH: usize = 16 + 12 + 8;

/// Makes every address one of this namespace's own, so that nothing is unreachable and nothing leaves. Answers whether
/// that holds for IPv6 too; a kernel without it has no IPv6 attempt either.
pub(super) fn make_every_address_local() -> io::Result<bool> {
    // SAFETY: the name is a live C string.
    let loopback = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
    if loopback == 0 {
        return Err(io::Error::last_os_error());
    }
    add(libc::AF_INET as u8, loopback)?;
    Ok(add(libc::AF_INET6 as u8, loopback).is_ok())
}

/// Adds `local default dev lo` to the table of local addresses.
fn add(family: u8, loopback: u32) -> io::Result<()> {
    // SAFETY: no pointer is passed.
    let fd = unsafe {
        libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor ours.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut message = Vec::with_capacity(LENGTH);
    message.extend((LENGTH as u32).to_ne_bytes());
    message.extend(libc::RTM_NEWROUTE.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    // Sequence and port: there is one message and one answer.
    message.extend([0; 8]);
    // Family, lengths of destination and source, type of service.
    message.extend([family, 0, 0, 0]);
    message.extend([libc::RT_TABLE_LOCAL, libc::RTPROT_BOOT, libc::RT_SCOPE_HOST, libc::RTN_LOCAL]);
    message.extend([0; 4]);
    message.extend(8_u16.to_ne_bytes());
    message.extend(libc::RTA_OIF.to_ne_bytes());
    message.extend(loopback.to_ne_bytes());
    let mut answer = [0_u8; 1024];
    // SAFETY: both buffers are live and of the lengths given.
    let received = unsafe {
        if libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
    };
    let Some(code) = usize::try_from(received).ok().and_then(|length| answer[..length].get(16..20))
    else {
        return Err(io::Error::last_os_error());
    };
    let code = i32::from_ne_bytes([code[0], code[1], code[2], code[3]]);
    match -code {
        0 | libc::EEXIST => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
