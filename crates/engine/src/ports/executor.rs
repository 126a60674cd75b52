//! Where attempts are executed: an [`Executor`] spreads [`Job`]s and hands each to the one [`Runner`].
//!
//! Contract. Every job is started at most once, and ends before `execute` returns unless its own host died.
//! The order of jobs is a wish. A job weighs its task's processors.

use std::sync::Arc;

/// One attempt to execute, by its place in the caller's list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The caller's number.
    pub index: usize,
    /// Processors that it takes.
    pub cpus: f64,
}

/// Executes one job to its end.
#[async_trait::async_trait]
pub trait Runner: Send + Sync {
    /// Runs the job with this number; its outcome is the runner's to keep.
    async fn run(&self, index: usize);
}

/// Where attempts are executed.
#[async_trait::async_trait]
pub trait Executor: Send + Sync {
    /// Executes all jobs.
    async fn execute(&self, jobs: &[Job], runner: Arc<dyn Runner>);
}
