//! A permission that the controller gave ([`Grant`]).

use alloc::{string::String, vec::Vec};

use crate::{ids::Turn, release::ActionClass};

/// A permission token; it lives from the turn that its message opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What kind of action it covers.
    pub class: ActionClass,
    /// Paths or names that it covers; empty covers the class.
    pub scope: Vec<String>,
    /// The turn that the granting message opened.
    pub from: Turn,
    /// Acts that it covers.
    pub uses: u32,
    /// Turns for which it lives, `from` included.
    pub turns: u32,
    /// When the granting message was delivered, in milliseconds since the session's origin.
    pub given_ms: i64,
}
