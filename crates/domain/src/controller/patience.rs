//! When the user gives up on an agent that does nothing, or says the same again and again
//! ([`Streaks`]).

use alloc::string::String;

use super::TurnKind;
use crate::{fault::Ending, release::Patience};

/// Turns in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Streaks {
    /// Idle ones.
    pub idle: u32,
    /// Ones with the same message and no change, the first of them included.
    pub same: u32,
    last_message: String,
}

impl Streaks {
    pub(super) fn count(&mut self, kind: TurnKind, message: &str, has_changed: bool) {
        self.idle = if kind == TurnKind::Idle { self.idle + 1 } else { 0 };
        let is_same = !message.is_empty() && message == self.last_message && !has_changed;
        self.same = if is_same { self.same + 1 } else { 1 };
        self.last_message = String::from(message);
    }

    /// The ending that the last turn brings about, if patience is used up.
    pub(super) fn ending(&self, patience: &Patience) -> Option<Ending> {
        if self.idle >= patience.silent_turns.max(1) {
            Some(Ending::Silent)
        } else if self.same >= patience.repeated_turns.max(2) {
            Some(Ending::Repeats)
        } else {
            None
        }
    }
}
