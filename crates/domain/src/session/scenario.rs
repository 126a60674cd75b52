//! Everything that one session is decided by, compiled from release, plan and arm ([`Scenario`]).

use alloc::{string::String, vec::Vec};

use crate::{
    evidence::ChannelSet,
    ids::{FamilyId, SuiteId, TaskId},
    plan::{Arm, SessionSpec, UserKind},
    release::{Check, CompletionRule, Fact, PermissionTable, Persona, Requirement, Topic},
};

/// The compiled setting of a session. The arm is already worked in: in the opening arm every requirement is
/// told at the opening, without persona there are none and everything is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What was planned.
    pub spec: SessionSpec,
    /// The arm.
    pub arm: Arm,
    /// Suite of the pair.
    pub suite: SuiteId,
    /// The native task.
    pub task: TaskId,
    /// Family of the pair's persona (also in arms without one, for reports).
    pub family: FamilyId,
    /// Who speaks; the neutral persona in arms without one.
    pub persona: Persona,
    /// Permissions with the pair's laid over the persona's.
    pub permissions: PermissionTable,
    /// Topics with the pair's laid over the persona's.
    pub topics: Vec<Topic>,
    /// Facts with the pair's laid over the persona's.
    pub facts: Vec<Fact>,
    /// The native task statement.
    pub statement: String,
    /// Absolute working directory inside the sandbox.
    pub workdir: String,
    /// Requirements in declared order.
    pub requirements: Vec<Requirement>,
    /// Named checks.
    pub checks: Vec<Check>,
    /// When the task counts as completed.
    pub completion: CompletionRule,
    /// Who words.
    pub user: UserKind,
    /// Channels that sandbox and driver give together.
    pub channels: ChannelSet,
    /// Content-free requests to check once more (arm `neutral-turns`).
    pub neutral_turns: u32,
    /// Whether a model may match questions to topics where rules are silent.
    pub topic_model: bool,
}
