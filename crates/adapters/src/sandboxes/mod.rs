//! Implementers of the sandbox port.

pub mod docker;
pub mod doorway;
pub mod layer;
pub mod local;
mod making;
pub mod simulated;
mod supervision;
