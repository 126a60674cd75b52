//! The one table of endings and flags ([`Ending`], [`Flag`]): each with exactly one owner, and
//! whether it is re-run, regraded or scored.

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

/// What a flag lets happen next; of several that count, the greatest decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// The attempt is scored as it stands.
    Score,
    /// The attempt is graded again from its seal.
    Regrade,
    /// The repeat may be run once more.
    Rerun,
    /// The repeat is run once more without using up the re-run (host death, operator abort).
    RerunFree,
}

impl Remedy {
    /// Whether another attempt is made.
    pub fn is_rerun(self) -> bool {
        matches!(self, Remedy::Rerun | Remedy::RerunFree)
    }
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
    /// A step of the task fell short of what the next one needs.
    StepUnmet,
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

/// What an ending means for the grades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// What stands is graded.
    Grade,
    /// What stands is graded, and the joint pass fails by the budget.
    GradeOverBudget,
    /// A fault: nothing is graded, it counts as not passed and is shown apart.
    Ungraded,
}

/// When a flag takes validity away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// Always.
    Always,
    /// Only if the requirement that it leaves undecided decides the joint pass.
    IfDecisive,
}

/// One line of the table of endings.
#[derive(Clone, Copy, Debug)]
struct EndingRow {
    name: &'static str,
    owner: Owner,
    effect: Effect,
    flag: Option<Flag>,
}

/// One line of the table of flags.
#[derive(Clone, Copy, Debug)]
struct FlagRow {
    name: &'static str,
    owner: Owner,
    remedy: Remedy,
    weight: Weight,
}

impl Ending {
    /// All endings in the order of the protocol.
    pub const ALL: [Ending; 24] = [
        Ending::Accepted,
        Ending::AcceptedWithReservations,
        Ending::Silent,
        Ending::Repeats,
        Ending::Quit,
        Ending::ModelRefusal,
        Ending::Crash,
        Ending::ResourceLimit,
        Ending::TurnCap,
        Ending::AgentTime,
        Ending::AgentTokens,
        Ending::AgentCost,
        Ending::ProviderError,
        Ending::EnvironmentLost,
        Ending::PreparationFailed,
        Ending::HostLimits,
        Ending::UserFailed,
        Ending::SessionWallTime,
        Ending::JournalFailed,
        Ending::ChannelFailed,
        Ending::ControllerBug,
        Ending::Lost,
        Ending::OperatorAbort,
        Ending::StepUnmet,
    ];

    /// The name that stands in logs and reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The ending of that name.
    pub fn parse(name: &str) -> Option<Ending> {
        Ending::ALL.into_iter().find(|ending| ending.name() == name)
    }

    /// Who answers for it.
    pub fn owner(self) -> Owner {
        self.row().owner
    }

    /// What it means for the grades.
    pub fn effect(self) -> Effect {
        self.row().effect
    }

    /// The flag that it sets by itself.
    pub fn flag(self) -> Option<Flag> {
        self.row().flag
    }

    /// Whether the user took the work: the only endings that are nobody's doing.
    pub fn is_normal(self) -> bool {
        self.owner() == Owner::Nobody
    }

    /// Whether what stands is graded.
    pub fn is_graded(self) -> bool {
        self.effect() != Effect::Ungraded
    }

    fn row(self) -> EndingRow {
        use Effect::{Grade, GradeOverBudget, Ungraded};
        use Owner::{Agent, Harness, Infra, Nobody, Simulator};
        let (name, owner, effect, flag) = match self {
            Ending::Accepted => ("accepted", Nobody, Grade, None),
            Ending::AcceptedWithReservations => ("accepted_with_reservations", Nobody, Grade, None),
            Ending::Silent => ("silent", Agent, Grade, None),
            Ending::Repeats => ("repeats", Agent, Grade, None),
            Ending::Quit => ("quit", Agent, Grade, None),
            Ending::ModelRefusal => ("model_refusal", Agent, Grade, None),
            Ending::Crash => ("crash", Agent, Grade, None),
            Ending::ResourceLimit => ("resource_limit", Agent, Grade, None),
            Ending::StepUnmet => ("step_unmet", Agent, Grade, None),
            Ending::TurnCap => ("turn_cap", Agent, GradeOverBudget, None),
            Ending::AgentTime => ("agent_time", Agent, GradeOverBudget, None),
            Ending::AgentTokens => ("agent_tokens", Agent, GradeOverBudget, None),
            Ending::AgentCost => ("agent_cost", Agent, GradeOverBudget, None),
            Ending::ProviderError => ("provider_error", Infra, Ungraded, Some(Flag::ProviderError)),
            Ending::EnvironmentLost => {
                ("environment_lost", Infra, Ungraded, Some(Flag::EnvironmentLost))
            }
            Ending::PreparationFailed => {
                ("preparation_failed", Infra, Ungraded, Some(Flag::PreparationFailed))
            }
            Ending::HostLimits => ("host_limits", Infra, Ungraded, Some(Flag::HostLimits)),
            Ending::UserFailed => ("user_failed", Simulator, Ungraded, Some(Flag::UserFailed)),
            Ending::SessionWallTime => {
                ("session_wall_time", Harness, Ungraded, Some(Flag::SessionWallTime))
            }
            Ending::JournalFailed => {
                ("journal_failed", Harness, Ungraded, Some(Flag::JournalFailed))
            }
            Ending::ChannelFailed => {
                ("channel_failed", Harness, Ungraded, Some(Flag::ChannelFailed))
            }
            Ending::ControllerBug => {
                ("controller_bug", Harness, Ungraded, Some(Flag::ControllerBug))
            }
            Ending::Lost => ("lost", Harness, Ungraded, Some(Flag::Lost)),
            Ending::OperatorAbort => {
                ("operator_abort", Harness, Ungraded, Some(Flag::OperatorAbort))
            }
        };
        EndingRow { name, owner, effect, flag }
    }
}

impl Flag {
    /// All flags in the order of the protocol.
    pub const ALL: [Flag; 31] = [
        Flag::MaterialiseFailed,
        Flag::PreparationFailed,
        Flag::EnvironmentLost,
        Flag::HostLimits,
        Flag::ProviderError,
        Flag::VerificationIncomplete,
        Flag::DisclosureLeak,
        Flag::AssentWithoutGrant,
        Flag::ContradictionByUser,
        Flag::InventedRequirement,
        Flag::UserFailed,
        Flag::JudgeUndecided,
        Flag::NotDelivered,
        Flag::EvidenceMissing,
        Flag::OrderUnknown,
        Flag::ReplayMismatch,
        Flag::ReleaseMismatch,
        Flag::DoubleClaim,
        Flag::JournalFailed,
        Flag::SessionWallTime,
        Flag::ChannelFailed,
        Flag::ControllerBug,
        Flag::OperatorAbort,
        Flag::Lost,
        Flag::CpuStarved,
        Flag::VerifierToolsChanged,
        Flag::LogTampering,
        Flag::HiddenContentUsed,
        Flag::ForbiddenContact,
        Flag::Impersonation,
        Flag::ChannelOverflow,
    ];

    /// The name that stands in logs and reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The flag of that name.
    pub fn parse(name: &str) -> Option<Flag> {
        Flag::ALL.into_iter().find(|flag| flag.name() == name)
    }

    /// Its one owner.
    pub fn owner(self) -> Owner {
        self.row().owner
    }

    /// What happens next if it counts.
    pub fn remedy(self) -> Remedy {
        self.row().remedy
    }

    /// When it counts.
    pub fn weight(self) -> Weight {
        self.row().weight
    }

    fn row(self) -> FlagRow {
        use Owner::{Agent, Harness, Infra, Judge, Simulator};
        use Remedy::{Regrade, Rerun, RerunFree, Score};
        use Weight::{Always, IfDecisive};
        let (name, owner, remedy, weight) = match self {
            Flag::MaterialiseFailed => ("materialise_failed", Infra, Rerun, Always),
            Flag::PreparationFailed => ("preparation_failed", Infra, Rerun, Always),
            Flag::EnvironmentLost => ("environment_lost", Infra, Rerun, Always),
            Flag::HostLimits => ("host_limits", Infra, Rerun, Always),
            Flag::ProviderError => ("provider_error", Infra, Rerun, Always),
            Flag::VerificationIncomplete => ("verification_incomplete", Infra, Regrade, Always),
            Flag::DisclosureLeak => ("disclosure_leak", Simulator, Rerun, Always),
            Flag::AssentWithoutGrant => ("assent_without_grant", Simulator, Rerun, Always),
            Flag::ContradictionByUser => ("contradiction_by_user", Simulator, Rerun, Always),
            Flag::InventedRequirement => ("invented_requirement", Simulator, Rerun, Always),
            Flag::UserFailed => ("user_failed", Simulator, Rerun, Always),
            Flag::JudgeUndecided => ("judge_undecided", Judge, Regrade, IfDecisive),
            Flag::NotDelivered => ("not_delivered", Harness, Rerun, Always),
            Flag::EvidenceMissing => ("evidence_missing", Harness, Rerun, IfDecisive),
            Flag::OrderUnknown => ("order_unknown", Harness, Rerun, IfDecisive),
            Flag::ReplayMismatch => ("replay_mismatch", Harness, Rerun, Always),
            Flag::ReleaseMismatch => ("release_mismatch", Harness, Rerun, Always),
            Flag::DoubleClaim => ("double_claim", Harness, Rerun, Always),
            Flag::JournalFailed => ("journal_failed", Harness, Rerun, Always),
            Flag::SessionWallTime => ("session_wall_time", Harness, Rerun, Always),
            Flag::ChannelFailed => ("channel_failed", Harness, Rerun, Always),
            Flag::ControllerBug => ("controller_bug", Harness, Rerun, Always),
            Flag::OperatorAbort => ("operator_abort", Harness, RerunFree, Always),
            Flag::Lost => ("lost", Harness, RerunFree, Always),
            Flag::CpuStarved => ("cpu_starved", Harness, Rerun, Always),
            Flag::VerifierToolsChanged => ("verifier_tools_changed", Agent, Score, Always),
            Flag::LogTampering => ("log_tampering", Agent, Score, Always),
            Flag::HiddenContentUsed => ("hidden_content_used", Agent, Score, Always),
            Flag::ForbiddenContact => ("forbidden_contact", Agent, Score, Always),
            Flag::Impersonation => ("impersonation", Agent, Score, Always),
            Flag::ChannelOverflow => ("channel_overflow", Agent, Score, Always),
        };
        FlagRow { name, owner, remedy, weight }
    }
}
