//! Written forms of what an agent tells of its own work: tool calls, thoughts, plans, its own count of tokens.

use super::wire::wire;

wire! {
    /// A tool call by the agent's own event stream.
    struct ToolActivity = domain::session::ToolActivity {
        /// The turn.
        turn: u32,
        /// Milliseconds of the sandbox's kernel clock since its origin.
        at_ms: i64,
        /// The tool or command in short.
        title: String,
        /// The agent's own name of this call, by which its return speaks of it.
        call: Option<String>,
        /// What kind of tool it is, if the agent says.
        kind: Option<ToolKind>,
        /// What the tool was given, as the agent writes it.
        input: Option<Excerpt>,
    }

    /// What a tool does, in the words of the Agent Client Protocol.
    enum ToolKind = domain::session::ToolKind {
        /// Reads files or data.
        Read,
        /// Changes files or contents.
        Edit,
        /// Removes files or data.
        Delete,
        /// Moves or renames files.
        Move,
        /// Searches for something.
        Search,
        /// Runs a command or code.
        Execute,
        /// Thinks or plans.
        Think,
        /// Fetches something from elsewhere.
        Fetch,
        /// Anything else.
        Other,
    }

    /// What came of a tool call.
    struct ToolReturn = domain::session::ToolReturn {
        /// The turn.
        turn: u32,
        /// Milliseconds of the sandbox's kernel clock since its origin.
        at_ms: i64,
        /// The call, by the agent's own name of it.
        call: String,
        /// Whether the tool says that it worked.
        outcome: ToolOutcome,
        /// What it was given, if that was told only now.
        input: Option<Excerpt>,
        /// What it gave back.
        output: Option<Excerpt>,
        /// The exit code of its command, if it ran one and told.
        exit_code: Option<i32>,
    }

    /// How a tool call ended by the agent's account.
    enum ToolOutcome = domain::session::ToolOutcome {
        /// It worked.
        Completed,
        /// It failed, or was not allowed.
        Failed,
    }

    /// One entry of the plan that an agent keeps for itself.
    struct PlanEntry = domain::session::PlanEntry {
        /// What is to be done.
        text: String,
        /// How far it is.
        state: PlanState,
    }

    /// How far an entry of a plan is.
    enum PlanState = domain::session::PlanState {
        /// Not begun.
        Pending,
        /// Being done.
        Doing,
        /// Done.
        Done,
    }

    /// Tokens as the agent itself counts them, beside what was measured.
    struct UseClaim = domain::session::UseClaim {
        /// The turn at whose end it was told.
        turn: u32,
        /// What the figures span.
        span: ClaimSpan,
        /// Tokens read, as the agent counts them: some include cached ones, some do not.
        input: Option<u64>,
        /// Tokens read from a cache.
        cached: Option<u64>,
        /// Tokens written, thoughts included or not.
        output: Option<u64>,
        /// Tokens of thoughts.
        reasoning: Option<u64>,
        /// Cost in millionths of a US dollar.
        cost_microusd: Option<u64>,
    }

    /// What an agent's own figures span.
    enum ClaimSpan = domain::session::ClaimSpan {
        /// The turn.
        Turn,
        /// Everything since the session began.
        Session,
        /// The last request of the turn.
        Request,
        /// Nobody knows.
        Unknown,
    }

    /// A text that may be long: as much of it as a log holds, and where the whole is kept.
    struct Excerpt = domain::session::Excerpt {
        /// The text, or its beginning and end if it was cut.
        shown: String,
        /// Blob of the whole text if it was cut.
        whole: Option<String>,
        /// Bytes of the whole text.
        bytes: u64,
    }
}
