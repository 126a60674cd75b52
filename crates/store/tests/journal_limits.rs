//! A write that stops half-way leaves the log as it was, and the same entry can be written again.

#[allow(dead_code, reason = "the samples serve several test programs")]
#[path = "support/samples.rs"]
mod samples;

use std::fs;

use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    signal::{SigHandler, Signal, signal},
};
use store::journal::Journal;

#[test]
fn a_half_written_line_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut journal = Journal::create(&path, &samples::head(1, 1)).unwrap();
    let entries = samples::entries();
    journal.append(&entries[0]).unwrap();
    let before = fs::read(&path).unwrap();

    // The kernel lets the file grow by a few bytes more and then refuses, as a full disk does.
    let (soft, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    // SAFETY: ignoring a signal installs no handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, before.len() as u64 + 7, hard).unwrap();
    let error = journal.append(&entries[1]).unwrap_err();
    let left = fs::read(&path).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, soft, hard).unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    assert_eq!(left, before);

    journal.append(&entries[1]).unwrap();
    assert_eq!(journal.digest().0, 2);
    assert!(fs::read(&path).unwrap().starts_with(&before));
    assert_eq!(store::blobs::hash_of(&fs::read(&path).unwrap()), journal.digest().1);
}
