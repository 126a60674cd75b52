//! Written form of a session's result, for `derived/` alone: it is never read back as truth.

use super::{
    session::CompletionOutcome,
    wire::wire,
    words::{Area, Ending, Flag, Missing},
};

wire! {
    struct SessionResult = domain::result::SessionResult {
        pair: String,
        suite: String,
        persona: String,
        family: String,
        repeat: u32,
        attempt: u32,
        ending: Ending,
        flags: Vec<(Flag, String)>,
        completion: Option<CompletionOutcome>,
        completed: Option<bool>,
        personalized: Option<bool>,
        within_budget: bool,
        valid: bool,
        joint: Option<bool>,
        class: Class,
        requirements: Vec<RequirementResult>,
        load: Load,
    }

    struct RequirementResult = domain::result::RequirementResult {
        id: String,
        area: Area,
        mandatory: bool,
        delivered: Option<u32>,
        corrections: u32,
        online: Vec<(u32, Verdict)>,
        sealed: Option<Verdict>,
        outcome: Outcome,
        disagreements: u32,
    }

    enum Verdict = domain::verdict::Verdict { Met, Unmet, Violated, Undecided(cause: Missing), Vacuous }

    enum Outcome = domain::verdict::Outcome {
        Passed, Failed, NotDelivered, Vacuous, Undecided(cause: Missing), NotGraded,
    }

    enum Class = domain::result::Class {
        NotRun, Infra, Invalid, Disqualified, JointPass, OverBudget, AgentStopped, Undecided,
        CompletionOnly, PersonalizationOnly, Neither,
    }

    struct Load = domain::result::Load {
        turns: u32,
        agent_ms: u64,
        tokens: Option<u64>,
        cost_microusd: Option<u64>,
        unpriced: u32,
        delivered: u32,
        corrections: u32,
        refusals: u32,
        nudges: u32,
        questions: u32,
        permission_requests: u32,
        words_read: u32,
        template_fallbacks: u32,
    }
}
