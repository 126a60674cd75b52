//! All recorded evidence of one session in one place: what the pure checks read.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use super::{
    AgentMessage, Change, ChannelSet, FileDiff, NetAttempt, Permission, ProcessEvent, UserWords,
};
use crate::{controller::Grant, ids::Turn};

/// Evidence of a session up to a look, whole and in order of time.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Which channels sandbox and driver give.
    pub channels: ChannelSet,
    /// The task's working directory; relative globs count from here.
    pub workdir: String,
    /// File changes per turn (E1 as events).
    pub changes: Vec<Change>,
    /// Line differences from the state after a turn to the state looked at; the base is turn 0 (E2).
    ///
    /// Holds the base and every turn that a check of the pair names by `since`.
    pub diffs: BTreeMap<Turn, Vec<FileDiff>>,
    /// Programs started (E3).
    pub processes: Vec<ProcessEvent>,
    /// Network attempts (E4).
    pub network: Vec<NetAttempt>,
    /// What the agent said (E5).
    pub agent_messages: Vec<AgentMessage>,
    /// What the user said (E5).
    pub user_words: Vec<UserWords>,
    /// Permission requests inside turns.
    pub permissions: Vec<Permission>,
    /// Turns of the agent that have ended, with the agent time of each in milliseconds (E9).
    pub turn_times_ms: Vec<(Turn, u64)>,
    /// Tokens used so far if anybody counted them (E9).
    pub tokens: Option<u64>,
    /// Grants that were given.
    pub grants: Vec<Grant>,
    /// Turns that the controller took for a hand-off.
    pub handoffs: Vec<Turn>,
}
