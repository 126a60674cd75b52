//! Wording in code: the guard of a message, its pure review, and the template that needs no model.

mod rejection;

pub use rejection::Rejection;
