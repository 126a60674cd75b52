//! Implementers of the sandbox port.

pub mod local;
pub mod simulated;
