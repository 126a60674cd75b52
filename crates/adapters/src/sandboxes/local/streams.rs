//! Output of a command: [`Outputs`] reads two pipes until the command has ended.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use nix::{errno::Errno, fcntl::OFlag, unistd::pipe2};
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe::{Receiver, Sender},
    sync::oneshot,
    time::{Instant, sleep_until},
};

use crate::sandboxes::supervision::cut::Cut;

const BLOCK: usize = 64 * 1024;

/// A pipe that a command reads: our end and the command's.
pub(super) fn pipe_to() -> io::Result<(Sender, OwnedFd)> {
    let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
    Ok((Sender::from_owned_fd(ours)?, theirs))
}

/// A pipe that a command writes: our end and the command's.
pub(super) fn pipe_from() -> io::Result<(Receiver, OwnedFd)> {
    let (ours, theirs) = pipe2(OFlag::O_CLOEXEC)?;
    Ok((Receiver::from_owned_fd(ours)?, theirs))
}

/// How the wait for a command came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// It ended with this status of `waitpid`.
    Ended(i32),
    /// Its time ran out.
    TimedOut,
    /// The supervisor vanished.
    Lost,
}

/// The two output streams of a command.
pub(super) struct Outputs {
    stdout: Stream,
    stderr: Stream,
}

struct Stream {
    pipe: Option<Receiver>,
    cut: Cut,
}

impl Outputs {
    /// Streams that keep at most so many bytes each.
    pub(super) fn new(stdout: Receiver, stderr: Receiver, max: usize) -> Self {
        let stream = |pipe| Stream { pipe: Some(pipe), cut: Cut::new(max) };
        Self { stdout: stream(stdout), stderr: stream(stderr) }
    }

    /// Reads both streams until the command ends or its time is over.
    pub(super) async fn wait(
        &mut self,
        ended: &mut oneshot::Receiver<i32>,
        timeout: Duration,
    ) -> Waited {
        let deadline = Instant::now() + timeout;
        loop {
            tokio::select! {
                biased;
                status = &mut *ended => {
                    return status.map_or(Waited::Lost, Waited::Ended);
                }
                () = sleep_until(deadline) => return Waited::TimedOut,
                () = self.stdout.read() => {}
                () = self.stderr.read() => {}
            }
        }
    }

    /// Takes what the ended command has left in its pipes and answers stdout and stderr.
    ///
    /// What it left running may go on to write: that is read and thrown away, so that nobody dies of a closed pipe.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        self.stdout.drain();
        self.stderr.drain();
        (self.stdout.finish(), self.stderr.finish())
    }
}

impl Stream {
    /// Waits for bytes; never returns once the stream has ended.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        let mut block = vec![0_u8; BLOCK];
        match pipe.read(&mut block).await {
            Ok(length) if length > 0 => self.cut.push(&block[..length]),
            _ => self.pipe = None,
        }
    }

    fn drain(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut block = vec![0_u8; BLOCK];
        // A process that floods the pipe must not hold us here: a pipe's worth is all the command can have left.
        for _ in 0..16 {
            match nix::unistd::read(pipe.as_fd(), &mut block) {
                Ok(0) => {
                    self.pipe = None;
                    return;
                }
                Ok(length) => self.cut.push(&block[..length]),
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    fn finish(self) -> Vec<u8> {
        if let Some(mut pipe) = self.pipe {
            tokio::spawn(async move {
                let mut block = vec![0_u8; BLOCK];
                while matches!(pipe.read(&mut block).await, Ok(length) if length > 0) {}
            });
        }
        self.cut.into_bytes()
    }
}
