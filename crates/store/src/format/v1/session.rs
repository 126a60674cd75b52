//! Written forms of a session's log: [`Entry`] with commands, answers and observations.

use super::{
    evidence::Permission,
    wire::wire,
    words::{ActionClass, Channel, Ending, FeedbackLevel, Flag, Look, Reading},
};

wire! {
    struct Entry = domain::session::Entry { seq: u64, elapsed_ms: u64, event: Event }

    enum Event = domain::session::Event {
        Decided(id: u32, command: Command),
        Answered(id: u32, answer: Answer),
        Observed(observation: Observation),
    }

    enum Command = domain::session::Command {
        PrepareSandbox,
        OpenAgent,
        Word { plan: TurnPlan, nth: u32, after: Vec<Rejection> },
        Prompt { turn: u32, message: String, deadline_ms: u64 },
        AnswerPermission { request: u32, allow: bool },
        BlockWire,
        Interrupt { because: Ending },
        Freeze { turn: u32 },
        Capture { turn: u32 },
        Interpret { turn: u32, topics: Vec<String> },
        Check { look: Look, checks: Vec<CheckRequest> },
        Seal,
        VerifyCompletion,
        End(ending: Ending),
    }

    struct CheckRequest = domain::session::CheckRequest { check: String, since: Option<u32> }

    struct TurnPlan = domain::controller::TurnPlan {
        turn: u32,
        acts: Vec<SpeechAct>,
        words_max: u32,
        language: String,
        questions_max: u32,
    }

    enum SpeechAct = domain::controller::SpeechAct {
        Open { say: String, statement: String },
        Grant { class: ActionClass, subject: Option<String>, say: String },
        Refuse { class: Option<ActionClass>, say: String },
        Answer { topic: String, say: String },
        Defer { say: String },
        DontKnow { say: String },
        Correct { requirement: String, level: FeedbackLevel, say: String },
        Tell {
            requirement: String,
            lead: String,
            say: String,
            because: String,
            must_say: Vec<Vec<String>>,
        },
        Acknowledge {
            requirement: String,
            lead: String,
            say: String,
            because: String,
            must_say: Vec<Vec<String>>,
        },
        Nudge { say: String },
        CheckAgain { say: String },
        Continue { say: String },
    }

    enum Rejection = domain::wording::Rejection {
        Empty,
        TooLong { words: u32, words_max: u32 },
        Language,
        LeavesOut(what: String),
        SaysTooMuch(what: String),
        Assents(what: String),
        Code,
        StatementChanged,
        RoleFlip(what: String),
        BreaksFrame(what: String),
        Questions,
    }

    enum Answer = domain::session::Answer {
        SandboxReady,
        AgentOpened { identity: String },
        Worded { text: String, by: Wordsmith, exchange: Option<String> },
        TurnEnded { stop: TurnStop, agent_ms: u64 },
        PermissionAnswered,
        WireBlocked,
        Interrupted,
        Frozen,
        Captured {
            manifest: String,
            changed: u32,
            processes: u32,
            overflow: bool,
            limit_hit: Option<String>,
            cpu_share_percent: Option<u32>,
        },
        Interpreted { topics: Vec<Option<String>> },
        Read { readings: Vec<(String, Reading)> },
        Sealed { digest: String, verifier_tools_changed: Vec<String> },
        CompletionVerified(report: CompletionReport),
        Closed,
        Failed { flag: Flag, ending: Option<Ending>, detail: String },
    }

    enum Wordsmith = domain::session::Wordsmith { Template, Model, Human }

    enum TurnStop = domain::session::TurnStop {
        Finished, Interrupted, Refused, Crashed, DeadlinePassed, LimitBreached,
    }

    struct CompletionReport = domain::session::CompletionReport {
        outcome: CompletionOutcome,
        took_ms: u64,
        output: Option<String>,
    }

    enum CompletionOutcome = domain::session::CompletionOutcome {
        Rewards(list: Vec<(String, f64)>),
        NoReward,
        BadReward(why: String),
        Contradictory(why: String),
        TimedOut,
    }

    enum Observation = domain::session::Observation {
        Delivered { turn: u32, at_ms: i64 },
        AgentSaid { turn: u32, at_ms: i64, text: String },
        AgentActed(activity: ToolActivity),
        PermissionRequested(request: Permission),
        Used { tokens: u64, cost_microusd: Option<u64> },
        Cut { channel: Channel, turn: u32, count: u32, blob: String },
        WatchdogFired(watchdog: Watchdog),
        Cancelled,
        Flagged { flag: Flag, detail: String },
        Stray { detail: String },
    }

    struct ToolActivity = domain::session::ToolActivity { turn: u32, at_ms: i64, title: String }

    enum Watchdog = domain::session::Watchdog { Preparation, WallTime, Verification }
}
