//! The session machine from outside: scripts of whole sessions, properties of random ones,
//! references written otherwise.

mod conditions;
mod dice;
mod endings;
mod handoffs;
mod ledger;
mod model;
mod permissions;
mod player;
mod random;
mod script;
mod setting;
mod steps;
mod turns;
