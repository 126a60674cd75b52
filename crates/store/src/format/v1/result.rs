//! Written form of a session's result, for `derived/` alone: it is never read back as truth.

use super::{
    session::CompletionOutcome,
    wire::wire,
    words::{Area, Ending, Flag, Missing},
};

wire! {
    /// What one attempt came to; derived, never stored as truth.
    struct SessionResult = domain::result::SessionResult {
        /// The pair.
        pair: String,
        /// The suite it counts under.
        suite: String,
        /// Who spoke: the pair's persona, or the neutral one.
        persona: String,
        /// Family of the pair's persona.
        family: String,
        /// Which repeat.
        repeat: u32,
        /// Which attempt.
        attempt: u32,
        /// How it ended.
        ending: Ending,
        /// Flags with a word on each, in order of their table.
        flags: Vec<(Flag, String)>,
        /// What the native verifier left; of a task that has steps, what their rewards come to. None if it
        /// did not run.
        completion: Option<CompletionOutcome>,
        /// Each step of a task that has several, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<StepResult>,
        /// Programs that ran beside the tests; absent if these ran where nothing of the agent could.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        survivors: Option<Vec<String>>,
        /// Whether the task counts as completed; none if ungraded.
        completed: Option<bool>,
        /// Whether every mandatory requirement passed; none if ungraded or the arm has no persona.
        personalized: Option<bool>,
        /// Whether the declared budget was kept.
        within_budget: bool,
        /// Whether no flag counts, whoever owns it.
        valid: bool,
        /// All of it; none where the arm has no persona.
        joint: Option<bool>,
        /// Its one class of the census.
        class: Class,
        /// Each requirement.
        requirements: Vec<RequirementResult>,
        /// Load of the interaction.
        load: Load,
    }

    /// What became of one step of a task.
    struct StepResult = domain::result::StepResult {
        /// Which.
        step: String,
        /// What its verifier left; none if it was not reached or could not be verified.
        outcome: Option<CompletionOutcome>,
    }

    /// What became of one requirement.
    struct RequirementResult = domain::result::RequirementResult {
        /// Which.
        id: String,
        /// Its area.
        area: Area,
        /// Whether personalization needs it.
        mandatory: bool,
        /// The turn that its telling opened.
        delivered: Option<u32>,
        /// Corrections delivered.
        corrections: u32,
        /// Verdicts at the turns at which it was looked at after its telling.
        online: Vec<(u32, Verdict)>,
        /// Verdict at the seal.
        sealed: Option<Verdict>,
        /// Final.
        outcome: Outcome,
        /// Checks that read otherwise at the last turn than at the seal.
        disagreements: u32,
    }

    /// A requirement at a look.
    enum Verdict = domain::verdict::Verdict {
        /// It holds.
        Met,
        /// It does not hold and can still be met.
        Unmet,
        /// It is settled false.
        Violated,
        /// It cannot be told, for the worst cause among its checks.
        Undecided(cause: Missing),
        /// It does not apply.
        Vacuous,
    }

    /// What became of a requirement, final.
    enum Outcome = domain::verdict::Outcome {
        /// Met at the seal.
        Passed,
        /// Unmet or violated at the seal.
        Failed,
        /// It was never told.
        NotDelivered,
        /// It did not apply.
        Vacuous,
        /// It could not be told.
        Undecided(cause: Missing),
        /// The session was not graded.
        NotGraded,
    }

    /// The one class of the census that a repeat is in; the first that applies.
    enum Class = domain::result::Class {
        /// Never executed.
        NotRun,
        /// A fault of the world.
        Infra,
        /// A fault of harness, simulator or judge.
        Invalid,
        /// An agent's flag disqualifies it.
        Disqualified,
        /// Completed, personalized, within budget, valid. Without persona: completed, within budget,
        /// valid.
        JointPass,
        /// A budget was exceeded.
        OverBudget,
        /// The agent stopped by itself before the hand-off was accepted, and did not pass.
        AgentStopped,
        /// A mandatory requirement could not be decided.
        Undecided,
        /// Completed only.
        CompletionOnly,
        /// Personalized only.
        PersonalizationOnly,
        /// Neither. Without persona: not completed.
        Neither,
    }

    /// Load of the interaction and resources used.
    struct Load = domain::result::Load {
        /// Turns that the agent ended.
        turns: u32,
        /// Agent time in milliseconds.
        agent_ms: u64,
        /// Tokens; none if nobody counted.
        tokens: Option<u64>,
        /// Known cost in millionths of a US dollar.
        cost_microusd: Option<u64>,
        /// Reports of use without a price.
        unpriced: u32,
        /// Requirements delivered.
        delivered: u32,
        /// Corrections delivered.
        corrections: u32,
        /// Hand-offs refused.
        refusals: u32,
        /// Nudges.
        nudges: u32,
        /// Open questions of the agent.
        questions: u32,
        /// Permission requests, in words or inside turns.
        permission_requests: u32,
        /// Those of them that were made inside a turn, by an agent that waits for the answer.
        requests_inside: u32,
        /// Words that the user had to read.
        words_read: u32,
        /// Wordings that came from the template after rejected tries.
        template_fallbacks: u32,
    }
}
