//! Implementers of the sandbox port.

pub mod local;
