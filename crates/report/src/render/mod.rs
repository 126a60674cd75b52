//! Contexts to bytes: terminal, Markdown and JSON. Pure; writing is the caller's.

mod json;
mod markdown;
mod terminal;

pub use json::{group_json, story_json};
pub use markdown::{group_markdown, tables_markdown};
pub(crate) use terminal::plain;
pub use terminal::{group_terminal, story_terminal, tables_terminal};
