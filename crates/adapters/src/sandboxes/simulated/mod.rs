//! A sandbox of virtual files and virtual time, with named fault points: [`SimulatedSandboxes`].
//!
//! Programs are lines of a tiny language (`shell.rs`); nothing of the host is touched. The same session takes
//! the same course at every run.

mod edge;
mod faults;
mod sandbox;
mod shell;
mod tree;

pub use faults::{FaultEffect, FaultPlan, FaultPoint};
pub use sandbox::SimulatedSandboxes;
