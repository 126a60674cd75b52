//! Reads scores and logs and shows them: plain view contexts, renderers over them, and the live progress of a run.
//!
//! Nothing in here can start a session.

pub mod context;
pub mod live;
pub mod published;
pub mod render;
pub mod schema;
pub mod statistics;
