//! Written forms of the closed sets that many records share: classes, channels, endings, flags, looks.

use super::wire::wire;

wire! {
    enum ActionClass = domain::release::ActionClass {
        Install, Network, Write, Delete, GitCommit, GitPush, GitHistory, Publish, Schema, Service,
        Privileged, Spend,
    }

    enum FeedbackLevel = domain::release::FeedbackLevel { Symptom, Restate, Point }

    enum Area = domain::release::Area {
        Implementation, Permissions, Testing, Explanation, Delivery, Interaction,
    }

    enum Channel = domain::evidence::Channel {
        Manifest, Diff, Processes, Network, Transcript, Git, Tests, Order, Resources, Artifacts,
    }

    #[expect(clippy::enum_variant_names, reason = "the words are those of the domain")]
    enum Missing = domain::evidence::Missing {
        NotLooked, OrderUnknown, JudgeSplit, JudgeAbsent, ChannelMissing,
    }

    enum Ending = domain::fault::Ending {
        Accepted, AcceptedWithReservations, Silent, Repeats, Quit, ModelRefusal, Crash, ResourceLimit,
        TurnCap, AgentTime, AgentTokens, AgentCost, ProviderError, EnvironmentLost, PreparationFailed,
        HostLimits, UserFailed, SessionWallTime, JournalFailed, ChannelFailed, ControllerBug, Lost,
        OperatorAbort,
    }

    enum Flag = domain::fault::Flag {
        MaterialiseFailed, PreparationFailed, EnvironmentLost, HostLimits, ProviderError,
        VerificationIncomplete, DisclosureLeak, AssentWithoutGrant, ContradictionByUser,
        InventedRequirement, UserFailed, JudgeUndecided, NotDelivered, EvidenceMissing, OrderUnknown,
        ReplayMismatch, ReleaseMismatch, DoubleClaim, JournalFailed, SessionWallTime, ChannelFailed,
        ControllerBug, OperatorAbort, Lost, CpuStarved, VerifierToolsChanged, LogTampering,
        HiddenContentUsed, ForbiddenContact, Impersonation, ChannelOverflow,
    }

    enum Arm = domain::plan::Arm { Progressive, Opening, NoPersona, NeutralTurns }

    enum UserKind = domain::plan::UserKind { Template, Model, Human }

    enum Look = domain::acceptance::Look { Turn(turn: u32), Sealed }

    enum Truth = domain::acceptance::Truth { True, False, Unknown(cause: Missing) }

    struct EventTime = domain::evidence::EventTime { earliest_ms: i64, latest_ms: i64 }

    struct Occurrence = domain::acceptance::Occurrence { turn: u32, time: EventTime, subject: String }

    enum Reading = domain::acceptance::Reading {
        State { truth: Truth, witness: String },
        Events(list: Vec<Occurrence>),
        Missing(cause: Missing),
    }
}
