//! Replay: a log is decided again and must come out the same ([`replay`]).

use alloc::sync::Arc;

use thiserror::Error;

use super::{Entry, IllegalEntry, Scenario, Session};

/// Where a log differs from what this machine decides.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("entry {seq}: {reason}")]
pub struct Divergence {
    /// The entry.
    pub seq: u64,
    /// How it differs.
    pub reason: IllegalEntry,
}

/// Applies every entry to a fresh session; the log may end before the session does.
pub fn replay<'a>(
    scenario: Arc<Scenario>,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Session, Divergence> {
    let mut session = Session::new(scenario);
    for entry in entries {
        session.apply(entry).map_err(|reason| Divergence { seq: entry.seq, reason })?;
    }
    Ok(session)
}
