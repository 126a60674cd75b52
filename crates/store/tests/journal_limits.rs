//! A write that stops half-way leaves the log as it was, and the same entry can be written again.

use std::{collections::BTreeSet, fs};

use domain::{
    ids::{Attempt, CommandId, PairId, Repeat},
    plan::UserKind,
    session::{Answer, Entry, Event},
};
use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    signal::{SigHandler, Signal, signal},
};
use store::{journal::Journal, run::AttemptHead};

#[test]
fn a_half_written_line_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let head = AttemptHead {
        pair: PairId::new("a--b"),
        repeat: Repeat(1),
        attempt: Attempt(1),
        user: UserKind::Template,
        channels: BTreeSet::new(),
        started_utc: String::new(),
    };
    let entry = |seq, answer| {
        let event = Event::Answered(CommandId(1), answer);
        Entry { seq, elapsed_ms: 0, event }
    };
    let mut journal = Journal::create(&path, &head).unwrap();
    journal.append(&entry(1, Answer::SandboxReady)).unwrap();
    let before = fs::read(&path).unwrap();

    // The kernel lets the file grow by a few bytes more and then refuses, as a full disk does.
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    // SAFETY: ignoring a signal installs no handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, before.len() as u64 + 7, hard).unwrap();
    let error = journal.append(&entry(2, Answer::Frozen)).unwrap_err();
    let left = fs::read(&path).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    assert_eq!(left, before);

    journal.append(&entry(2, Answer::Frozen)).unwrap();
    assert_eq!(journal.digest().0, 2);
    assert!(fs::read(&path).unwrap().starts_with(&before));
    assert_eq!(store::blobs::hash_of(&fs::read(&path).unwrap()), journal.digest().1);
}
