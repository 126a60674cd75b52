//! Outputs of a command that is run to its end: [`Output`] keeps head and tail, [`wait`] reads both until the end.

use std::time::Duration;

use tokio::{
    sync::oneshot,
    time::{sleep_until, timeout},
};

use super::streams::{Incoming, Piece};
use crate::sandboxes::supervision::cut::Cut;

/// What an ended command has left in its pipes is here by then.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How the wait for a command came out.
pub(super) enum Waited {
    /// It ended with this status of `waitpid`.
    Ended(i32),
    /// Its time ran out.
    TimedOut,
    /// The program inside is gone.
    Lost,
}

/// An output that is kept head and tail.
pub(super) struct Output {
    pieces: Incoming,
    cut: Cut,
    state: OutputState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputState {
    Open,
    /// The command has left nothing more; others may still write.
    Drained,
    Closed,
}

impl Output {
    /// Of this stream at most so many bytes are kept.
    pub(super) fn new(pieces: Incoming, max: usize) -> Self {
        Self { pieces, cut: Cut::new(max), state: OutputState::Open }
    }

    /// Waits for bytes; never returns once the stream has ended.
    async fn read(&mut self) {
        if self.state == OutputState::Closed {
            return std::future::pending().await;
        }
        match self.pieces.next().await {
            Some(Piece::Bytes(bytes)) => self.cut.push(&bytes),
            Some(Piece::Drained) => self.state = OutputState::Drained,
            None => self.state = OutputState::Closed,
        }
    }

    /// Takes what the ended command has left; what others go on to write is thrown away.
    pub(super) async fn finish(mut self) -> Vec<u8> {
        let drained = async {
            while self.state == OutputState::Open {
                self.read().await;
            }
        };
        // One that does not come to an end has been cut where it is.
        let _ = timeout(DRAIN_TIMEOUT, drained).await;
        self.pieces.discard();
        self.cut.into_bytes()
    }
}

/// Reads both streams until the command ends or its time is over.
pub(super) async fn wait(
    [stdout, stderr]: &mut [Output; 2],
    ended: &mut oneshot::Receiver<i32>,
    within: Duration,
) -> Waited {
    let deadline = tokio::time::Instant::now() + within;
    loop {
        tokio::select! {
            biased;
            status = &mut *ended => return status.map_or(Waited::Lost, Waited::Ended),
            () = sleep_until(deadline) => return Waited::TimedOut,
            () = stdout.read() => {}
            () = stderr.read() => {}
        }
    }
}
