//! Who says what when: the turn plan, the ledger of requirements, conditions, permissions, feedback, patience, the end.

mod grant;
mod turn_plan;

pub use grant::Grant;
pub use turn_plan::{DialogueLine, SpeechAct, TurnPlan, Voice, WordingGuard};
