//! What is fixed before evaluation: personas, pairs with their checks and requirements, tasks, the release.

mod acceptance;
mod artifact;
mod check;
mod counterexample;
mod database;
mod disclosure;
pub mod lint;
mod pair;
mod persona;
mod requirement;
mod script;
mod secret;
mod task;

pub use acceptance::{Expr, Windowing};
pub use artifact::{ArtifactCheck, ArtifactFormat};
pub use check::{
    Check, CheckKind, Claim, Codes, CommitCount, EditKind, ExecKind, ExitFilter, FsState,
    MessageCheck, Metric, NetFilter, Proof, Read, ReadingNature, WhichMessage, Word,
};
pub use counterexample::{Counterexample, CounterexampleKind};
pub use database::{Catalogue, Cell, DbCheck, DbQuery, QueryAnswer, SchemaObject};
pub use disclosure::{AfterTelling, BudgetKind, Condition, Latest};
pub use pair::{
    Budget, CompletionRule, Need, Pair, PairEnvironment, Release, VerifyMode, merged_facts,
    merged_permissions, merged_topics,
};
pub use persona::{
    ActionClass, Fact, GenericAsk, Patience, PermissionAnswer, PermissionEntry, PermissionTable,
    Persona, Sight, Telling, Topic, Utterances,
};
pub use requirement::{
    Area, Binds, Feedback, FeedbackLevel, IfPresatisfied, IfPreviolated, Pass, Requirement, Tell,
};
pub use script::{Script, ScriptBlock, ScriptStep, ScriptWhen};
pub use secret::{SecretCheck, SecretPlace};
pub use task::{RewardStrategy, Step, StepPlaced, Task};
