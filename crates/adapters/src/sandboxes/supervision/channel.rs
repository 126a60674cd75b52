//! Messages with descriptors over a sequenced-packet socket, and payloads in memory files; used by both sides of the
//! request socket.

use std::{
    io::{self, IoSlice, IoSliceMut, Read, Seek, Write},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use serde::{Serialize, de::DeserializeOwned};

use super::protocol::MESSAGE_MAX;

/// So many descriptors the kernel passes with one message.
pub(crate) const DESCRIPTORS_MAX: usize = 253;

/// A connected pair of sequenced-packet sockets, closed on exec.
pub(crate) fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC;
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?)
}

/// A connected pair of stream sockets, closed on exec.
pub(crate) fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC;
    Ok(socketpair(AddressFamily::Unix, SockType::Stream, None, flags)?)
}

/// Sends one message with descriptors.
pub(crate) fn send<T: Serialize>(
    socket: BorrowedFd<'_>,
    message: &T,
    descriptors: &[RawFd],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let rights = [ControlMessage::ScmRights(descriptors)];
    let control: &[ControlMessage<'_>] = if descriptors.is_empty() { &[] } else { &rights };
    loop {
        let parts = [IoSlice::new(&bytes)];
        match sendmsg::<()>(socket.as_raw_fd(), &parts, control, MsgFlags::MSG_NOSIGNAL, None) {
            Ok(_) => return Ok(()),
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A message and what came with it.
pub(crate) struct Received<T> {
    pub message: T,
    pub descriptors: Vec<OwnedFd>,
    /// Sender's process id in the receiver's namespace, if the socket passes credentials.
    pub sender: Option<i32>,
}

/// Receives one message; `None` at the end of the conversation.
pub(crate) fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
    flags: MsgFlags,
) -> io::Result<Option<Received<T>>> {
    let mut buffer = vec![0_u8; MESSAGE_MAX];
    let mut control = nix::cmsg_space!([RawFd; DESCRIPTORS_MAX], libc::ucred);
    let (length, descriptors, sender) = loop {
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let flags = flags | MsgFlags::MSG_CMSG_CLOEXEC;
        match recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags) {
            Ok(message) => {
                let mut descriptors = Vec::new();
                let mut sender = None;
                for part in message.cmsgs()? {
                    match part {
                        ControlMessageOwned::ScmRights(numbers) => {
                            // SAFETY: the kernel has just made these descriptors ours.
                            descriptors.extend(
                                numbers.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }),
                            );
                        }
                        ControlMessageOwned::ScmCredentials(credentials) => {
                            sender = Some(credentials.pid());
                        }
                        _ => {}
                    }
                }
                break (message.bytes, descriptors, sender);
            }
            Err(nix::errno::Errno::EINTR) => {}
            Err(nix::errno::Errno::ECONNRESET) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    if length == 0 {
        return Ok(None);
    }
    let message = serde_json::from_slice(&buffer[..length])?;
    Ok(Some(Received { message, descriptors, sender }))
}

/// Writes a length and a JSON document.
pub(crate) fn write_frame<T: Serialize>(mut stream: impl Write, value: &T) -> io::Result<()> {
    let body = serde_json::to_vec(value)?;
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.extend_from_slice(&u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes());
    frame.extend_from_slice(&body);
    stream.write_all(&frame)
}

/// Reads what [`write_frame`] wrote.
pub(crate) fn read_frame<T: DeserializeOwned>(mut stream: impl Read) -> io::Result<T> {
    let mut length = [0_u8; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0_u8; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// A memory file that holds a framed head and bytes after it, rewound.
pub(crate) fn memory_file<T: Serialize>(head: &T, bodies: &[&[u8]]) -> io::Result<std::fs::File> {
    let fd = nix::sys::memfd::memfd_create(c"payload", nix::sys::memfd::MFdFlags::MFD_CLOEXEC)?;
    let mut file = std::fs::File::from(fd);
    write_frame(&mut file, head)?;
    for body in bodies {
        file.write_all(body)?;
    }
    file.rewind()?;
    Ok(file)
}
