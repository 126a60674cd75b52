//! What the engine needs from the outside: one file a port, with its contract.

pub mod sandbox;
