//! What must be so before the agent works: a healthcheck tried until it holds or has failed too often.

use std::time::Duration;

use domain::{
    fault::{Ending, Flag},
    ids::Turn,
    release::Healthcheck,
};

use super::Stage;
use crate::{
    ports::sandbox::Finished,
    shell::{Line, last_lines, run_line},
    stop::Stop,
};

/// Lines of its output that a fault tells.
const LINES_TOLD: usize = 20;

impl Stage {
    /// Tries until one try succeeds.
    ///
    /// A try that runs out of its time is a failed try. Tries that begin in the start period do not count; their number
    /// has no bound but the watchdog of the preparation, before a later step that of the interaction.
    pub(super) async fn wait_until_healthy(&self, check: &Healthcheck) -> Result<(), Stop> {
        let clock = self.ports.clock.as_ref();
        let began_ms = clock.now_ms();
        let start_period = Duration::from_secs_f64(check.start_period_sec);
        let mut failed = 0;
        loop {
            let is_starting = Duration::from_millis(clock.now_ms() - began_ms) < start_period;
            let tried = self.try_once(check).await?;
            if tried.is_success() {
                return Ok(());
            }
            if !is_starting {
                failed += 1;
            }
            if failed >= check.retries {
                return Err(unhealthy(check, &tried));
            }
            let pause = if is_starting { check.start_interval_sec } else { check.interval_sec };
            clock.sleep(Duration::from_secs_f64(pause)).await;
        }
    }

    async fn try_once(&self, check: &Healthcheck) -> Result<Finished, Stop> {
        let line = Line {
            command: &check.command,
            workdir: &self.setup.scenario.workdir,
            user: None,
            timeout: Duration::from_secs_f64(check.timeout_sec),
        };
        Ok(run_line(self.sandbox()?.as_ref(), line).await?)
    }

    /// Changes and programs of the agent are counted from now on: what was done before is the task's.
    pub(super) async fn count_from_here(&self) -> Result<(), Stop> {
        self.freeze().await?;
        let sandbox = self.sandbox()?;
        let capture = sandbox.capture(Turn::BASE).await?;
        self.forget_attempts().await?;
        let brought = self.gathered.lock().await.placed(sandbox.as_ref(), &capture);
        self.brought.lock().await.extend(brought);
        self.thaw().await?;
        Ok(())
    }
}

/// The task's materials are at fault, as an environment is whose base cannot be made.
fn unhealthy(check: &Healthcheck, last: &Finished) -> Stop {
    let told = last_lines(last, LINES_TOLD);
    let (retries, command, ended) = (check.retries, &check.command, last.ended);
    let detail = format!(
        "the healthcheck `{command}` failed {retries} times in a row, the last time as {ended:?}\n{told}"
    );
    let ending = Some(Ending::PreparationFailed);
    Stop::Other(Flag::MaterialiseFailed, ending, detail.trim_end().to_owned())
}
