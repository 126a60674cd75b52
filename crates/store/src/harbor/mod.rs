//! Files in Harbor's layout: a task's `task.toml`, its instruction and its folders, and what a finished run is written
//! as ([`job`]).

pub mod adhoc;
mod artifacts;
mod environment;
mod folder;
mod ignored;
mod instruction;
pub mod job;
mod manner;
mod network;
pub mod reading;
mod size;
mod steps;
mod task_toml;

pub(crate) use environment::look_into;
pub(crate) use instruction::strip_canary;
pub(crate) use manner::Manner;
pub(crate) use task_toml::read_task_toml;
