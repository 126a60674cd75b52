//! Clocks of sessions: [`RealClock`] follows the host, [`VirtualClock`] jumps whenever nothing else can go on.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use engine::ports::clock::{Clock, Driven};

/// Monotonic time of the host.
#[derive(Debug)]
pub struct RealClock {
    began: Instant,
}

impl RealClock {
    /// A clock whose attempt begins now.
    pub fn begin() -> Self {
        Self { began: Instant::now() }
    }
}

#[async_trait::async_trait]
impl Clock for RealClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// Time that passes only by waiting for it; the same session takes the same course at every run.
#[derive(Debug, Default)]
pub struct VirtualClock {
    state: Mutex<Sleepers>,
}

#[derive(Debug, Default)]
struct Sleepers {
    now_ms: u64,
    next_id: u64,
    /// By deadline and order of going to sleep.
    waiting: BTreeMap<(u64, u64), Waker>,
}

impl VirtualClock {
    /// Goes to the earliest deadline that somebody waits for; false if nobody waits.
    fn jump(&self) -> bool {
        let mut state = self.state.lock().expect("no holder panics");
        let Some((&(deadline_ms, _), _)) = state.waiting.first_key_value() else { return false };
        state.now_ms = state.now_ms.max(deadline_ms);
        let later = state.waiting.split_off(&(deadline_ms + 1, 0));
        let due = std::mem::replace(&mut state.waiting, later);
        drop(state);
        for waker in due.into_values() {
            waker.wake();
        }
        true
    }
}

#[async_trait::async_trait]
impl Clock for VirtualClock {
    fn now_ms(&self) -> u64 {
        self.state.lock().expect("no holder panics").now_ms
    }

    async fn sleep(&self, duration: Duration) {
        let (deadline_ms, id) = {
            let mut state = self.state.lock().expect("no holder panics");
            state.next_id += 1;
            let length_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            // The last millisecond is left free, so that the one after a deadline always exists.
            (state.now_ms.saturating_add(length_ms).min(u64::MAX - 1), state.next_id)
        };
        Sleep { clock: self, key: (deadline_ms, id) }.await;
    }

    fn drive<'a>(&'a self, session: Driven<'a>) -> Driven<'a> {
        // Tokio's cooperative budget makes ready things look pending, and time would jump over them.
        let mut session = Box::pin(tokio::task::unconstrained(session));
        let flag = Arc::new(Flag::default());
        Box::pin(poll_fn(move |context| {
            *flag.parent.lock().expect("no holder panics") = Some(context.waker().clone());
            let waker = Waker::from(flag.clone());
            loop {
                flag.is_woken.store(false, Ordering::Relaxed);
                if session.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    return Poll::Ready(());
                }
                if !flag.is_woken.load(Ordering::Relaxed) && !self.jump() {
                    return Poll::Pending;
                }
            }
        }))
    }
}

/// Tells whether something can go on without time passing.
#[derive(Default)]
struct Flag {
    is_woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Relaxed);
        if let Some(parent) = &*self.parent.lock().expect("no holder panics") {
            parent.wake_by_ref();
        }
    }
}

struct Sleep<'a> {
    clock: &'a VirtualClock,
    key: (u64, u64),
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.state.lock().expect("no holder panics");
        if state.now_ms >= self.key.0 {
            state.waiting.remove(&self.key);
            return Poll::Ready(());
        }
        state.waiting.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.clock.state.lock().expect("no holder panics").waiting.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use engine::ports::clock::within;

    use super::*;

    #[tokio::test]
    async fn virtual_time_jumps_to_deadlines_in_order() {
        let clock = VirtualClock::default();
        let mut seen = Vec::new();
        let log = &mut seen;
        let time = &clock;
        clock
            .drive(Box::pin(async move {
                let hour = Duration::from_secs(3_600);
                let hangs = within(time, hour, std::future::pending::<()>()).await;
                log.push((hangs.is_none(), time.now_ms()));
                let short = within(time, hour, time.sleep(Duration::from_millis(5))).await;
                log.push((short.is_none(), time.now_ms()));
                time.sleep(Duration::MAX).await;
                log.push((true, time.now_ms()));
            }))
            .await;
        assert_eq!(seen, [(true, 3_600_000), (false, 3_600_005), (true, u64::MAX - 1)]);
    }

    /// More messages than one poll may take by tokio's cooperative budget, all of them there already.
    #[tokio::test]
    async fn time_does_not_jump_over_what_is_ready() {
        let clock = VirtualClock::default();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..1_000 {
            sender.send(number).expect("the receiver is there");
        }
        let time = &clock;
        clock
            .drive(Box::pin(async move {
                let received = within(time, Duration::from_secs(60), async {
                    for _ in 0..1_000 {
                        receiver.recv().await.expect("a message");
                    }
                });
                assert!(received.await.is_some());
            }))
            .await;
        assert_eq!(clock.now_ms(), 0);
    }
}
