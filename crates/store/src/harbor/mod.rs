//! Files in Harbor's layout: a task's `task.toml` and its instruction, and what a finished run is written as ([`job`]).

mod instruction;
pub mod job;
mod size;
mod task_toml;

pub(crate) use instruction::strip_canary;
pub(crate) use task_toml::{TaskSettings, read_task_toml};
