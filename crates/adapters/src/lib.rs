//! Implementers of the engine's ports: whatever touches the world outside.

pub mod agents;
pub mod catalog;
pub mod checks;
pub mod clock;
pub mod executors;
pub mod models;
pub mod process;
pub mod sandboxes;
pub mod users;
pub mod wire;
