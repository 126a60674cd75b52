//! What the engine needs from the outside: one file a port, with its contract.

pub mod agent;
pub mod check;
pub mod clock;
pub mod evidence;
pub mod executor;
pub mod gateway;
pub mod model;
pub mod record;
pub mod sandbox;
pub mod user;
pub mod watch;
pub mod wire;
