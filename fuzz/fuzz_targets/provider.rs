//! Bytes of a provider in every form, whole and cut anywhere: read without harm, and alike however they are cut.
#![no_main]

use adapters::models::formats::{ErrorReply, Sse, SseEvent, Tally, hosted, prompted::Replied};
use domain::evidence::WireFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let format = WireFormat::ALL[usize::from(*which) % WireFormat::ALL.len()];
    let cut = usize::from(*which) * bytes.len() / 256;
    let whole = events(&[bytes]);
    assert_eq!(whole, events(&[&bytes[..cut], &bytes[cut..]]), "cut at {cut}");
    let mut tally = Tally::new(format);
    whole.iter().for_each(|event| tally.event(event));
    let _ = ErrorReply::of_body(bytes).blame_of_status(400, true);
    let mut tally = Tally::new(format);
    tally.body(bytes);
    if let Some(total) = tally.tokens.total() {
        assert!(tally.tokens.input.is_none_or(|input| input <= total));
    }
    if let Ok(mut value) = serde_json::from_slice(bytes) {
        let _ = Replied::read(format, &value);
        let found = hosted::find(format, &value, |_| false);
        hosted::strip(format, &mut value, &found);
        // What was taken out is out.
        let left = hosted::find(format, &value, |_| false);
        assert!(left.iter().all(|tool| tool.remedy == hosted::Remedy::Refuse), "{left:?}");
    }
});

fn events(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut sse = Sse::default();
    let mut found = Vec::new();
    for piece in pieces {
        if sse.push(piece, |event| found.push(event)).is_err() {
            break;
        }
    }
    found
}
