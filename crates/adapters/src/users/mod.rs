//! Users: who words what the controller wants said.

mod template;

pub use template::TemplateUser;
