//! Drivers of real agents, each against a program that speaks its protocol inside a sandbox.

mod acp;
mod cli;
mod human;
mod model_loop;
mod opened;
mod stage;
mod stream;
