//! Payloads of a log: each kind reads any bytes or says why not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use store::{blobs::Blobs, layout::RunLayout, payload::Payloads};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a memory file system");
    let blobs = Blobs::new(RunLayout::new(folder.path()).blobs());
    let hash = blobs.put(bytes).expect("kept");
    let payloads = Payloads::new(blobs);
    assert_eq!(payloads.bytes(&hash).expect("kept"), bytes);
    let _ = payloads.manifest(&hash);
    let _ = payloads.diffs(&hash);
    let _ = payloads.changes(&hash);
    let _ = payloads.processes(&hash);
    let _ = payloads.network(&hash);
    let _ = payloads.messages(&hash);
    let _ = payloads.user_words(&hash);
});
