//! Who listens while sessions run: a [`Watch`] hears log entries and nothing else, and cannot stop a session.

use domain::{
    ids::{Attempt, PairId, Repeat},
    session::Entry,
};

/// Which attempt an entry belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// The pair.
    pub pair: PairId,
    /// The repeat.
    pub repeat: Repeat,
    /// The attempt.
    pub attempt: Attempt,
}

/// A listener; it must return at once.
pub trait Watch: Send + Sync {
    /// An entry was written.
    fn heard(&self, session: &SessionKey, entry: &Entry);
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn heard(&self, _: &SessionKey, _: &Entry) {}
}
