//! Contexts to bytes: terminal, Markdown, JSON and HTML. Pure; writing is the caller's.

mod calibration;
pub mod html;
mod json;
mod markdown;
mod terminal;

pub use calibration::{
    calibration_json, calibration_markdown, calibration_terminal, rereading_json,
    rereading_markdown, rereading_terminal,
};
pub use json::{compare_json, group_json, story_json};
pub use markdown::{group_markdown, tables_markdown};
pub(crate) use terminal::plain;
pub use terminal::{group_terminal, story_terminal, tables_terminal};
