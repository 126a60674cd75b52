//! Models by their providers' forms: what the gateway reads in passing, what our own calls speak, and a scripted one.

pub mod caller;
pub mod exchange;
pub mod formats;
pub mod http;
pub mod patience;
pub mod provider;
pub mod recorded;
pub mod scripted;
pub mod secret;
