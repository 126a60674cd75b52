//! Which watchdog of the harness runs now and when it fires: [`Watchdogs`].

use std::time::Duration;

use domain::{
    plan::SessionLimits,
    session::{Command, Watchdog},
};

use crate::ports::clock::Clock;

/// How long the machine has after a watchdog to get rid of a command that does not come back.
pub(crate) const GRACE_MS: u64 = 30_000;

/// One watchdog at a time, each for its phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watchdogs {
    limits: SessionLimits,
    running: Option<(Watchdog, u64)>,
    fired: Option<(Watchdog, u64)>,
}

/// What a deadline brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bark {
    /// The phase took too long.
    Fired(Watchdog),
    /// The command that was open then is still open: it is given up.
    GivenUp(Watchdog),
}

impl Watchdogs {
    pub(crate) fn new(limits: SessionLimits, now_ms: u64) -> Self {
        let running = Some((Watchdog::Preparation, now_ms.saturating_add(limits.preparation_ms)));
        Self { limits, running, fired: None }
    }

    /// A command was decided; some begin a phase.
    pub(crate) fn decided(&mut self, command: &Command, now_ms: u64) {
        let phase = self.running.map(|(watchdog, _)| watchdog);
        let begins = match command {
            Command::Prompt { .. } | Command::Word { .. }
                if phase == Some(Watchdog::Preparation) =>
            {
                (Watchdog::WallTime, self.limits.wall_time_ms)
            }
            Command::Seal => (Watchdog::Verification, self.limits.verification_ms),
            _ => return,
        };
        self.running = Some((begins.0, now_ms.saturating_add(begins.1)));
        self.fired = None;
    }

    /// No command is open, so nothing is to be given up any more.
    pub(crate) fn all_answered(&mut self) {
        self.fired = None;
    }

    /// Returns at the next deadline, for ever if there is none.
    pub(crate) async fn bark(&self, clock: &dyn Clock) -> Bark {
        let next = match (self.fired, self.running) {
            (Some((watchdog, at_ms)), _) => Some((Bark::GivenUp(watchdog), at_ms)),
            (None, Some((watchdog, at_ms))) => Some((Bark::Fired(watchdog), at_ms)),
            (None, None) => None,
        };
        match next {
            Some((bark, at_ms)) => {
                clock.sleep(Duration::from_millis(at_ms.saturating_sub(clock.now_ms()))).await;
                bark
            }
            None => std::future::pending().await,
        }
    }

    /// Takes note that a deadline has passed.
    pub(crate) fn barked(&mut self, bark: Bark, now_ms: u64) {
        match bark {
            Bark::Fired(watchdog) => {
                self.running = None;
                self.fired = Some((watchdog, now_ms.saturating_add(GRACE_MS)));
            }
            Bark::GivenUp(_) => self.fired = None,
        }
    }
}
