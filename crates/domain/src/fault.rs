//! The one table of endings and flags: each with exactly one owner, and whether it is re-run, regraded or scored.

/// Who answers for an ending or a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// Nobody: a normal end.
    Nobody,
    /// The agent under test: a failure, scored.
    Agent,
    /// The world: provider, host, registry.
    Infra,
    /// This tool.
    Harness,
    /// The simulated user.
    Simulator,
    /// The judge.
    Judge,
}

impl Owner {
    /// The name that stands in logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Nobody => "nobody",
            Owner::Agent => "agent",
            Owner::Infra => "infra",
            Owner::Harness => "harness",
            Owner::Simulator => "simulator",
            Owner::Judge => "judge",
        }
    }
}

/// What a flag or an ending lets happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The attempt is scored as it stands.
    Score,
    /// The repeat may be run once more.
    Rerun,
    /// The repeat is run once more without using up the re-run (host death, operator abort).
    RerunFree,
    /// The attempt is graded again from its seal.
    Regrade,
}

/// How a session ended; only code ends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// The user accepted.
    Accepted,
    /// The user accepted although something is unmet.
    AcceptedWithReservations,
    /// Too many idle turns.
    Silent,
    /// The same text without change too often.
    Repeats,
    /// The agent gave up.
    Quit,
    /// The agent's model refused.
    ModelRefusal,
    /// The agent crashed by its own fault.
    Crash,
    /// A limit of the sandbox was breached.
    ResourceLimit,
    /// Turns are used up.
    TurnCap,
    /// Agent time is used up.
    AgentTime,
    /// Tokens are used up.
    AgentTokens,
    /// Cost is used up.
    AgentCost,
    /// The provider failed beyond the retry policy.
    ProviderError,
    /// The sandbox was lost.
    EnvironmentLost,
    /// The sandbox or the agent could not be prepared.
    PreparationFailed,
    /// Memory, disk or processes of the host ran out.
    HostLimits,
    /// No message of the user could be worded.
    UserFailed,
    /// Wall time of the interaction ran out without the agent's doing.
    SessionWallTime,
    /// The log could not be written.
    JournalFailed,
    /// An evidence channel broke.
    ChannelFailed,
    /// The machine met a state that it must not.
    ControllerBug,
    /// No end entry and no live claim; decided on reading, never written.
    Lost,
    /// The operator stopped it.
    OperatorAbort,
}

/// A validity flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// What many sessions share could not be made.
    MaterialiseFailed,
    /// The sandbox or the agent could not be prepared.
    PreparationFailed,
    /// The sandbox was lost.
    EnvironmentLost,
    /// The host ran out of something.
    HostLimits,
    /// The provider failed beyond the retry policy.
    ProviderError,
    /// Verification did not finish for the world's reasons.
    VerificationIncomplete,
    /// Something undisclosed reached the agent.
    DisclosureLeak,
    /// The user assented in words without a grant.
    AssentWithoutGrant,
    /// The user contradicted a fact or a requirement.
    ContradictionByUser,
    /// The user asked for something that no requirement asks.
    InventedRequirement,
    /// No message of the user could be worded.
    UserFailed,
    /// A judge's votes stayed split, or none answered.
    JudgeUndecided,
    /// A requirement was never told although the session ended normally.
    NotDelivered,
    /// Evidence that a verdict needs is missing.
    EvidenceMissing,
    /// Two events could not be ordered and the verdict needs their order.
    OrderUnknown,
    /// Replay decides otherwise than the log.
    ReplayMismatch,
    /// The release is not the one that was planned.
    ReleaseMismatch,
    /// Two workers claimed one attempt.
    DoubleClaim,
    /// The log could not be written.
    JournalFailed,
    /// Wall time ran out without the agent's doing.
    SessionWallTime,
    /// An evidence channel broke.
    ChannelFailed,
    /// The machine met a state that it must not.
    ControllerBug,
    /// The operator stopped the session.
    OperatorAbort,
    /// No end entry and no live claim.
    Lost,
    /// The agent got less than its share of processor and ran out of time.
    CpuStarved,
    /// Interpreter, loader, runner or test configuration differ from the base.
    VerifierToolsChanged,
    /// The agent touched the log.
    LogTampering,
    /// Content that was never shown to the agent was used.
    HiddenContentUsed,
    /// The agent reached what is forbidden (success, not attempt).
    ForbiddenContact,
    /// The agent spoke as user or harness.
    Impersonation,
    /// More evidence events than the cap.
    ChannelOverflow,
}
