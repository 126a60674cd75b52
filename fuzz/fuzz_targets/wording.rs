//! The review of wordings: a template passes whatever the task says, and a hidden term never does.
#![no_main]

use domain::{
    controller::{SpeechAct, TurnPlan, WordingGuard},
    ids::Turn,
    wording::{review, template},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&str, &str)| {
    let (statement, text) = parts;
    let say = "Here is what I need".to_owned();
    let open = SpeechAct::Open { say, statement: statement.to_owned() };
    let plan = |acts| TurnPlan {
        turn: Turn(1),
        acts,
        words_max: 60,
        language: "en".to_owned(),
        questions_max: 1,
    };
    let opening = plan([open].to_vec());
    let guard =
        WordingGuard { hidden_terms: ["ledger".to_owned()].to_vec(), ..WordingGuard::default() };
    let found = review(&template(&opening), &opening, &guard);
    assert!(found.is_empty(), "the template of an opening: {found:?}");
    let nudge = plan([SpeechAct::Nudge { say: "Please go on.".to_owned() }].to_vec());
    let _ = review(text, &nudge, &guard);
    let leak = format!("{text} the ledger stays");
    assert!(!review(&leak, &nudge, &guard).is_empty(), "a hidden term was sent");
});
