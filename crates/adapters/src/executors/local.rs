//! Runs attempts as tasks of this process: [`LocalExecutor`] never gives out more processors than there are.

use std::sync::Arc;

use engine::ports::executor::{Executor, Job, Runner};
use tokio::{sync::Semaphore, task::JoinSet};

/// Shares of a processor that are told apart.
const SHARES: f64 = 100.0;

/// This host. Clones share its processors, so that several runs at once take no more than one would.
#[derive(Clone, Debug)]
pub struct LocalExecutor {
    all: u32,
    processors: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl LocalExecutor {
    /// So many processors, and so many attempts at once at the most, whatever they weigh.
    pub fn new(cpus: f64, jobs_max: usize) -> Self {
        let all = shares(cpus);
        Self {
            all,
            processors: Arc::new(Semaphore::new(all as usize)),
            places: Arc::new(Semaphore::new(jobs_max.clamp(1, Semaphore::MAX_PERMITS))),
        }
    }
}

#[async_trait::async_trait]
impl Executor for LocalExecutor {
    async fn execute(&self, jobs: &[Job], runner: Arc<dyn Runner>) {
        let mut running = JoinSet::new();
        for job in jobs {
            // A job that wants more than there is gets all of it, alone.
            let weight = shares(job.cpus).min(self.all);
            let place = self.places.clone().acquire_owned().await;
            let processor = self.processors.clone().acquire_many_owned(weight).await;
            let (runner, index) = (runner.clone(), job.index);
            running.spawn(async move {
                let _held = (place, processor);
                runner.run(index).await;
            });
        }
        while let Some(ended) = running.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    }
}

fn shares(cpus: f64) -> u32 {
    // A float becomes the nearest number of shares that the type holds.
    (cpus * SHARES).ceil().clamp(1.0, 1e6) as u32
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[derive(Default)]
    struct Counting {
        now: AtomicUsize,
        most: AtomicUsize,
        ran: Mutex<Vec<usize>>,
    }

    #[async_trait::async_trait]
    impl Runner for Counting {
        async fn run(&self, index: usize) {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            self.ran.lock().expect("no holder panics").push(index);
        }
    }

    async fn check(executor: LocalExecutor, job_cpus: f64, most: usize) {
        let runner = Arc::new(Counting::default());
        let jobs: Vec<Job> = (0..7).map(|index| Job { index, cpus: job_cpus }).collect();
        executor.execute(&jobs, runner.clone()).await;
        let mut ran = runner.ran.lock().expect("no holder panics").clone();
        ran.sort_unstable();
        assert_eq!(ran, (0..7).collect::<Vec<_>>());
        assert_eq!(runner.most.load(Ordering::SeqCst), most, "{executor:?} {job_cpus}");
    }

    #[tokio::test]
    async fn processors_are_never_given_out_twice() {
        check(LocalExecutor::new(2.0, usize::MAX), 1.0, 2).await;
        check(LocalExecutor::new(2.0, usize::MAX), 0.5, 4).await;
        check(LocalExecutor::new(2.0, 1), 0.5, 1).await;
        check(LocalExecutor::new(1.0, usize::MAX), 4.0, 1).await;
    }

    #[tokio::test]
    async fn clones_share_the_processors() {
        let runner = Arc::new(Counting::default());
        let executor = LocalExecutor::new(2.0, usize::MAX);
        let jobs: Vec<Job> = (0..5).map(|index| Job { index, cpus: 1.0 }).collect();
        let (one, other) = (executor.clone(), executor);
        tokio::join!(one.execute(&jobs, runner.clone()), other.execute(&jobs, runner.clone()));
        assert_eq!(runner.ran.lock().expect("no holder panics").len(), 10);
        assert_eq!(runner.most.load(Ordering::SeqCst), 2);
    }
}
