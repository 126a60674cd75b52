//! Tests of the sandbox port: what every implementer must do, and what the local one promises beyond that.

mod conformance;
mod docker;
mod evidence;
mod isolation;
mod lifetime;
mod limits;
mod ordinary_user;
mod services;
mod stage;
mod ways_out;
mod weather;
mod wire;
