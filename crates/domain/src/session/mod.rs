//! The pure session machine: commands it decides, answers and observations it applies, its log and replay.

mod answer;
mod command;
mod log;
mod observation;
mod scenario;

pub use answer::{Answer, CompletionOutcome, CompletionReport, TurnStop, Wordsmith};
pub use command::{CheckRequest, Command, Next};
pub use log::{Entry, Event, IllegalEntry};
pub use observation::{Observation, ToolActivity, Watchdog};
pub use scenario::{CompileError, Scenario};
