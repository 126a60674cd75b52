//! Agents under test: the scripted ones that ship with the tool.

mod matching;
mod scripted;

pub use scripted::{ScriptedAgent, Solution, Solves};
