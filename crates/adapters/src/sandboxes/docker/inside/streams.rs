//! Streams of commands inside: [`send`] carries an output to the harness, [`receive`] its input to a command.

use std::{io, os::fd::OwnedFd, rc::Rc};

use nix::{fcntl::OFlag, unistd::pipe2};
use tokio::{
    io::AsyncWriteExt,
    net::unix::pipe::{Receiver, Sender},
    sync::{mpsc, watch},
};

use crate::sandboxes::docker::{
    credit::Credit,
    frames::{BLOCK, Frame, Kind, Stream, WINDOW},
};

/// Blocks that a pipe holds at most: what an ended command can have left there.
const PIPE_BLOCKS: u32 = 16;

/// Bytes of a pipe that carries much: every filling of it costs two turns of the processor.
const WIDE_PIPE: i32 = 1 << 20;

/// Makes room in a pipe. Where the host does not allow that, it only takes longer.
pub(super) fn widen(pipe: &OwnedFd) {
    let _ = nix::fcntl::fcntl(pipe, nix::fcntl::FcntlArg::F_SETPIPE_SZ(WIDE_PIPE));
}

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

/// What is to be done with an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Send it.
    #[default]
    Open,
    /// The command has ended: say when what it left has been sent.
    Ended,
    /// Read it and throw it away, so that nobody dies of a closed pipe.
    Discard,
    /// Close it.
    Closed,
}

/// Where an output goes to.
pub(super) struct Destination {
    pub id: u64,
    pub stream: Stream,
    pub credit: Rc<Credit>,
    pub mode: watch::Receiver<Mode>,
    pub out: mpsc::Sender<Frame>,
}

/// Carries an output to the harness until it ends or is closed.
pub(super) async fn send(pipe: Receiver, mut to: Destination) {
    let mut block = vec![0_u8; BLOCK];
    let mut left = None;
    let mut has_ended = false;
    loop {
        let mode = *to.mode.borrow_and_update();
        match mode {
            Mode::Closed => return to.say(Kind::End).await,
            Mode::Discard => {
                discard(pipe, &mut to.mode).await;
                return to.say(Kind::End).await;
            }
            Mode::Ended if !has_ended => {
                has_ended = true;
                left = Some(PIPE_BLOCKS);
            }
            Mode::Open | Mode::Ended => {}
        }
        if left == Some(0) {
            left = None;
            to.say(Kind::Drained).await;
        }
        let room = tokio::select! {
            biased;
            changed = to.mode.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            room = to.credit.take(BLOCK) => room,
        };
        let read = match pipe.try_read(&mut block[..room]) {
            // That answers from what the last turn of the runtime saw, and the end of a command can be heard of before
            // the next: what it left is asked of the kernel itself.
            Err(error) if left.is_some() && error.kind() == io::ErrorKind::WouldBlock => {
                nix::unistd::read(&pipe, &mut block[..room]).map_err(io::Error::from)
            }
            read => read,
        };
        match read {
            Ok(length) if length > 0 => {
                to.credit.grant(room - length);
                let bytes = Frame::bytes(to.stream, to.id, block[..length].to_vec());
                if to.out.send(bytes).await.is_err() {
                    return;
                }
                left = left.map(|left| left - 1);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                to.credit.grant(room);
                if left.take().is_some() {
                    to.say(Kind::Drained).await;
                }
                tokio::select! {
                    biased;
                    changed = to.mode.changed() => if changed.is_err() { return },
                    // A failure shows at the next reading.
                    _ = pipe.readable() => {}
                }
            }
            Ok(_) | Err(_) => return to.say(Kind::End).await,
        }
    }
}

impl Destination {
    async fn say(&self, kind: Kind) {
        // If nobody is there any more, the supervisor ends.
        let _ = self.out.send(Frame::about(kind, self.stream, self.id)).await;
    }
}

async fn discard(pipe: Receiver, mode: &mut watch::Receiver<Mode>) {
    let mut block = vec![0_u8; BLOCK];
    loop {
        tokio::select! {
            biased;
            changed = mode.changed() => {
                if changed.is_err() || *mode.borrow_and_update() == Mode::Closed {
                    return;
                }
            }
            readable = pipe.readable() => {
                if readable.is_err() {
                    return;
                }
                match pipe.try_read(&mut block) {
                    Ok(0) => return,
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                    _ => {}
                }
            }
        }
    }
}

/// Carries what the harness sends to a command, until it ends or the command does not read any more.
pub(super) async fn receive(
    mut pipe: Sender,
    id: u64,
    mut blocks: mpsc::UnboundedReceiver<Vec<u8>>,
    out: mpsc::Sender<Frame>,
) {
    let mut written = 0;
    while let Some(block) = blocks.recv().await {
        if pipe.write_all(&block).await.is_err() {
            // It has closed its end; the harness is told, and what is on its way is dropped.
            let _ = out.send(Frame::about(Kind::Close, Stream::Stdin, id)).await;
            return;
        }
        written += block.len();
        if written >= WINDOW / 4 {
            let _ = out.send(Frame::credit(Stream::Stdin, id, written)).await;
            written = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The runtime has not looked at the pipe since something came, and the end is told first.
    #[test]
    fn what_an_ended_command_left_comes_before_drained() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let (pipe, theirs) = pipe_from().expect("a pipe");
            let (mode, changes) = watch::channel(Mode::Open);
            let (out, mut frames) = mpsc::channel(8);
            let credit = Rc::new(Credit::new(WINDOW));
            let to = Destination { id: 7, stream: Stream::Stdout, credit, mode: changes, out };
            tokio::task::spawn_local(send(pipe, to));
            // It has found the pipe empty and waits.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            std::fs::File::from(theirs.try_clone().expect("a copy"))
                .write_all(b"all")
                .expect("room");
            mode.send_replace(Mode::Ended);
            let first = frames.recv().await.expect("a frame");
            assert_eq!((first.kind, first.payload.as_slice()), (Kind::Bytes, &b"all"[..]));
            assert_eq!(frames.recv().await.expect("a frame").kind, Kind::Drained);
            drop(theirs);
            assert_eq!(frames.recv().await.expect("a frame").kind, Kind::End);
        });
    }
}
