//! From a release, a configuration and an arm to fully decided session specs ([`Plan`]), and what
//! of them is still to be done ([`remaining`]); all randomness is drawn here.

mod expand;
mod remaining;
mod spec;

pub(crate) use expand::turns_max;
pub use expand::{
    PlanError, PlanRequest, Unsuited, excluded_from_opening, expand, limits, steps_agent_ms,
};
pub use remaining::{AttemptRecord, AttemptState, Work, WorkKind, remaining, scored};
pub use spec::{
    Arm, BenchmarkSide, Configuration, PROTOCOL, Plan, SessionLimits, SessionSpec, UserKind,
};
