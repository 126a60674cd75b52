//! Lines to and from an agent's process: what it writes, one by one and with a limit ([`read_lines`]), and a writer that
//! knows when a line was flushed ([`LineWriter`]).

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    sync::mpsc,
};

use super::child::{Stdin, Stdout};

/// Bytes of one line of an agent: as much as a large file in an edit, and no more than a host can hold for many.
pub(super) const LINE_MAX: usize = 32 << 20;

/// Lines that wait to be taken in.
const AHEAD: usize = 64;

/// Lines of an agent, whatever bytes they hold. One that is too long is told and is the last. What comes once nobody
/// listens any more is read and forgotten: whoever goes on writing is not hurt by it.
pub(super) fn read_lines(stdout: Stdout) -> mpsc::Receiver<Result<String, String>> {
    let (tell, hear) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let mut from = BufReader::new(stdout);
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = LINE_MAX as u64 + 1;
            match (&mut from).take(limit).read_until(b'\n', &mut line).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
            if line.len() > LINE_MAX {
                let why = format!("a line of more than {} MiB", LINE_MAX >> 20);
                let _ = tell.send(Err(why)).await;
                return;
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']).to_owned();
            if tell.send(Ok(text)).await.is_err() {
                break;
            }
        }
        drop(tell);
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    });
    hear
}

/// What is to be written.
enum Outgoing {
    /// A line, and what happens as soon as it is flushed.
    Line(String, Option<Flushed>),
    /// Nothing more: the stream is closed.
    End,
}

/// Happens as soon as a line is flushed.
type Flushed = Box<dyn FnOnce() + Send>;

/// Writes lines to an agent in the order in which they are sent. That an agent does not read any more is told by its end.
#[derive(Clone)]
pub(super) struct LineWriter(mpsc::UnboundedSender<Outgoing>);

impl LineWriter {
    /// Writes to that stream.
    pub(super) fn new(mut stdin: Stdin) -> Self {
        let (sender, mut lines) = mpsc::unbounded_channel::<Outgoing>();
        tokio::spawn(async move {
            while let Some(Outgoing::Line(mut line, flushed)) = lines.recv().await {
                line.push('\n');
                let written = async {
                    stdin.write_all(line.as_bytes()).await?;
                    stdin.flush().await
                };
                if written.await.is_err() {
                    return;
                }
                if let Some(flushed) = flushed {
                    flushed();
                }
            }
            let _ = stdin.shutdown().await;
        });
        Self(sender)
    }

    /// Sends a line.
    pub(super) fn send(&self, line: String) {
        let _ = self.0.send(Outgoing::Line(line, None));
    }

    /// Sends a line and has this done as soon as it is flushed.
    pub(super) fn send_then(&self, line: String, flushed: impl FnOnce() + Send + 'static) {
        let _ = self.0.send(Outgoing::Line(line, Some(Box::new(flushed))));
    }

    /// Closes the stream once everything is written.
    pub(super) fn end(&self) {
        let _ = self.0.send(Outgoing::End);
    }
}
