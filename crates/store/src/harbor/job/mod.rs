//! A job in Harbor's layout, to be written for its viewer and its readers: what stands in it ([`Job`], [`Trial`]) and
//! how it gets on disk without touching what others put there ([`write_job`]).

mod config;
mod folder;
mod id;
mod layout;
mod result;
mod trajectory;

pub use config::{
    AgentConfig, DatasetConfig, EnvironmentConfig, JobConfig, TaskConfig, TrialConfig,
};
pub use folder::{
    ArtifactEntry, Artifacts, ExportError, Job, StepFiles, Trial, Written, write_job,
};
pub use id::uuid;
pub use layout::trial_name;
pub use result::{
    AgentContext, AgentInfo, EvalStats, ExceptionInfo, JobResult, JobStats, LocalTask, ModelInfo,
    StepResult, Timing, TrialResult, VerifierResult,
};
pub use trajectory::{
    Agent, Extra, FinalMetrics, Metrics, Source, Step, ToolCall, ToolResult, ToolResults,
    Trajectory, VERSION,
};
