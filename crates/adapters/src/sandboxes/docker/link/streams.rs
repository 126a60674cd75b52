//! Streams of a started command at the harness's end: [`Incoming`] is read, [`Outgoing`] is written, both against credit.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc::{UnboundedReceiver, UnboundedSender},
};

use super::super::{
    credit::Credit,
    frames::{BLOCK, Frame, Kind, Stream, WINDOW},
};

/// What comes from an output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// The command has ended, and what it left in the stream has come.
    Drained,
}

/// An output of a command; dropping it closes the command's end.
pub(super) struct Incoming {
    pub id: u64,
    pub stream: Stream,
    pieces: UnboundedReceiver<Piece>,
    current: Vec<u8>,
    taken: usize,
    /// Bytes that were read and not yet granted again.
    owed: usize,
    has_ended: bool,
    out: UnboundedSender<Frame>,
}

impl Incoming {
    pub(super) fn new(
        id: u64,
        stream: Stream,
        pieces: UnboundedReceiver<Piece>,
        out: UnboundedSender<Frame>,
    ) -> Self {
        let (current, taken, owed, has_ended) = (Vec::new(), 0, 0, false);
        Self { id, stream, pieces, current, taken, owed, has_ended, out }
    }

    /// The next piece; none at the end. Never ends while the command may still write.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        let piece = self.pieces.recv().await;
        match &piece {
            Some(Piece::Bytes(bytes)) => self.grant(bytes.len()),
            Some(Piece::Drained) => {}
            None => self.has_ended = true,
        }
        piece
    }

    /// What comes from now on is read inside and thrown away, so that nobody dies of a closed pipe.
    pub(super) fn discard(mut self) {
        self.has_ended = true;
        let _ = self.out.send(Frame::about(Kind::Discard, self.stream, self.id));
    }

    fn grant(&mut self, bytes: usize) {
        self.owed += bytes;
        if self.owed >= WINDOW / 4 {
            // If nobody is there any more, the stream ends.
            let _ = self.out.send(Frame::credit(self.stream, self.id, self.owed));
            self.owed = 0;
        }
    }
}

impl AsyncRead for Incoming {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.taken == self.current.len() {
            match ready!(self.pieces.poll_recv(context)) {
                Some(Piece::Bytes(bytes)) => {
                    self.current = bytes;
                    self.taken = 0;
                }
                Some(Piece::Drained) => {}
                None => {
                    self.has_ended = true;
                    return Poll::Ready(Ok(()));
                }
            }
        }
        let length = buffer.remaining().min(self.current.len() - self.taken);
        buffer.put_slice(&self.current[self.taken..self.taken + length]);
        self.taken += length;
        self.grant(length);
        Poll::Ready(Ok(()))
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.out.send(Frame::about(Kind::Close, self.stream, self.id));
        }
    }
}

/// The input of a command; dropping it ends the input.
pub(super) struct Outgoing {
    id: u64,
    credit: Arc<Credit>,
    is_shut: bool,
    out: UnboundedSender<Frame>,
}

impl Outgoing {
    pub(super) fn new(id: u64, credit: Arc<Credit>, out: UnboundedSender<Frame>) -> Self {
        Self { id, credit, is_shut: false, out }
    }

    fn shut(&mut self) {
        if !self.is_shut {
            self.is_shut = true;
            let _ = self.out.send(Frame::about(Kind::End, Stream::Stdin, self.id));
        }
    }
}

impl AsyncWrite for Outgoing {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        if self.is_shut {
            return Poll::Ready(Err(broken()));
        }
        let length = ready!(self.credit.poll_take(context, bytes.len().min(BLOCK)));
        let frame = Frame::bytes(Stream::Stdin, self.id, bytes[..length].to_vec());
        if length == 0 || self.out.send(frame).is_err() {
            return Poll::Ready(Err(broken()));
        }
        Poll::Ready(Ok(length))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shut();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.shut();
    }
}
