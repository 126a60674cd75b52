//! How an operator stops sessions: a [`Canceller`] is kept, each session holds a [`Cancellation`].

use std::sync::Arc;

use tokio::sync::watch;

/// Stops every session that holds one of its cancellations.
#[derive(Clone, Debug)]
pub struct Canceller(Arc<watch::Sender<bool>>);

/// Tells a session that the operator wants it to stop.
#[derive(Clone, Debug)]
pub struct Cancellation {
    heard: watch::Receiver<bool>,
    /// Keeps the channel open: a dropped canceller is no cancellation.
    _sender: Arc<watch::Sender<bool>>,
}

impl Default for Canceller {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Canceller {
    /// Asks all sessions to stop; their ending is decided and logged.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// A new listener.
    pub fn listen(&self) -> Cancellation {
        Cancellation { heard: self.0.subscribe(), _sender: self.0.clone() }
    }
}

impl Cancellation {
    /// Whether it was asked for.
    pub fn is_cancelled(&self) -> bool {
        *self.heard.borrow()
    }

    /// Returns once it is asked for.
    pub async fn cancelled(&mut self) {
        // The sender lives as long as the listener, so the only outcome is the wish itself.
        let _ = self.heard.wait_for(|asked| *asked).await;
    }
}
