//! For how long a session's provider did not answer ([`Pauses`]): the agent's clock stands still meanwhile. Pauses of
//! requests at the same time count once.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

/// What a provider's failures took from an agent.
#[derive(Debug)]
pub struct Pauses {
    state: Mutex<State>,
    seen: watch::Sender<Paused>,
}

/// How long a clock has stood still, and whether it stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paused {
    /// Of pauses that are over.
    pub total: Duration,
    /// When the pause began that goes on.
    pub since: Option<Instant>,
}

impl Paused {
    /// All pauses up to a moment.
    pub fn until(&self, now: Instant) -> Duration {
        let open = self.since.map(|since| now.saturating_duration_since(since));
        self.total + open.unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    since: Option<Instant>,
    ended: Option<Instant>,
    total: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        let (seen, _) = watch::channel(Paused { total: Duration::ZERO, since: None });
        Self { state: Mutex::default(), seen }
    }
}

impl Pauses {
    /// The clock stands still from `since` on, which may lie in the past, until the guard is dropped.
    pub fn begin(self: &Arc<Self>, since: Instant) -> Pause {
        let mut state = self.state.lock().expect("no holder panics");
        // What an earlier pause covered is counted already.
        let since = state.ended.map_or(since, |ended| since.max(ended));
        let since = state.since.map_or(since, |open| open.min(since));
        state.since = Some(since);
        state.open += 1;
        self.tell(&state);
        Pause { pauses: self.clone(), began: since }
    }

    /// What stands now, and how it changes.
    pub fn watch(&self) -> watch::Receiver<Paused> {
        self.seen.subscribe()
    }

    /// All pauses up to now.
    pub fn total(&self) -> Duration {
        self.seen.borrow().until(Instant::now())
    }

    fn tell(&self, state: &State) {
        self.seen.send_replace(Paused { total: state.total, since: state.since });
    }

    fn end(&self) {
        let now = Instant::now();
        let mut state = self.state.lock().expect("no holder panics");
        state.open -= 1;
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.total += now.saturating_duration_since(since);
            state.ended = Some(now);
            self.tell(&state);
        }
    }
}

/// A pause that goes on.
#[derive(Debug)]
pub struct Pause {
    pauses: Arc<Pauses>,
    began: Instant,
}

impl Pause {
    /// How long it has lasted.
    pub fn lasted(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.pauses.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_that_several_lose_counts_once() {
        let second = Duration::from_secs(1);
        let pauses = Arc::new(Pauses::default());
        tokio::time::advance(10 * second).await;
        // Known to be one after two seconds of it have passed.
        let first = pauses.begin(Instant::now() - 2 * second);
        tokio::time::advance(3 * second).await;
        let other = pauses.begin(Instant::now() - second);
        assert_eq!(pauses.total(), 5 * second);
        drop(first);
        tokio::time::advance(second).await;
        drop(other);
        assert_eq!(pauses.total(), 6 * second);
        tokio::time::advance(5 * second).await;
        assert_eq!(pauses.total(), 6 * second, "a clock that runs");
        // What lies before the end of the last pause was counted.
        let late = pauses.begin(Instant::now() - 100 * second);
        assert_eq!(pauses.total(), 11 * second);
        drop(late);
        assert_eq!(pauses.watch().borrow().since, None);
    }
}
