//! Tests of what runs in a container and of the harness's end of it, without an engine: in a process namespace.

mod commands;
mod files;
mod log;
mod privileges;
mod stage;
mod streams;
mod tree;
