//! How much of a stream may be sent: [`Credit`] is taken by the one sender and granted by the receiver.

use std::{
    future::poll_fn,
    sync::{Mutex, MutexGuard},
    task::{Context, Poll, Waker},
};

/// Bytes that may still be sent.
#[derive(Debug)]
pub(super) struct Credit {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    bytes: usize,
    is_closed: bool,
    waker: Option<Waker>,
}

impl Credit {
    /// So many to begin with.
    pub(super) fn new(bytes: usize) -> Self {
        Self { state: Mutex::new(State { bytes, is_closed: false, waker: None }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves whole values.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes at least one and at most `max` bytes; 0 once the receiver has closed.
    pub(super) fn poll_take(&self, context: &mut Context<'_>, max: usize) -> Poll<usize> {
        let mut state = self.state();
        if state.is_closed {
            return Poll::Ready(0);
        }
        if state.bytes == 0 {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let taken = state.bytes.min(max);
        state.bytes -= taken;
        Poll::Ready(taken)
    }

    /// Like [`Credit::poll_take`]; nothing is taken if the future is dropped.
    pub(super) async fn take(&self, max: usize) -> usize {
        poll_fn(|context| self.poll_take(context, max)).await
    }

    /// Grants more, or gives back what was not used.
    pub(super) fn grant(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_add(bytes);
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Nothing can be sent any more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}
