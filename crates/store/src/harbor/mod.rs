//! Files in Harbor's layout: a task's `task.toml` and its instruction.

mod instruction;
mod size;
mod task_toml;

pub(crate) use instruction::strip_canary;
pub(crate) use task_toml::{TaskSettings, read_task_toml};
