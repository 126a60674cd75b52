//! Implementers of the engine's ports: whatever touches the world outside.

pub mod process;
pub mod sandboxes;
