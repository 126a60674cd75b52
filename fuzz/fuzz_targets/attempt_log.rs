//! A log of an attempt: what can be read can be written again and reads the same.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use store::{journal::Journal, reader::AttemptLog};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a memory file system");
    let (given, again) = (folder.path().join("given"), folder.path().join("again"));
    fs::write(&given, bytes).expect("written");
    let Ok(Some(log)) = AttemptLog::open(&given) else { return };
    let mut journal = Journal::create(&again, &log.head).expect("a journal");
    let mut entries = Vec::new();
    for entry in log.entries() {
        let Ok(entry) = entry else { return };
        // A journal whose numbers do not go on is refused when it is written.
        if journal.append(&entry).is_err() {
            return;
        }
        entries.push(entry);
    }
    let read = AttemptLog::open(&again).expect("readable").expect("a head");
    let found: Vec<_> = read.entries().map(|entry| entry.expect("an entry of our own")).collect();
    assert_eq!(found, entries);
    assert_eq!(read.head, log.head);
});
