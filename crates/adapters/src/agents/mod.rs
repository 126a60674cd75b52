//! Agents under test: the scripted ones that ship with the tool, and drivers of real ones.

mod acp;
mod child;
mod claude_stream;
mod cli;
mod human;
pub mod install;
mod intake;
mod lines;
mod matching;
mod model_loop;
mod ndjson;
pub mod placeholders;
pub mod presets;
mod scripted;
#[cfg(test)]
mod strange_lines;
mod talk;
mod tools;

use domain::evidence::{Channel, ChannelSet};

pub use acp::{AcpAgent, AcpLaunch};
pub use claude_stream::ClaudeStreamAgent;
pub use cli::{
    BadDescription, CallMeaning, CliAgent, CliDescription, CliLaunch, EventMeaning, Expected,
    KindWord, Output, Place, PromptBy, ReturnMeaning, SHIPPED, SessionName, UseMeaning, UseSpan,
    shipped,
};
pub use human::HumanAgent;
pub use model_loop::LoopAgent;
pub use ndjson::NdjsonAgent;
pub use scripted::{ScriptedAgent, Solution, Solves};
pub use talk::ProgramLaunch;

/// Evidence channels of a driver that hears an agent while it works.
fn channels() -> ChannelSet {
    [Channel::Transcript, Channel::Order, Channel::Resources].into()
}
