//! What was seen: typed events of the evidence channels E1 to E10, each with its time at the source.

mod artifacts;
mod channel;
mod events;
mod model_call;
mod recorded;
mod tree;

pub use artifacts::{Collected, HookRun, KeptArtifact, KeptFile, KeptNode, KeptState};
pub use channel::{Channel, ChannelSet, Missing};
pub use events::{
    AgentMessage, EventTime, NetAttempt, NetOutcome, NetTransport, NetWay, Permission,
    ProcessEvent, UserWords,
};
pub use model_call::{
    Break, CallOutcome, HostedDecision, HostedTool, ModelCall, Purpose, WireFormat,
};
pub use recorded::Recorded;
pub use tree::{Change, ChangeKind, FileDiff, FileKind, Manifest, ManifestEntry};
