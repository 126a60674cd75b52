//! Whole sessions through the engine's ports: over simulated parts in virtual time, and for real in local sandboxes.

mod evidence;
mod fixture;
mod gateway;
mod healthcheck;
mod local;
mod reach;
mod simulated;
mod steps;
mod verification;
