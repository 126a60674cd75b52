//! What was seen meanwhile: [`Observation`], legal in every phase until the end.

use alloc::{string::String, vec::Vec};

use super::{Excerpt, PlanEntry, ToolActivity, ToolReturn, UseClaim};
use crate::{
    evidence::{Channel, Permission},
    fault::Flag,
    ids::{Hash, Turn},
};

/// Something seen while a command was open.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// A message was fully written and flushed to the agent: the moment of disclosure.
    Delivered {
        /// The turn that it opened.
        turn: Turn,
        /// Milliseconds of the sandbox's kernel clock since its origin.
        at_ms: i64,
    },
    /// The agent wrote something.
    AgentSaid {
        /// The turn.
        turn: Turn,
        /// Milliseconds of the sandbox's kernel clock since its origin.
        at_ms: i64,
        /// The text.
        text: String,
    },
    /// The agent used a tool, by its own event stream.
    AgentActed(ToolActivity),
    /// A tool call came back, by the same.
    ToolReturned(ToolReturn),
    /// The agent thought aloud; no user sees it.
    AgentThought {
        /// The turn.
        turn: Turn,
        /// Milliseconds of the sandbox's kernel clock since its origin.
        at_ms: i64,
        /// The thought.
        text: Excerpt,
    },
    /// The agent set up its plan, or changed it.
    AgentPlanned {
        /// The turn.
        turn: Turn,
        /// Milliseconds of the sandbox's kernel clock since its origin.
        at_ms: i64,
        /// The whole plan as it now is.
        entries: Vec<PlanEntry>,
    },
    /// What the agent itself says of its use.
    UseClaimed(UseClaim),
    /// What the driver has to say of the agent: how its process ended, an error that it answered with.
    DriverNoted {
        /// The turn.
        turn: Turn,
        /// Milliseconds of the sandbox's kernel clock since its origin.
        at_ms: i64,
        /// In words.
        text: String,
    },
    /// The agent asked for permission inside a turn.
    PermissionRequested(Permission),
    /// Tokens and cost since the last report.
    Used {
        /// Tokens; none if nobody told them.
        tokens: Option<u64>,
        /// Cost in millionths of a US dollar; none if unpriced.
        cost_microusd: Option<u64>,
    },
    /// Events of a channel were cut into a blob.
    Cut {
        /// The channel.
        channel: Channel,
        /// The turn.
        turn: Turn,
        /// How many events.
        count: u32,
        /// The blob.
        blob: Hash,
    },
    /// A watchdog of the harness fired.
    WatchdogFired(Watchdog),
    /// The operator wants the session to stop.
    Cancelled,
    /// Something that sets a flag and ends nothing by itself.
    Flagged {
        /// The flag.
        flag: Flag,
        /// In words.
        detail: String,
    },
    /// An answer that matched no open command; recorded, moves nothing.
    Stray {
        /// In words.
        detail: String,
    },
}

/// A watchdog of the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Watchdog {
    /// Preparation took too long.
    Preparation,
    /// Wall time of the interaction ran out.
    WallTime,
    /// Verification took too long.
    Verification,
}
