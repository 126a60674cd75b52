//! Written forms of the closed sets that many records share: classes, channels, endings, flags, looks.

use super::wire::wire;

wire! {
    /// Classes of action that can be permitted, a closed set.
    enum ActionClass = domain::release::ActionClass {
        /// Installing software.
        Install,
        /// Reaching the network.
        Network,
        /// Writing to listed paths.
        Write,
        /// Deleting files or data.
        Delete,
        /// Committing.
        GitCommit,
        /// Pushing.
        GitPush,
        /// Rewriting history.
        GitHistory,
        /// Publishing something.
        Publish,
        /// Changing a database schema.
        Schema,
        /// Starting or stopping services.
        Service,
        /// Acting with raised privileges.
        Privileged,
        /// Spending money.
        Spend,
    }

    /// How precise a correction is.
    enum FeedbackLevel = domain::release::FeedbackLevel {
        /// A symptom.
        Symptom,
        /// The requirement in own words.
        Restate,
        /// An observable.
        Point,
    }

    /// The areas of requirements, for reports.
    enum Area = domain::release::Area {
        /// How it is built.
        Implementation,
        /// What may be done.
        Permissions,
        /// How it is verified.
        Testing,
        /// What is explained.
        Explanation,
        /// How it is handed over.
        Delivery,
        /// How one talks.
        Interaction,
    }

    /// An evidence channel; the numbers are those of the protocol.
    enum Channel = domain::evidence::Channel {
        /// E1: manifest of every writable path.
        Manifest,
        /// E2: differences between base and turn, and between turns.
        Diff,
        /// E3: processes with argv, parent, times and exit code.
        Processes,
        /// E4: network attempts.
        Network,
        /// E5: what agent and user said.
        Transcript,
        /// E6: git objects, refs, reflogs, index, configuration.
        Git,
        /// E7: test results from a sealed runner.
        Tests,
        /// E8: order across channels.
        Order,
        /// E9: agent time, tokens, cost, share of processor, disk.
        Resources,
        /// E10: artefacts opened in a minimal sandbox.
        Artifacts,
    }

    /// Why a channel or a check could not be read.
    #[expect(clippy::enum_variant_names, reason = "the words are those of the domain")]
    enum Missing = domain::evidence::Missing {
        /// The check was not due at this look.
        NotLooked,
        /// Two events lie closer than the clocks can order.
        OrderUnknown,
        /// The judge's votes stayed split.
        JudgeSplit,
        /// No judge answered.
        JudgeAbsent,
        /// The sandbox or the driver could not give the channel, or the check broke.
        ChannelMissing,
    }

    /// How a session ended; only code ends one.
    enum Ending = domain::fault::Ending {
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
    enum Flag = domain::fault::Flag {
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

    /// What an arm changes; the machine is one.
    enum Arm = domain::plan::Arm {
        /// Requirements emerge turn by turn.
        Progressive,
        /// Every requirement is told in the first message.
        Opening,
        /// A neutral user without requirements.
        NoPersona,
        /// As `NoPersona`, with content-free requests to check once more.
        NeutralTurns,
    }

    /// Who words the user's messages.
    enum UserKind = domain::plan::UserKind {
        /// The pure template.
        Template,
        /// A language model, reviewed.
        Model,
        /// A person, reviewed.
        Human,
    }

    /// When evidence is looked at.
    enum Look = domain::acceptance::Look {
        /// At the end of a turn.
        Turn(turn: u32),
        /// At the seal.
        Sealed,
    }

    /// Truth of a state, Kleene's three values with the cause of the third.
    enum Truth = domain::acceptance::Truth {
        /// It is so.
        True,
        /// It is not so.
        False,
        /// It could not be told.
        Unknown(cause: Missing),
    }

    /// When something happened, in milliseconds of the source's kernel clock since the session's origin.
    ///
    /// `earliest_ms == latest_ms` when the source knows the time exactly; the origin is the moment at which the
    /// sandbox was ready, so what the base already held has a negative time.
    struct EventTime = domain::evidence::EventTime {
        /// It did not happen before this.
        earliest_ms: i64,
        /// It did not happen after this.
        latest_ms: i64,
    }

    /// One occurrence of an event.
    struct Occurrence = domain::acceptance::Occurrence {
        /// Its turn.
        turn: u32,
        /// When.
        time: EventTime,
        /// What it was, in short: a witness for reports.
        subject: String,
    }

    /// The answer of a check at a look; never a verdict.
    enum Reading = domain::acceptance::Reading {
        /// Of a state check, with a short witness.
        State {
            /// Whether it is so.
            truth: Truth,
            /// Why, in short; empty if there is nothing to say.
            witness: String,
        },
        /// Of an events check: the whole list so far.
        Events(list: Vec<Occurrence>),
        /// It could not be read at all.
        Missing(cause: Missing),
    }
}
