//! The fold of one log into a [`SessionResult`].

mod derive;
mod session_result;

pub use derive::SessionFacts;
pub use session_result::{Class, Load, RequirementResult, SessionResult};
