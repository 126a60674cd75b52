//! Tests of what runs in a container and of the harness's end of it, without an engine: in a process namespace.

mod commands;
mod log;
mod stage;
