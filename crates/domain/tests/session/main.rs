//! The session machine from outside: scripts of whole sessions, properties of random ones, references written otherwise.

mod endings;
mod handoffs;
mod permissions;
mod player;
mod script;
mod setting;
mod turns;
