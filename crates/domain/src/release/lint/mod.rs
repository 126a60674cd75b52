//! Lints of a release: everything that is wrong with it, all at once, as [`Note`]s.

mod note;

pub use note::{Note, NotePath, Severity};
