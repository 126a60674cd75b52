//! Drivers of real agents, each against a program that speaks its protocol inside a sandbox.

mod acp;
mod cli;
mod opened;
mod stage;
mod stream;
