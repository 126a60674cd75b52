//! What is fixed before evaluation: personas, pairs with their checks and requirements, tasks, the release.

mod acceptance;
mod artifact;
mod check;
mod counterexample;
mod database;
mod disclosure;
mod environment;
pub mod lint;
mod network;
mod pair;
mod persona;
mod requirement;
mod script;
mod secret;
mod support;
mod task;
mod template;
mod verification;

pub use acceptance::{Expr, Windowing};
pub use artifact::{ArtifactCheck, ArtifactFormat};
pub use check::{
    Check, CheckKind, Claim, Codes, CommitCount, EditKind, ExecKind, ExitFilter, FsState,
    MessageCheck, Metric, NetFilter, Proof, Read, ReadingNature, WhichMessage, Word,
};
pub use counterexample::{Counterexample, CounterexampleKind};
pub use database::{Catalogue, Cell, DbCheck, DbQuery, QueryAnswer, SchemaObject};
pub use disclosure::{AfterTelling, BudgetKind, Condition, Latest};
pub use environment::{Environment, Healthcheck, McpServer, McpTransport, Recipe, WorkdirSource};
pub use network::{AllowedHost, AllowedHostError, Destination, Network, Policy, Ruling};
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
pub use support::{DOCKER, Unsupported};
pub use task::{
    AgentPhase, Artifact, CollectHook, MAIN_SERVICE, Package, RewardStrategy, Step, StepPlaced,
    StepVerifierPhase, Task, VerifierEnvironment, VerifierPhase,
};
pub use template::{EnvTable, EnvValue, MissingVariables};
pub use verification::{Home, HomeOrigin, PUBLISHED, SeparateHome};
