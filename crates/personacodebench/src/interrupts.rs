//! The operator's wish to stop, by interrupt or by termination ([`Interrupts`]): heard from its making on.

use std::future::Future;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// Signals that ask to stop; one that comes while nobody waits is heard by the next who does.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Begins to listen; must be called inside the runtime.
    ///
    /// # Errors
    /// The operating system gives no signals.
    pub fn new() -> Result<Self, Failure> {
        let heard = |kind| {
            signal(kind)
                .map_err(|error| Failure::input(format!("signals cannot be heard: {error}")))
        };
        Ok(Self {
            interrupt: heard(SignalKind::interrupt())?,
            terminate: heard(SignalKind::terminate())?,
        })
    }

    /// Returns at the next signal.
    pub async fn heard(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// What the work comes to; none if a signal came first, and then the work is dropped.
    pub async fn unless_heard<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.heard() => None,
        }
    }
}
