//! Written forms of a session's log: [`Entry`] with commands, answers and observations.

use super::{
    evidence::Permission,
    trajectory::{Excerpt, PlanEntry, ToolActivity, ToolReturn, UseClaim},
    wire::wire,
    words::{ActionClass, Channel, Ending, FeedbackLevel, Flag, Look, Reading},
};

wire! {
    /// One line of a log.
    struct Entry = domain::session::Entry {
        /// Its place, from 1 without gaps.
        seq: u64,
        /// Monotonic milliseconds since the attempt began; invisible to the machine.
        elapsed_ms: u64,
        /// What happened.
        event: Event,
    }

    /// What an entry holds.
    enum Event = domain::session::Event {
        /// The machine decided a command.
        Decided(id: u32, command: Command),
        /// It was answered.
        Answered(id: u32, answer: Answer),
        /// Something was seen.
        Observed(observation: Observation),
    }

    /// A command; an adapter performs it and brings back the answer.
    enum Command = domain::session::Command {
        /// Make the sandbox from the task's base.
        PrepareSandbox,
        /// Start the agent.
        OpenAgent,
        /// Word a turn plan. Tries 1 to 3 are the user's; the template is the last try and always the
        /// machine's own.
        Word {
            /// What to convey.
            plan: TurnPlan,
            /// Which try, from 1.
            nth: u32,
            /// Why the try before was not sent.
            after: Vec<Rejection>,
        },
        /// Deliver a message and let the agent work; thaws the sandbox.
        Prompt {
            /// The turn that it opens.
            turn: u32,
            /// The whole message, in turn 1 with the session note before it.
            message: String,
            /// Agent time that is left.
            deadline_ms: u64,
        },
        /// Answer a permission request inside a turn.
        AnswerPermission {
            /// Which request.
            request: u32,
            /// Allow once or reject once.
            allow: bool,
        },
        /// Let no model request through any more.
        BlockWire,
        /// Stop the running turn, or what still runs of one whose deadline passed or limit was
        /// breached.
        Interrupt {
            /// Why.
            because: Ending,
        },
        /// Stop every process of the sandbox.
        Freeze {
            /// The turn that ended.
            turn: u32,
        },
        /// Take manifest and process log and cut all channels.
        Capture {
            /// The turn that ended.
            turn: u32,
        },
        /// Match questions to topics by a model, over closed labels.
        Interpret {
            /// The turn.
            turn: u32,
            /// The labels.
            topics: Vec<String>,
        },
        /// Read checks.
        Check {
            /// At which look.
            look: Look,
            /// Which checks.
            checks: Vec<CheckRequest>,
        },
        /// Run the native verifier of a step on a copy of the state that its turn left.
        VerifyStep {
            /// The turn that ended.
            turn: u32,
            /// Its step.
            step: String,
        },
        /// Put a step's files into the working directory, run its setup, wait until it is healthy; thaws the sandbox.
        PlaceStep {
            /// The turn that its message will open.
            turn: u32,
            /// The step.
            step: String,
        },
        /// Prove every process dead and freeze the end state.
        Seal,
        /// Run the native verifier on the seal; of a task that has steps, that of the last one reached.
        VerifyCompletion,
        /// Close everything; the session is over.
        End(ending: Ending),
    }

    /// One check to be read.
    struct CheckRequest = domain::session::CheckRequest {
        /// Which.
        check: String,
        /// The state that a `since` counts from: the end of the turn before the telling; none means the
        /// base.
        since: Option<u32>,
    }

    /// What one user message conveys: all that a user port ever receives beside voice and dialogue.
    struct TurnPlan = domain::controller::TurnPlan {
        /// The turn that the message opens.
        turn: u32,
        /// Acts in the order in which they are said.
        acts: Vec<SpeechAct>,
        /// Words at the most, the fenced statement aside.
        words_max: u32,
        /// BCP 47 language.
        language: String,
        /// Questions that the user may ask.
        questions_max: u32,
    }

    /// One act of speech with its chosen wording; a model may word it otherwise as long as the review
    /// passes.
    enum SpeechAct = domain::controller::SpeechAct {
        /// The first message, and that of each later step: frame and the statement verbatim in a fence.
        Open {
            /// Words before the statement.
            say: String,
            /// The native task statement, or the step's.
            statement: String,
        },
        /// Gives a permission.
        Grant {
            /// Its class.
            class: ActionClass,
            /// What exactly was asked for.
            subject: Option<String>,
            /// The chosen wording.
            say: String,
        },
        /// Refuses a permission.
        Refuse {
            /// Its class if it has one.
            class: Option<ActionClass>,
            /// The chosen wording.
            say: String,
        },
        /// Answers a question from the fact table.
        Answer {
            /// What it is about.
            topic: String,
            /// The chosen wording.
            say: String,
        },
        /// Puts a question off.
        Defer {
            /// The chosen wording.
            say: String,
        },
        /// Has no answer to a question.
        DontKnow {
            /// The chosen wording.
            say: String,
        },
        /// Corrects a requirement that was told.
        Correct {
            /// Which one.
            requirement: String,
            /// How precisely.
            level: FeedbackLevel,
            /// The chosen wording.
            say: String,
        },
        /// Tells a requirement.
        Tell {
            /// Which one.
            requirement: String,
            /// Words before it.
            lead: String,
            /// The chosen wording.
            say: String,
            /// Why this person wants it: released with it.
            because: String,
            /// Literals that must appear, each with alternatives.
            must_say: Vec<Vec<String>>,
        },
        /// Tells a requirement that is met already, as praise.
        Acknowledge {
            /// Which one.
            requirement: String,
            /// Words before it.
            lead: String,
            /// The chosen wording.
            say: String,
            /// Why this person wants it.
            because: String,
            /// Literals that must appear, each with alternatives.
            must_say: Vec<Vec<String>>,
        },
        /// Asks an idle agent to go on.
        Nudge {
            /// The chosen wording.
            say: String,
        },
        /// Asks to check once more, without content (arm `neutral-turns`).
        CheckAgain {
            /// The chosen wording.
            say: String,
        },
        /// Goes on after answers or without anything to correct.
        Continue {
            /// The chosen wording.
            say: String,
        },
    }

    /// One reason of the review; the text names the offending words for a second try, never what is hidden.
    enum Rejection = domain::wording::Rejection {
        /// Nothing was said.
        Empty,
        /// More words than the persona says.
        TooLong {
            /// Words said.
            words: u32,
            /// Words allowed.
            words_max: u32,
        },
        /// Another language than the persona's.
        Language,
        /// A literal that the plan requires is missing or negated.
        LeavesOut(what: String),
        /// Something hidden, or a number, path, identifier or quotation from nowhere.
        SaysTooMuch(what: String),
        /// Assent without a grant.
        Assents(what: String),
        /// Code, a patch or a command.
        Code,
        /// The statement is not verbatim.
        StatementChanged,
        /// Speaks as an assistant.
        RoleFlip(what: String),
        /// Speaks of benchmark, test harness or simulator.
        BreaksFrame(what: String),
        /// More questions than allowed.
        Questions,
    }

    /// The answer to a command.
    enum Answer = domain::session::Answer {
        /// To `PrepareSandbox`.
        SandboxReady,
        /// To `OpenAgent`: the agent's own name and version if it told one.
        AgentOpened {
            /// Name and version.
            identity: String,
        },
        /// To `Word`.
        Worded {
            /// The text.
            text: String,
            /// Who worded it.
            by: Wordsmith,
            /// Recorded model exchange.
            exchange: Option<String>,
        },
        /// To `Prompt`: the agent returned control.
        TurnEnded {
            /// How.
            stop: TurnStop,
            /// Agent time of the turn.
            agent_ms: u64,
        },
        /// To `AnswerPermission`.
        PermissionAnswered,
        /// To `BlockWire`.
        WireBlocked,
        /// To `Interrupt`.
        Interrupted,
        /// To `Freeze`.
        Frozen,
        /// To `Capture`.
        Captured {
            /// Hash of the manifest's blob.
            manifest: String,
            /// Paths that changed since the capture before.
            changed: u32,
            /// Programs started since the capture before.
            processes: u32,
            /// More events than the cap.
            overflow: bool,
            /// A limit of the sandbox was breached; which, in words.
            limit_hit: Option<String>,
            /// Share of the declared processors that the agent got while it wanted them, in percent, if
            /// counted.
            cpu_share_percent: Option<u32>,
        },
        /// To `Interpret`: a label for each open question about no known topic, in order.
        Interpreted {
            /// Labels.
            topics: Vec<Option<String>>,
        },
        /// To `Check`.
        Read {
            /// Readings in the order of the request.
            readings: Vec<(String, Reading)>,
        },
        /// To `VerifyStep`.
        StepVerified {
            /// What the verifier left.
            report: CompletionReport,
            /// Interpreter, loader, runner or test configuration that the agent left otherwise than base and
            /// steps have them.
            verifier_tools_changed: Vec<String>,
        },
        /// To `PlaceStep`.
        StepPlaced {
            /// Hash of the blob of the manifest that the next turn begins with.
            manifest: String,
            /// Paths that changed by it.
            changed: u32,
        },
        /// To `Seal`.
        Sealed {
            /// Digest of the sealed state.
            digest: String,
            /// Interpreter, loader, runner or test configuration that differ from the base, and from what
            /// steps brought along.
            verifier_tools_changed: Vec<String>,
        },
        /// To `VerifyCompletion`.
        CompletionVerified(report: CompletionReport),
        /// To `End`.
        Closed,
        /// The command could not be carried out for a reason that the flag's owner answers for.
        Failed {
            /// The reason.
            flag: Flag,
            /// How the session ends by it; none if it can go on (verification).
            ending: Option<Ending>,
            /// In words.
            detail: String,
        },
    }

    /// Who worded a message.
    enum Wordsmith = domain::session::Wordsmith {
        /// The pure template.
        Template,
        /// A model.
        Model,
        /// A person.
        Human,
    }

    /// How a turn ended.
    enum TurnStop = domain::session::TurnStop {
        /// The agent returned control.
        Finished,
        /// It was interrupted.
        Interrupted,
        /// Its model refused.
        Refused,
        /// It crashed by its own fault.
        Crashed,
        /// The deadline of the turn passed.
        DeadlinePassed,
        /// A limit of the sandbox ended it.
        LimitBreached,
    }

    /// What the native verifier left behind.
    struct CompletionReport = domain::session::CompletionReport {
        /// The outcome.
        outcome: CompletionOutcome,
        /// Time that it took.
        took_ms: u64,
        /// Blob of the verifier's output.
        output: Option<String>,
        /// Blob of what was kept beside the result; none if the task left nothing there.
        artifacts: Option<String>,
        /// Programs that ran beside the tests; none if these ran where nothing of the agent could.
        survivors: Option<Vec<String>>,
    }

    /// Four ways not to pass that are told apart, and the rewards.
    enum CompletionOutcome = domain::session::CompletionOutcome {
        /// Rewards by key, all finite.
        Rewards(list: Vec<(String, f64)>),
        /// No reward file.
        NoReward,
        /// A reward file that cannot be read as one; why.
        BadReward(why: String),
        /// Both reward files, and they contradict each other.
        Contradictory(why: String),
        /// The verifier's time ran out.
        TimedOut,
    }

    /// Something seen while a command was open.
    enum Observation = domain::session::Observation {
        /// A message was fully written and flushed to the agent: the moment of disclosure.
        Delivered {
            /// The turn that it opened.
            turn: u32,
            /// Milliseconds of the sandbox's kernel clock since its origin.
            at_ms: i64,
        },
        /// The agent wrote something.
        AgentSaid {
            /// The turn.
            turn: u32,
            /// Milliseconds of the sandbox's kernel clock since its origin.
            at_ms: i64,
            /// The text.
            text: String,
        },
        /// The agent used a tool, by its own event stream.
        AgentActed(activity: ToolActivity),
        /// A tool call came back, by the same.
        ToolReturned(tool_return: ToolReturn),
        /// The agent thought aloud; no user sees it.
        AgentThought {
            /// The turn.
            turn: u32,
            /// Milliseconds of the sandbox's kernel clock since its origin.
            at_ms: i64,
            /// The thought.
            text: Excerpt,
        },
        /// The agent set up its plan, or changed it.
        AgentPlanned {
            /// The turn.
            turn: u32,
            /// Milliseconds of the sandbox's kernel clock since its origin.
            at_ms: i64,
            /// The whole plan as it now is.
            entries: Vec<PlanEntry>,
        },
        /// What the agent itself says of its use.
        UseClaimed(claim: UseClaim),
        /// What the driver has to say of the agent: how its process ended, an error that it answered with.
        DriverNoted {
            /// The turn.
            turn: u32,
            /// Milliseconds of the sandbox's kernel clock since its origin.
            at_ms: i64,
            /// In words.
            text: String,
        },
        /// The agent asked for permission inside a turn.
        PermissionRequested(request: Permission),
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
            turn: u32,
            /// How many events.
            count: u32,
            /// The blob.
            blob: String,
        },
        /// A watchdog of the harness fired.
        WatchdogFired(watchdog: Watchdog),
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
    enum Watchdog = domain::session::Watchdog {
        /// Preparation took too long.
        Preparation,
        /// Wall time of the interaction ran out.
        WallTime,
        /// Verification took too long.
        Verification,
    }
}
