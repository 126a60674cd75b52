//! Agents under test: the scripted ones that ship with the tool, and drivers of real ones.

mod acp;
mod child;
mod cli;
mod intake;
mod lines;
mod matching;
pub mod placeholders;
mod scripted;
mod tools;

use domain::evidence::{Channel, ChannelSet};

pub use acp::{AcpAgent, AcpLaunch};
pub use cli::{
    BadDescription, CallMeaning, CliAgent, CliDescription, CliLaunch, EventMeaning, Expected,
    KindWord, Output, Place, PromptBy, ReturnMeaning, SHIPPED, SessionName, UseMeaning, UseSpan,
    shipped,
};
pub use scripted::{ScriptedAgent, Solution, Solves};

/// Evidence channels of a driver that hears an agent while it works.
fn channels() -> ChannelSet {
    [Channel::Transcript, Channel::Order, Channel::Resources].into()
}
