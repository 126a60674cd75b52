//! The account of a wire: [`Book`] with a [`Line`] for each attempt, told at each capture.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use domain::{
    evidence::{NetAttempt, NetOutcome, NetTransport, NetWay},
    ids::Turn,
};
use engine::ports::wire::Attempts;
use tokio::sync::watch;

/// Attempts of one turn that are kept.
const ATTEMPTS_MAX: usize = 200_000;

/// Paths of requests are cut after so many characters.
const PATH_MAX: usize = 1024;

/// All attempts since the wire was opened that are not told to their end.
#[derive(Debug, Default)]
pub(super) struct Book {
    state: Mutex<State>,
    /// Connections of which it is not known yet what they ask for.
    undecided: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<Arc<Line>>,
    /// What was refused since it was told last: the same again says nothing new.
    refused: BTreeSet<Same>,
    has_overflown: bool,
}

/// By what two attempts are one.
type Same = (String, u16, NetTransport, NetWay, [Option<String>; 3], String);

/// One attempt while it goes on.
#[derive(Debug)]
pub(super) struct Line {
    attempt: Mutex<NetAttempt>,
    /// Bytes that went to the other end.
    pub(super) sent: AtomicU64,
    /// Bytes that came back.
    pub(super) received: AtomicU64,
    is_over: AtomicBool,
    /// Bytes of both directions when it was told last.
    told: Mutex<Option<(u64, u64)>>,
}

/// An attempt that goes on as long as somebody holds this.
#[derive(Debug)]
pub(super) struct OpenLine(Arc<Line>);

impl std::ops::Deref for OpenLine {
    type Target = Line;

    fn deref(&self) -> &Line {
        &self.0
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// A connection of which it is not known yet what it asks for.
#[derive(Debug)]
pub(super) struct Undecided(watch::Sender<usize>);

impl Drop for Undecided {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every critical section leaves whole values.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An attempt of which only place and decision are known; the turn is known when it is told.
pub(super) fn attempt(
    at_ms: i64,
    (host, port): (&str, u16),
    (transport, way): (NetTransport, NetWay),
    (outcome, rule): (NetOutcome, String),
) -> NetAttempt {
    NetAttempt {
        turn: Turn::BASE,
        at_ms,
        host: host.to_owned(),
        port,
        outcome,
        transport,
        way,
        sni: None,
        method: None,
        path: None,
        sent_bytes: 0,
        received_bytes: 0,
        rule,
    }
}

impl Book {
    /// An attempt that is over at once.
    pub(super) fn note(&self, attempt: NetAttempt) {
        drop(self.begin(attempt));
    }

    /// An attempt that goes on.
    pub(super) fn begin(&self, attempt: NetAttempt) -> OpenLine {
        let line = Arc::new(Line {
            attempt: Mutex::new(attempt),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            told: Mutex::new(None),
        });
        let mut state = lock(&self.state);
        let is_new = {
            let attempt = lock(&line.attempt);
            attempt.outcome != NetOutcome::Refused
                || attempt.way == NetWay::Proxy
                || !state.refused.contains(&same(&attempt))
        };
        match state.lines.len() >= ATTEMPTS_MAX {
            true => state.has_overflown = true,
            false if is_new => state.lines.push(Arc::clone(&line)),
            false => {}
        }
        OpenLine(line)
    }

    /// Packets were not seen.
    pub(super) fn missed(&self) {
        lock(&self.state).has_overflown = true;
    }

    /// A connection was accepted; it is decided when the answer is dropped.
    pub(super) fn undecided(&self) -> Undecided {
        self.undecided.send_modify(|count| *count += 1);
        Undecided(self.undecided.clone())
    }

    /// Waits until every accepted connection is decided.
    pub(super) async fn decided(&self) {
        // The sender lives here, so the wait ends by the count alone.
        let _ = self.undecided.subscribe().wait_for(|count| *count == 0).await;
    }

    /// What was attempted since it was told last, which was at `since_ms`, as of a turn.
    pub(super) fn tell(&self, turn: Turn, since_ms: i64) -> Attempts {
        let mut state = lock(&self.state);
        let mut list = Vec::new();
        let mut refused = BTreeSet::new();
        let mut is_kept = Vec::with_capacity(state.lines.len());
        for line in &state.lines {
            let is_over = line.is_over.load(Ordering::Relaxed);
            if let Some(attempt) = line.tell(turn, since_ms)
                && (attempt.outcome != NetOutcome::Refused || refused.insert(same(&attempt)))
            {
                list.push(attempt);
            }
            is_kept.push(!is_over);
        }
        let mut kept = is_kept.into_iter();
        state.lines.retain(|_| kept.next().unwrap_or(false));
        state.refused = BTreeSet::new();
        list.sort_by_key(|attempt| attempt.at_ms);
        Attempts { list, overflow: std::mem::take(&mut state.has_overflown) }
    }

    /// What was refused is remembered, so that a storm of the same takes no room.
    pub(super) fn note_refused(&self, attempt: NetAttempt) {
        let key = same(&attempt);
        if !lock(&self.state).refused.contains(&key) {
            self.note(attempt);
            lock(&self.state).refused.insert(key);
        }
    }
}

fn same(attempt: &NetAttempt) -> Same {
    let NetAttempt { host, port, transport, way, sni, method, path, rule, .. } = attempt;
    let said = [sni, method, path].map(Clone::clone);
    (host.clone(), *port, *transport, *way, said, rule.clone())
}

impl Line {
    /// It is refused after all.
    pub(super) fn refuse(&self, rule: impl Into<String>) {
        let mut attempt = lock(&self.attempt);
        attempt.outcome = NetOutcome::Refused;
        attempt.rule = rule.into();
    }

    /// Why it did not succeed, behind the rule that allows it.
    pub(super) fn fail(&self, why: &str) {
        let mut attempt = lock(&self.attempt);
        attempt.rule = format!("{}; {why}", attempt.rule);
    }

    /// TLS asks for this server.
    pub(super) fn name_server(&self, name: &str) {
        lock(&self.attempt).sni = Some(name.to_owned());
    }

    /// What a plain request asks for.
    pub(super) fn request(&self, method: &str, path: Option<&str>) {
        let mut attempt = lock(&self.attempt);
        attempt.method = Some(method.to_owned());
        attempt.path = path.map(|path| match path.char_indices().nth(PATH_MAX) {
            Some((end, _)) => format!("{}…", &path[..end]),
            None => path.to_owned(),
        });
    }

    /// The attempt with what went over it since it was told last; none if that is nothing.
    fn tell(&self, turn: Turn, since_ms: i64) -> Option<NetAttempt> {
        let sent = self.sent.load(Ordering::Relaxed);
        let received = self.received.load(Ordering::Relaxed);
        let mut told = lock(&self.told);
        let before = *told;
        if before == Some((sent, received)) {
            return None;
        }
        *told = Some((sent, received));
        let mut attempt = lock(&self.attempt).clone();
        attempt.turn = turn;
        let (sent_before, received_before) = before.unwrap_or_default();
        attempt.sent_bytes = sent - sent_before;
        attempt.received_bytes = received - received_before;
        if before.is_some() {
            attempt.at_ms = attempt.at_ms.max(since_ms);
        }
        if attempt.outcome == NetOutcome::Failed && sent + received > 0 {
            attempt.outcome = NetOutcome::Succeeded;
        }
        Some(attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(host: &str, outcome: NetOutcome) -> NetAttempt {
        let by = (NetTransport::Tcp, NetWay::Direct);
        attempt(5, (host, 443), by, (outcome, "a rule".to_owned()))
    }

    fn told(book: &Book, turn: u32, since_ms: i64) -> Vec<(String, NetOutcome, u64, i64)> {
        let told = book.tell(Turn(turn), since_ms);
        let short = |a: NetAttempt| (a.host, a.outcome, a.sent_bytes, a.at_ms);
        told.list.into_iter().map(short).collect()
    }

    #[test]
    fn bytes_are_told_in_the_turn_in_which_they_went() {
        let book = Book::default();
        let line = book.begin(tried("a.org", NetOutcome::Failed));
        assert_eq!(told(&book, 1, 0), [("a.org".to_owned(), NetOutcome::Failed, 0, 5)]);
        assert_eq!(told(&book, 2, 10), []);
        line.sent.store(7, Ordering::Relaxed);
        assert_eq!(told(&book, 3, 20), [("a.org".to_owned(), NetOutcome::Succeeded, 7, 20)]);
        line.sent.store(9, Ordering::Relaxed);
        drop(line);
        assert_eq!(told(&book, 4, 30), [("a.org".to_owned(), NetOutcome::Succeeded, 2, 30)]);
        assert_eq!(told(&book, 5, 40), []);
    }

    #[test]
    fn the_same_refusal_is_told_once_a_turn() {
        let book = Book::default();
        for _ in 0..3 {
            book.note_refused(tried("a.org", NetOutcome::Refused));
            drop(book.begin(tried("b.org", NetOutcome::Refused)));
        }
        let refused = |host: &str| (host.to_owned(), NetOutcome::Refused, 0, 5);
        assert_eq!(told(&book, 1, 0), [refused("a.org"), refused("b.org")]);
        book.note_refused(tried("a.org", NetOutcome::Refused));
        assert_eq!(told(&book, 2, 0), [refused("a.org")]);
    }

    #[test]
    fn what_is_too_much_is_said() {
        let book = Book::default();
        for number in 0..=ATTEMPTS_MAX {
            book.note(tried(&number.to_string(), NetOutcome::Refused));
        }
        let told = book.tell(Turn(1), 0);
        assert_eq!((told.list.len(), told.overflow), (ATTEMPTS_MAX, true));
        assert!(!book.tell(Turn(2), 0).overflow);
        book.missed();
        assert!(book.tell(Turn(3), 0).overflow);
    }
}
