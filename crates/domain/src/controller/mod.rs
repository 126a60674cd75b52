//! Who says what when: the turn plan, the ledger of requirements, conditions, permissions,
//! feedback, patience, the end.
//!
//! [`Controller`] owns it all and is pure; the session machine feeds it ended turns and asks it for
//! a [`Decision`].

mod conditions;
mod draft;
mod ending;
mod feedback;
mod grant;
mod handoff;
mod ledger;
mod patience;
mod permission;
mod record;
mod state;
mod turn;
mod turn_plan;

pub use conditions::{History, first_turn};
pub use grant::Grant;
pub use ledger::{Ledger, LedgerEntry, Stage};
pub use permission::{closes_network, reach};
pub use record::{TurnKind, TurnRecord, Used, hands_off};
pub use state::{Controller, EndedTurn};
pub use turn::Decision;
pub use turn_plan::{DialogueLine, SpeechAct, TurnPlan, Voice, WordingGuard};

pub(crate) use ending::{OverBudget, over_budget};
