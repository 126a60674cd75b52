//! What an agent hands over, in every format that can be asked for: it opens or it does not, and nothing breaks. The first
//! byte says as what the rest is read.
#![no_main]

use adapters::checks::content_holds;
use domain::{
    acceptance::Truth,
    release::{ArtifactCheck, ArtifactFormat},
};
use libfuzzer_sys::fuzz_target;

/// A reader that breaks over a file is caught, as in a run; only what this target claims may end it.
fn break_as_in_a_run() {
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
}

fuzz_target!(init: break_as_in_a_run(), |bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let (_, format) = ArtifactFormat::NAMED[usize::from(*which) % ArtifactFormat::NAMED.len()];
    let is_page = matches!(format, ArtifactFormat::Html | ArtifactFormat::Svg);
    let is_table = format == ArtifactFormat::Csv;
    let selectors = |text: &str| if is_page { [text.to_owned()].to_vec() } else { Vec::new() };
    let demand = ArtifactCheck {
        path: ["out".to_owned()].to_vec(),
        format: Some(format),
        self_contained: is_page,
        has: selectors("main h1, svg title"),
        lacks: selectors("img:not([alt])"),
        text: Vec::new(),
        rows_min: is_table.then_some(2),
        columns: Vec::new(),
        delimiter: ',',
        runs: Vec::new(),
        prints: None,
        timeout_sec: 1,
    };
    let truth = content_holds(&demand, rest.to_vec());
    assert!(!matches!(truth, Truth::Unknown(_)), "a file that cannot be read does not open");
});
