//! Time of one session: [`Clock`]. All waiting goes through it, so that a session can run in virtual time.

use std::{future::Future, pin::Pin, time::Duration};

/// A session that is being driven.
pub type Driven<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Monotonic time of one session.
#[async_trait::async_trait]
pub trait Clock: Send + Sync {
    /// Milliseconds since the attempt began.
    fn now_ms(&self) -> u64;

    /// Waits.
    async fn sleep(&self, duration: Duration);

    /// Polls a session to its end. A virtual clock jumps to the next deadline here whenever nothing else can
    /// go on; a real one has nothing to add.
    fn drive<'a>(&'a self, session: Driven<'a>) -> Driven<'a> {
        session
    }
}

/// Runs `work` for so long at the most; none if the time ran out first.
pub async fn within<T>(
    clock: &dyn Clock,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep(limit) => None,
    }
}
