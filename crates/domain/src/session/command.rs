//! What the session machine wants done next: [`Command`], a closed set.

use alloc::{string::String, vec::Vec};

use crate::{
    acceptance::Look,
    controller::TurnPlan,
    fault::Ending,
    ids::{CheckId, CommandId, RequestId, StepId, TopicId, Turn},
    wording::Rejection,
};

/// A command; an adapter performs it and brings back the answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
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
        turn: Turn,
        /// The whole message, in turn 1 with the session note before it.
        message: String,
        /// Agent time that is left.
        deadline_ms: u64,
    },
    /// Answer a permission request inside a turn.
    AnswerPermission {
        /// Which request.
        request: RequestId,
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
        turn: Turn,
    },
    /// Take manifest and process log and cut all channels.
    Capture {
        /// The turn that ended.
        turn: Turn,
    },
    /// Match questions to topics by a model, over closed labels.
    Interpret {
        /// The turn.
        turn: Turn,
        /// The labels.
        topics: Vec<TopicId>,
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
        turn: Turn,
        /// Its step.
        step: StepId,
    },
    /// Put a step's files into the working directory, run its setup, wait until it is healthy; thaws
    /// the sandbox.
    PlaceStep {
        /// The turn that its message will open.
        turn: Turn,
        /// The step.
        step: StepId,
    },
    /// Prove every process dead and freeze the end state.
    Seal,
    /// Run the native verifier on the seal; of a task that has steps, that of the last one reached.
    VerifyCompletion,
    /// Close everything; the session is over.
    End(Ending),
}

/// One check to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRequest {
    /// Which.
    pub check: CheckId,
    /// The state that a `since` counts from: the end of the turn before the telling; none means the
    /// base.
    pub since: Option<Turn>,
}

/// What to do now; asking twice gives the same answer.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Next {
    /// Log this command and perform it.
    Do(CommandId, Command),
    /// An answer or an observation is awaited.
    Wait,
    /// The session is over.
    Over(Ending),
}
