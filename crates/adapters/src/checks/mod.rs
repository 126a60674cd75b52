//! Checks that read content or run programs in throw-away forks ([`SandboxChecks`]): files, git, tests, scripts,
//! what was handed over, databases and secrets.

mod artifact;
mod database;
mod files;
mod fork;
mod git;
mod git_objects;
mod script;
mod secret;
mod suite;

pub use artifact::content_holds;

use domain::{
    acceptance::{Reading, Truth},
    evidence::Missing,
    ids::Turn,
    release::CheckKind,
};
use engine::ports::{
    check::Checks,
    evidence::Evidence,
    sandbox::{Ended, Finished, SandboxFault},
};

/// Reads checks by the evidence's tree, its content and runs in its forks. Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SandboxChecks;

#[async_trait::async_trait]
impl Checks for SandboxChecks {
    async fn read(
        &self,
        kind: &CheckKind,
        since: Option<Turn>,
        evidence: &dyn Evidence,
    ) -> Result<Reading, SandboxFault> {
        let known = match kind {
            CheckKind::Fs { path, is, contains, lacks, since: _ } => {
                let demand = files::Demand {
                    path,
                    is: *is,
                    contains: contains.as_deref(),
                    lacks: lacks.as_deref(),
                };
                files::read(&demand, since, evidence).await?
            }
            CheckKind::Git {
                repo,
                branch,
                commits,
                message,
                author,
                clean,
                history_kept,
                merges,
            } => {
                let demand = git::Demand {
                    branch: branch.as_deref(),
                    commits: *commits,
                    message: message.as_deref(),
                    author: author.as_deref(),
                    clean: *clean,
                    history_kept: *history_kept,
                    merges: *merges,
                };
                git::read(&demand, repo.as_deref(), evidence).await?
            }
            CheckKind::Test { run, proves, tests, timeout_sec } => {
                let suite = suite::Suite { run, tests, timeout_sec: *timeout_sec };
                suite.read(*proves, evidence).await?
            }
            CheckKind::Script { file, timeout_sec } => {
                script::read(file, *timeout_sec, evidence).await?
            }
            CheckKind::Artifact(demand) => artifact::read(demand, evidence).await?,
            CheckKind::Db(demand) => database::read(demand, evidence).await?,
            CheckKind::Secret(demand) => secret::read(demand, evidence).await?,
            CheckKind::Diff { .. }
            | CheckKind::Metric { .. }
            | CheckKind::Exec { .. }
            | CheckKind::Edit { .. }
            | CheckKind::Message(_)
            | CheckKind::Net { .. } => Known::unknown("read from recorded events"),
        };
        Ok(Reading::State { truth: known.truth, witness: shorten(&known.witness) })
    }
}

/// What a check found out, with a short reason.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    truth: Truth,
    witness: String,
}

impl Known {
    fn holds(is_so: bool, witness: impl Into<String>) -> Self {
        let truth = if is_so { Truth::True } else { Truth::False };
        Self { truth, witness: witness.into() }
    }

    fn unknown(witness: impl Into<String>) -> Self {
        Self { truth: Truth::Unknown(Missing::ChannelMissing), witness: witness.into() }
    }
}

/// What takes a reader longer than this is nothing that a person can open.
const READ_SEC_MAX: u64 = 30;

/// Reads what an agent made, beside the threads that the sessions need. What breaks the reader, or keeps it for
/// too long, is something that nobody could open.
async fn guarded(read: impl FnOnce() -> Known + Send + 'static) -> Known {
    let limit = std::time::Duration::from_secs(READ_SEC_MAX);
    let waited = tokio::task::spawn_blocking(move || read_within(limit, read)).await;
    waited.unwrap_or_else(|_| Known::holds(false, "reading it broke the reader"))
}

/// A thread that is late is left to end by itself: no library can be stopped from outside.
fn read_within(limit: std::time::Duration, read: impl FnOnce() -> Known + Send + 'static) -> Known {
    use std::sync::mpsc::{RecvTimeoutError, sync_channel};

    let (told, heard) = sync_channel(1);
    let reader = std::thread::Builder::new().name("reader".into()).spawn(move || {
        // Nobody hears what comes too late.
        let _ = told.send(read());
    });
    if let Err(error) = reader {
        return Known::unknown(format!("no thread to read it: {error}"));
    }
    heard.recv_timeout(limit).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Known::holds(false, "nobody could open it in time"),
        RecvTimeoutError::Disconnected => Known::holds(false, "reading it broke the reader"),
    })
}

/// A witness stands inline in the log.
fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &one_line[..end]),
        None => one_line,
    }
}

/// How a run ended, in words, with the last thing that it said.
fn describe(finished: &Finished) -> String {
    let how = match finished.ended {
        Ended::Exited(code) => format!("exit {code}"),
        Ended::Signalled(signal) => format!("killed by signal {signal}"),
        Ended::OutOfMemory => "out of memory".into(),
        Ended::TimedOut => "out of time".into(),
        Ended::NotStarted => "not started".into(),
    };
    let said = last_line(&finished.stderr).or_else(|| last_line(&finished.stdout));
    said.map_or(how.clone(), |said| format!("{how}: {said}"))
}

fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[test]
    fn readers_are_bounded() {
        let (release, held) = mpsc::channel::<()>();
        let late = read_within(Duration::from_millis(50), move || {
            let _ = held.recv();
            Known::holds(true, "")
        });
        drop(release);
        assert_eq!(late, Known::holds(false, "nobody could open it in time"));
        let long = Duration::from_secs(60);
        let broken = read_within(long, || std::panic::resume_unwind(Box::new(())));
        assert_eq!(broken, Known::holds(false, "reading it broke the reader"));
        assert_eq!(read_within(long, || Known::holds(true, "")), Known::holds(true, ""));
    }
}
