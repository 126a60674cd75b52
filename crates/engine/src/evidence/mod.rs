//! All evidence of one running session, gathered as it comes: [`Gathered`].

mod base;
mod gathered;
mod line_diff;
mod transcript;
mod tree_diff;

pub use gathered::{CapturedTurn, EVENTS_PER_TURN_MAX, Gathered};
