//! The gateway between a client and a scripted provider: what it measures, how it meets every way in which a provider can
//! fail, and what it keeps shut.

mod faults;
mod hosted;
mod measured;
mod shut;
mod small_model;
mod stage;
