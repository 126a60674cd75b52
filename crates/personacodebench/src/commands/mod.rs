//! One file a command: its arguments, whose doc comments are the help texts, and a thin `run`.

pub mod agent;
pub mod calibrate;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod export;
pub mod lint;
pub mod list;
pub mod lock;
pub mod man;
pub mod model;
pub mod new;
pub mod power;
pub mod published;
pub mod replay;
pub mod report;
pub mod resume;
pub mod run;
pub mod schema;
pub mod show;
pub mod task;
