//! Frames between the harness and the program in a container: [`Frame`] over two byte streams, [`Question`] and
//! [`Answer`] in it.
//!
//! Bytes of a stream are sent only against credit, so that one that nobody reads does not hold up the others.

use std::io;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::sandboxes::supervision::protocol::{Count, Launch};

/// Bytes of one stream that may be on their way.
pub(super) const WINDOW: usize = 1 << 20;
/// Bytes of a stream in one frame at most.
pub(super) const BLOCK: usize = 64 * 1024;
/// Longest payload; lists of paths are the longest ones.
const PAYLOAD_MAX: usize = 64 << 20;
const HEAD: usize = 14;

/// What a frame means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A [`Question`].
    Ask,
    /// An [`Answer`].
    Answer,
    /// Bytes of a stream.
    Bytes,
    /// A stream has ended.
    End,
    /// So many bytes more may be sent.
    Credit,
    /// The receiver of a stream has closed it.
    Close,
    /// The command has ended, and what it left in this stream has been sent.
    Drained,
    /// What comes from now on is read and thrown away.
    Discard,
    /// A record of the process log.
    Log,
    /// A question whether anybody is there, and its answer.
    Ping,
    /// Supervisor or launcher has ended.
    Gone,
}

const KINDS: [Kind; 11] = [
    Kind::Ask,
    Kind::Answer,
    Kind::Bytes,
    Kind::End,
    Kind::Credit,
    Kind::Close,
    Kind::Drained,
    Kind::Discard,
    Kind::Log,
    Kind::Ping,
    Kind::Gone,
];

/// A whole frame of [`Kind::Gone`], for those who can only just write.
pub(super) const GONE: [u8; HEAD] = [0, 0, 0, 0, Kind::Gone as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Which stream of a command; content that was asked for comes as standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdin,
    Stdout,
    Stderr,
}

const STREAMS: [Stream; 3] = [Stream::Stdin, Stream::Stdout, Stream::Stderr];

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub kind: Kind,
    pub stream: Stream,
    /// The question that it belongs to.
    pub id: u64,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Something about a stream.
    pub(super) fn about(kind: Kind, stream: Stream, id: u64) -> Self {
        Self { kind, stream, id, payload: Vec::new() }
    }

    /// Bytes of a stream.
    pub(super) fn bytes(stream: Stream, id: u64, payload: Vec<u8>) -> Self {
        Self { kind: Kind::Bytes, stream, id, payload }
    }

    /// Credit for a stream.
    pub(super) fn credit(stream: Stream, id: u64, bytes: usize) -> Self {
        let payload = (bytes as u32).to_le_bytes().to_vec();
        Self { kind: Kind::Credit, stream, id, payload }
    }

    /// A document of this kind.
    pub(super) fn document<T: Serialize>(kind: Kind, id: u64, value: &T) -> io::Result<Self> {
        let payload = serde_json::to_vec(value)?;
        Ok(Self { kind, stream: Stream::Stdin, id, payload })
    }

    /// The document of a frame.
    pub(super) fn read<T: DeserializeOwned>(&self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.payload)?)
    }

    /// The number of bytes that a credit grants.
    pub(super) fn granted(&self) -> usize {
        let bytes = <[u8; 4]>::try_from(self.payload.as_slice()).unwrap_or_default();
        u32::from_le_bytes(bytes) as usize
    }

    /// Reads one frame; none at the end.
    pub(super) async fn receive(mut reader: impl AsyncRead + Unpin) -> io::Result<Option<Self>> {
        let mut head = [0_u8; HEAD];
        match reader.read_exact(&mut head).await {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let invalid = || io::Error::other("no frame");
        let length = number(0) as usize;
        if length > PAYLOAD_MAX {
            return Err(invalid());
        }
        let kind = *KINDS.get(usize::from(head[4])).ok_or_else(invalid)?;
        let stream = *STREAMS.get(usize::from(head[5])).ok_or_else(invalid)?;
        let id = u64::from(number(6)) | u64::from(number(10)) << 32;
        let mut payload = vec![0; length];
        reader.read_exact(&mut payload).await?;
        Ok(Some(Self { kind, stream, id, payload }))
    }

    /// Writes the frame; the writer should be buffered and flushed by the caller.
    pub(super) async fn send(&self, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
        if self.payload.len() > PAYLOAD_MAX {
            return Err(io::Error::other("too much for one frame"));
        }
        let mut head = [0_u8; HEAD];
        head[..4].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        head[4] = self.kind as u8;
        head[5] = self.stream as u8;
        head[6..].copy_from_slice(&self.id.to_le_bytes());
        writer.write_all(&head).await?;
        writer.write_all(&self.payload).await
    }
}

/// What the harness asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// Run a command; its streams have the question's id.
    Exec(Launch),
    /// Place files; what a placement is made of comes as standard input.
    Put,
    /// Kill a process group and every descendant of its leader.
    Kill(u32),
    /// Stop every process.
    Stop,
    /// Continue what was stopped.
    Continue,
    /// Count processes.
    Count,
    /// Kill every process but pid 1 and ours.
    KillAll,
    /// Answer once every record of the process log up to now has been sent.
    Sync,
    /// Everything below a path.
    Read(String),
    /// What stands at these paths.
    Look(Vec<String>),
    /// What stands below a path.
    Walk(String),
    /// What these directories hold.
    List(Vec<String>),
    /// What stands at these paths with content, owner and time.
    Carry(Vec<String>),
}

/// What the program in the container says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The image's own command runs.
    Ready { origin_ns: i64, is_recording: bool },
    /// It could not be done.
    Failed(String),
    /// A command runs with this process id.
    Started(u32),
    /// A started command has ended with this status of `waitpid`.
    Ended(i32),
    /// It has been done.
    Done(Count),
    /// All content has been sent; false if there is nothing at the path.
    Sent(bool),
}

/// What stands at a path, as it is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Type and permission bits.
    pub mode: u32,
    pub uid: u32,
    pub size: u64,
    pub ctime_ns: i64,
    /// In hexadecimal.
    pub hash: Option<String>,
    pub link_target: Option<String>,
}

/// A node in a directory, as far as it can be told without opening it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its name there.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// When anything of it changed last.
    pub ctime_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_back() {
        let check = async |frame: Frame| {
            let mut bytes = Vec::new();
            frame.send(&mut bytes).await.unwrap();
            let mut rest = bytes.as_slice();
            assert_eq!(Frame::receive(&mut rest).await.unwrap(), Some(frame));
            assert_eq!(Frame::receive(&mut rest).await.unwrap(), None);
        };
        for (kind, stream) in KINDS.iter().zip(STREAMS.iter().cycle()) {
            check(Frame { kind: *kind, stream: *stream, id: u64::MAX - 7, payload: vec![7; 300] })
                .await;
        }
        check(Frame::credit(Stream::Stderr, 1, 77)).await;
        let gone = Frame::receive(GONE.as_slice()).await.unwrap();
        assert_eq!(gone, Some(Frame::about(Kind::Gone, Stream::Stdin, 0)));
        assert_eq!(Frame::credit(Stream::Stderr, 1, 77).granted(), 77);
    }

    #[tokio::test]
    async fn what_is_no_frame_is_refused() {
        let check = async |head: [u8; HEAD]| {
            assert!(Frame::receive(head.as_slice()).await.is_err());
        };
        check([255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        check([0, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        check([0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        check([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
    }
}
