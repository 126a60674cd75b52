//! What is written once an attempt's log is closed: [`EndRecord`].

use domain::ids::Hash;

/// When an attempt ended and what its log is; a log that was touched later does not fit it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndRecord {
    /// When it ended, see [`crate::utc::text`].
    pub ended_utc: String,
    /// Entries of the log.
    pub entries: u64,
    /// Hash of the whole log.
    pub log: Hash,
}
