//! How strictly a task is read: as part of a release of ours, or as somebody else's ([`Manner`]).

use crate::release_files::sheet::UnknownKeys;

/// How strictly a task is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Part of a release: what nothing reads is an error, and the house's defaults hold.
    Release,
    /// Somebody else's, as it is: what nothing reads is a warning, and Harbor's defaults hold.
    AdHoc,
}

impl Manner {
    /// What becomes of keys that nothing reads.
    pub(crate) fn unknown_keys(self) -> UnknownKeys {
        match self {
            Manner::Release => UnknownKeys::Refuse,
            Manner::AdHoc => UnknownKeys::Warn,
        }
    }
}
