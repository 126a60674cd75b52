//! The fold of one log into a [`SessionResult`].

mod derive;
mod fold;
mod session_result;

pub use derive::SessionFacts;
pub use fold::{distrusted, fold, of_session, up_to_seal};
pub use session_result::{Class, Load, RequirementResult, SessionResult};
