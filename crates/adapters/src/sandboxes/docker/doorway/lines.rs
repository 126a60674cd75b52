//! Connections of a sandbox on their way between keeper and harness: [`Lines`] carries the bytes of each as frames, against
//! credit, at either end alike.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot},
};

use super::{
    super::{
        credit::Credit,
        frames::{BLOCK, Frame, Kind, Stream},
    },
    words::WINDOW,
};

/// All connections of one edge at one end.
#[derive(Debug)]
pub(super) struct Lines {
    out: mpsc::Sender<Frame>,
    ends: Mutex<HashMap<u64, End>>,
}

/// What the other end may still do to a connection; dropping it ends what comes from there.
#[derive(Debug)]
struct End {
    /// None once the other end has said that nothing more comes.
    pieces: Option<mpsc::UnboundedSender<Vec<u8>>>,
    /// What may be sent there; none once it does not read any more, which dropping the second tells.
    sending: Option<(Arc<Credit>, oneshot::Sender<()>)>,
}

impl Lines {
    /// No connection yet; frames go out by this.
    pub(super) fn new(out: mpsc::Sender<Frame>) -> Arc<Self> {
        Arc::new(Self { out, ends: Mutex::default() })
    }

    /// Carries a connection until both directions have ended; `left` ends once nobody here takes its bytes any more.
    pub(super) fn carry(
        self: &Arc<Self>,
        id: u64,
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        left: impl Future<Output = ()> + Send + 'static,
    ) {
        let (pieces, incoming) = mpsc::unbounded_channel();
        let credit = Arc::new(Credit::new(WINDOW));
        let (reads, unread) = oneshot::channel();
        let end = End { pieces: Some(pieces), sending: Some((Arc::clone(&credit), reads)) };
        self.ends().insert(id, end);
        let lines = Arc::clone(self);
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(stream);
            let sent = async {
                tokio::select! {
                    () = send(read, id, &credit, &lines.out) => {}
                    // An error is the end of whoever would read.
                    _ = unread => {}
                }
            };
            tokio::join!(sent, receive(write, id, incoming, &lines.out, left));
            lines.ends().remove(&id);
        });
    }

    /// What the other end says of a connection; one that is over needs nothing any more.
    pub(super) fn hear(&self, frame: Frame) {
        let mut ends = self.ends();
        let Some(end) = ends.get_mut(&frame.id) else { return };
        match frame.kind {
            Kind::Bytes => {
                if let Some(pieces) = &end.pieces {
                    // Whoever does not take them has said so.
                    let _ = pieces.send(frame.payload);
                }
            }
            Kind::End => end.pieces = None,
            Kind::Credit => {
                if let Some((credit, _)) = &end.sending {
                    credit.grant(frame.granted());
                }
            }
            Kind::Close => end.sending = None,
            _ => {}
        }
    }

    /// The other end is gone: every connection ends.
    pub(super) fn lose(&self) {
        self.ends().clear();
    }

    fn ends(&self) -> MutexGuard<'_, HashMap<u64, End>> {
        // Every critical section leaves whole values.
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads to the end, as far as the other end takes it, and says that it is the end. Without another end nothing of it
/// matters.
async fn send(
    mut read: impl AsyncRead + Unpin,
    id: u64,
    credit: &Credit,
    out: &mpsc::Sender<Frame>,
) {
    loop {
        let room = credit.take(BLOCK).await;
        let mut piece = vec![0_u8; room];
        let length = read.read(&mut piece).await.unwrap_or(0);
        credit.grant(room - length);
        if length == 0 {
            let _ = out.send(Frame::about(Kind::End, Stream::Stdin, id)).await;
            return;
        }
        piece.truncate(length);
        if out.send(Frame::bytes(Stream::Stdin, id, piece)).await.is_err() {
            return;
        }
    }
}

/// Writes what comes, grants as much again, and says so if nobody takes it any more.
async fn receive(
    mut write: impl AsyncWrite + Unpin,
    id: u64,
    mut pieces: mpsc::UnboundedReceiver<Vec<u8>>,
    out: &mpsc::Sender<Frame>,
    left: impl Future<Output = ()>,
) {
    let written = async {
        while let Some(piece) = pieces.recv().await {
            if write.write_all(&piece).await.is_err() {
                return false;
            }
            let credit = Frame::credit(Stream::Stdin, id, piece.len());
            if out.send(credit).await.is_err() {
                return true;
            }
        }
        // A peer that is gone needs no end.
        let _ = write.shutdown().await;
        true
    };
    let is_over = tokio::select! {
        is_over = written => is_over,
        () = left => false,
    };
    if !is_over {
        let _ = out.send(Frame::about(Kind::Close, Stream::Stdin, id)).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    /// A connection with both ends of its line between: its two outer ends, and what lets the second one leave.
    fn line() -> (DuplexStream, DuplexStream, oneshot::Sender<()>, [Arc<Lines>; 2]) {
        let (near_out, mut near_frames) = mpsc::channel(4);
        let (far_out, mut far_frames) = mpsc::channel(4);
        let (near, far) = (Lines::new(near_out), Lines::new(far_out));
        let lines = [Arc::clone(&near), Arc::clone(&far)];
        let (here, inner) = duplex(1 << 10);
        let (there, outer) = duplex(1 << 10);
        let (leave, left) = oneshot::channel::<()>();
        near.carry(7, inner, std::future::pending());
        far.carry(7, outer, async move { drop(left.await) });
        tokio::spawn(async move {
            while let Some(frame) = near_frames.recv().await {
                far.hear(frame);
            }
        });
        tokio::spawn(async move {
            while let Some(frame) = far_frames.recv().await {
                near.hear(frame);
            }
        });
        (here, there, leave, lines)
    }

    #[tokio::test]
    async fn more_than_a_window_passes_both_ways_and_ends() {
        let (here, there, _leave, lines) = line();
        let much: Vec<u8> = (0..3 * WINDOW).map(|at| (at % 251) as u8).collect();
        let both = [here, there].map(|end| {
            let (mut read, mut write) = tokio::io::split(end);
            let much = much.clone();
            tokio::spawn(async move {
                let written = async {
                    write.write_all(&much).await.unwrap();
                    write.shutdown().await.unwrap();
                };
                let mut got = Vec::new();
                let (_, read) = tokio::join!(written, read.read_to_end(&mut got));
                read.unwrap();
                assert_eq!(got, much);
            })
        });
        for end in both {
            end.await.unwrap();
        }
        tokio::task::yield_now().await;
        assert!(lines.iter().all(|lines| lines.ends().is_empty()), "a line outlives its ends");
    }

    #[tokio::test]
    async fn what_nobody_reads_waits_for_credit() {
        let (mut here, _there, _leave, _lines) = line();
        let sent = async {
            let mut sent = 0;
            loop {
                sent += here.write(&[0; 512]).await.unwrap();
                assert!(sent < 2 * WINDOW, "{sent}");
            }
        };
        let waits = tokio::time::timeout(std::time::Duration::from_millis(200), sent).await;
        assert!(waits.is_err());
    }

    #[tokio::test]
    async fn an_end_that_leaves_closes_the_other() {
        let (mut here, there, leave, _lines) = line();
        drop((there, leave));
        let mut got = Vec::new();
        here.read_to_end(&mut got).await.unwrap();
        let written = async { while here.write_all(&[0; 512]).await.is_ok() {} };
        let ended = tokio::time::timeout(std::time::Duration::from_secs(5), written).await;
        assert!(ended.is_ok(), "it takes bytes that nobody reads");
    }

    #[tokio::test]
    async fn a_lost_end_ends_everything() {
        let (mut here, _there, _leave, lines) = line();
        lines[0].lose();
        let mut got = Vec::new();
        here.read_to_end(&mut got).await.unwrap();
        assert!(got.is_empty());
    }
}
