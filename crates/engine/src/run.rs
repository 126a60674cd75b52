//! Runs many sessions: each [`Assignment`] gets ports of its own, and an executor spreads them ([`run`]).

use std::sync::{Arc, Mutex};

use domain::fault::Ending;

use crate::{
    cancel::Canceller,
    drive::{SessionOutcome, session},
    ports::{
        executor::{Executor, Job, Runner},
        watch::SessionKey,
    },
    setup::{SessionPorts, Setup},
};

/// One attempt to run.
#[derive(Clone)]
pub struct Assignment {
    /// What it is made of.
    pub setup: Setup,
    /// Processors that its task takes.
    pub cpus: f64,
}

/// Gives each session its ports: an agent that was opened for nobody else, a journal, a clock.
pub trait Outfitter: Send + Sync {
    /// Ports of an attempt that is about to start; an error says in words why there are none.
    fn outfit(&self, setup: &Setup) -> Result<SessionPorts, String>;
}

/// What became of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// It ran.
    Ended(SessionOutcome),
    /// It never started, for instance because another worker has claimed it.
    NotStarted {
        /// Which attempt.
        key: SessionKey,
        /// Why.
        why: String,
    },
}

impl RunOutcome {
    /// The ending if there is one.
    pub fn ending(&self) -> Option<Ending> {
        match self {
            RunOutcome::Ended(outcome) => Some(outcome.ending),
            RunOutcome::NotStarted { .. } => None,
        }
    }
}

/// Runs all assignments; outcomes come in their order. After a cancellation nothing new is started.
pub async fn run(
    assignments: Vec<Assignment>,
    outfitter: Arc<dyn Outfitter>,
    executor: &dyn Executor,
    canceller: &Canceller,
) -> Vec<RunOutcome> {
    let jobs: Vec<Job> = assignments
        .iter()
        .enumerate()
        .map(|(index, assignment)| Job { index, cpus: assignment.cpus })
        .collect();
    let waiting: Vec<RunOutcome> = assignments
        .iter()
        .map(|assignment| RunOutcome::NotStarted {
            key: assignment.setup.key.clone(),
            why: "it was not started".to_owned(),
        })
        .collect();
    let runner = Arc::new(SessionRunner {
        assignments,
        outfitter,
        canceller: canceller.clone(),
        outcomes: Mutex::new(waiting),
    });
    executor.execute(&jobs, runner.clone()).await;
    std::mem::take(&mut *runner.outcomes.lock().expect("no holder panics"))
}

struct SessionRunner {
    assignments: Vec<Assignment>,
    outfitter: Arc<dyn Outfitter>,
    canceller: Canceller,
    outcomes: Mutex<Vec<RunOutcome>>,
}

#[async_trait::async_trait]
impl Runner for SessionRunner {
    async fn run(&self, index: usize) {
        let Some(assignment) = self.assignments.get(index) else { return };
        let cancellation = self.canceller.listen();
        let key = assignment.setup.key.clone();
        let outcome = if cancellation.is_cancelled() {
            RunOutcome::NotStarted { key, why: "the operator stopped the run".to_owned() }
        } else {
            match self.outfitter.outfit(&assignment.setup) {
                Ok(ports) => {
                    let setup = assignment.setup.clone();
                    RunOutcome::Ended(session(setup, ports, cancellation).await)
                }
                Err(why) => RunOutcome::NotStarted { key, why },
            }
        };
        self.outcomes.lock().expect("no holder panics")[index] = outcome;
    }
}
