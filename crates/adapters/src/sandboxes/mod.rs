//! Implementers of the sandbox port.

pub mod docker;
pub mod local;
pub mod simulated;
mod supervision;
