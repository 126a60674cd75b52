//! The harness's wire: all that a sandbox can reach, and what is seen of it.

pub mod gateway;
