//! Wording in code: the guard of a message, its pure review, and the template that needs no model.

mod assent;
mod frame;
mod guard;
mod language;
mod literal;
mod note;
mod rejection;
mod review;
mod template;

pub use assent::assents;
pub use guard::{GuardInput, guard};
pub use literal::literals;
pub use note::SESSION_NOTE;
pub use rejection::Rejection;
pub use review::{review, review_template};
pub use template::template;
