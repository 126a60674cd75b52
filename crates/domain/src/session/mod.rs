//! The pure session machine: commands it decides, answers and observations it applies, its log and
//! replay.

mod answer;
mod answering;
mod command;
mod log;
mod machine;
mod observation;
mod observing;
mod phase;
mod progress;
mod replay;
mod scenario;
mod steps;
mod trajectory;
mod view;

pub use answer::{Answer, CompletionOutcome, CompletionReport, TurnStop, Wordsmith};
pub use command::{CheckRequest, Command, Next};
pub use log::{Entry, Event, IllegalEntry};
pub use machine::Session;
pub use observation::{Observation, Watchdog};
pub use phase::Phase;
pub use replay::{Divergence, replay};
pub use scenario::{CompileError, Scenario};
pub use trajectory::{
    ClaimSpan, Excerpt, PlanEntry, PlanState, ToolActivity, ToolKind, ToolOutcome, ToolReturn,
    UseClaim, title_of,
};
