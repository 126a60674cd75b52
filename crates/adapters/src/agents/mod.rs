//! Agents under test: the scripted ones that ship with the tool, and drivers of real ones.

mod acp;
mod child;
mod matching;
pub mod placeholders;
mod scripted;

pub use acp::{AcpAgent, AcpLaunch};
pub use scripted::{ScriptedAgent, Solution, Solves};
