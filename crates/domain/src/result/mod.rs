//! The fold of one log into a [`SessionResult`].

mod derive;
mod fold;
mod session_result;
mod steps;

pub use derive::SessionFacts;
pub use fold::{completion, distrusted, fold, of_session, steps, up_to_seal};
pub use session_result::{Class, Load, RequirementResult, SessionResult, StepResult};
pub use steps::completion_of_steps;
