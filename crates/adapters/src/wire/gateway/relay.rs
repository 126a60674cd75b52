//! A stream of events on its way from provider to agent ([`Relay`]): each piece is passed on as it comes and read beside it.

use std::{
    collections::VecDeque,
    error::Error,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use domain::evidence::{Break, CallOutcome};
use hyper::body::{Body, Bytes, Frame};
use tokio::time::{Instant, Sleep};

use super::{
    GatewaySession,
    call::{Given, OpenCall},
    spool::Spool,
    until_blocked,
};
use crate::models::{
    formats::{Blame, Sse, Tally},
    provider::ReplyBody,
};

/// Why an answer is cut.
pub(super) type Cut = Box<dyn Error + Send + Sync>;

/// What becomes of the next piece.
type Passed = Poll<Option<Result<Frame<Bytes>, Cut>>>;

/// The body of an answer on its way.
pub(super) struct Relay {
    session: Arc<GatewaySession>,
    call: OpenCall,
    status: u16,
    content_type: String,
    /// What was looked at before the answer was begun.
    first: VecDeque<Bytes>,
    body: ReplyBody,
    reading: Reading,
    spool: Option<Spool>,
    bytes: usize,
    last_piece: Instant,
    idle: Pin<Box<Sleep>>,
    end: Pin<Box<Sleep>>,
    blocked: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Why the answer is cut, once all that came before has been passed on.
    cut: Option<String>,
}

/// An answer as far as it was read.
pub(super) struct Reading {
    sse: Sse,
    pub(super) tally: Tally,
    pub(super) events: usize,
    is_overflown: bool,
}

impl Reading {
    pub(super) fn new(tally: Tally) -> Self {
        Self { sse: Sse::default(), tally, events: 0, is_overflown: false }
    }

    pub(super) fn take_in(&mut self, bytes: &[u8]) {
        let (tally, events) = (&mut self.tally, &mut self.events);
        let taken = self.sse.push(bytes, |event| {
            *events += 1;
            tally.event(&event);
        });
        self.is_overflown |= taken.is_err();
    }

    /// How an answer ended whose connection ended well.
    pub(super) fn outcome(&self) -> CallOutcome {
        match &self.tally.error {
            Some(error) => match error.blame() {
                Blame::Request => CallOutcome::BadRequest,
                Blame::Ours => CallOutcome::Unauthorised,
                Blame::Passing => CallOutcome::Broken(Break::ErrorInside),
            },
            None if self.is_overflown => CallOutcome::Broken(Break::TooLarge),
            None if self.tally.is_malformed => CallOutcome::Broken(Break::Malformed),
            None if self.tally.is_finished => CallOutcome::Answered,
            None => CallOutcome::Broken(Break::Truncated),
        }
    }
}

impl Relay {
    pub(super) fn new(
        session: &Arc<GatewaySession>,
        call: OpenCall,
        (status, content_type): (u16, String),
        first: VecDeque<Bytes>,
        body: ReplyBody,
        reading: Reading,
    ) -> Self {
        let patience = &session.gateway.patience;
        let spool = call.is_recorded().then(|| {
            let mut spool = Spool::new(session.gateway.bounds.recorded_bytes_max);
            first.iter().for_each(|piece| spool.push(piece));
            spool
        });
        Self {
            session: session.clone(),
            call,
            status,
            content_type,
            bytes: first.iter().map(Bytes::len).sum(),
            first,
            body,
            reading,
            spool,
            last_piece: Instant::now(),
            idle: Box::pin(tokio::time::sleep(patience.idle_max)),
            end: Box::pin(tokio::time::sleep(patience.answer_max)),
            blocked: Box::pin(until_blocked(session.blocked.subscribe())),
            cut: None,
        }
    }

    fn finish(&mut self, outcome: CallOutcome) {
        // A broken answer would break a replay too: what stands in the record is what came.
        let bytes = self.spool.take().and_then(|mut spool| spool.whole());
        let given = Given { status: self.status, content_type: self.content_type.clone(), bytes };
        self.call.end(outcome, given, Some(&self.reading.tally));
    }

    /// Ends the answer by an error. What came before must not be lost with the connection: it is written out while
    /// this waits to be asked once more.
    fn cut(&mut self, context: &mut Context<'_>, outcome: CallOutcome, why: &str) -> Passed {
        self.finish(outcome);
        self.cut = Some(why.to_owned());
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// The wait for what did not come any more is not the agent's.
    fn cut_by_provider(&mut self, context: &mut Context<'_>, broken: Break, why: &str) -> Passed {
        let pause = self.session.pauses.begin(self.last_piece);
        self.call.paused_ms += super::call::millis(pause.lasted());
        drop(pause);
        self.cut(context, CallOutcome::Broken(broken), why)
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Passed {
        if let Some(why) = self.cut.take() {
            return Poll::Ready(Some(Err(why.into())));
        }
        if self.blocked.as_mut().poll(context).is_ready() {
            return self.cut(context, CallOutcome::Blocked, "the wire is blocked");
        }
        if let Some(piece) = self.first.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match self.body.as_mut().poll_next(context) {
            Poll::Ready(Some(Ok(piece))) => {
                self.bytes += piece.len();
                if self.bytes > self.session.gateway.bounds.stream_bytes_max {
                    return self.cut(context, CallOutcome::Broken(Break::TooLarge), "too large");
                }
                self.reading.take_in(&piece);
                if let Some(spool) = &mut self.spool {
                    spool.push(&piece);
                }
                let now = Instant::now();
                self.last_piece = now;
                let idle_max = self.session.gateway.patience.idle_max;
                self.idle.as_mut().reset(now + idle_max);
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Poll::Ready(Some(Err(broken))) => {
                self.cut_by_provider(context, Break::Truncated, &broken.to_string())
            }
            Poll::Ready(None) => {
                let outcome = self.reading.outcome();
                self.finish(outcome);
                Poll::Ready(None)
            }
            Poll::Pending => {
                if self.idle.as_mut().poll(context).is_ready() {
                    return self.cut_by_provider(context, Break::Stalled, "nothing more came");
                }
                if self.end.as_mut().poll(context).is_ready() {
                    return self.cut(context, CallOutcome::Broken(Break::TooLong), "took too long");
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Some clients hang up as soon as they have read the end.
        let outcome = match self.reading.outcome() {
            CallOutcome::Broken(Break::Truncated) => CallOutcome::Abandoned,
            known => known,
        };
        self.finish(outcome);
    }
}
