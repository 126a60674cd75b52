//! The agent's streams as the protocol's crate wants them: lines with a limit in, and out a writer that knows when
//! a prompt was flushed ([`Deliveries`]).

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::{Sink, Stream, StreamExt as _};
use tokio::{io::AsyncWrite as _, sync::Notify};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use crate::agents::{
    child::{Stdin, Stdout},
    lines::LINE_MAX,
};

/// Within so many bytes of a message its method is named.
const METHOD_WITHIN: usize = 512;

/// Told each time that a prompt was written whole and flushed.
#[derive(Clone, Default)]
pub(super) struct Deliveries(Arc<Notify>);

impl Deliveries {
    /// Waits for the next one.
    pub(super) async fn next(&self) {
        self.0.notified().await;
    }
}

/// Lines of the agent. One that is too long breaks the stream: what is cut means something else.
pub(super) fn lines(stdout: Stdout) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    let lines = FramedRead::new(stdout, LinesCodec::new_with_max_length(LINE_MAX));
    lines.map(|line| {
        line.map_err(|error| match error {
            LinesCodecError::Io(error) => error,
            LinesCodecError::MaxLineLengthExceeded => {
                io::Error::other(format!("a message of more than {} MiB", LINE_MAX >> 20))
            }
        })
    })
}

/// Takes messages, one a line, and writes them to the agent.
pub(super) struct Outgoing {
    stdin: Stdin,
    /// What is not written yet.
    waiting: Vec<u8>,
    written: usize,
    holds_prompt: bool,
    deliveries: Deliveries,
}

impl Outgoing {
    pub(super) fn new(stdin: Stdin, deliveries: Deliveries) -> Self {
        Self { stdin, waiting: Vec::new(), written: 0, holds_prompt: false, deliveries }
    }

    fn poll_write_out(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.waiting.len() {
            let rest = &self.waiting[self.written..];
            match ready!(Pin::new(&mut self.stdin).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        self.waiting.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl Sink<String> for Outgoing {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_out(context)
    }

    fn start_send(mut self: Pin<&mut Self>, line: String) -> io::Result<()> {
        let head = &line.as_bytes()[..line.len().min(METHOD_WITHIN)];
        self.holds_prompt |= head.windows(METHOD.len()).any(|window| window == METHOD);
        self.waiting.extend_from_slice(line.as_bytes());
        self.waiting.push(b'\n');
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_out(context))?;
        ready!(Pin::new(&mut self.stdin).poll_flush(context))?;
        if std::mem::take(&mut self.holds_prompt) {
            self.deliveries.0.notify_one();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        Pin::new(&mut self.stdin).poll_shutdown(context)
    }
}

const METHOD: &[u8] = b"\"session/prompt\"";
