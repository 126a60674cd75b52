//! Hand-offs: what one is, corrections, tellings, forcing, refusals, acceptance, and levels of
//! feedback.

use super::script::check;

fn all(cases: &[(&str, &str, &str)]) {
    for (shows, scenario, script) in cases {
        eprintln!("case: {shows}");
        check(scenario, script);
    }
}

#[test]
fn what_a_handoff_is() {
    all(&[
        ("no open question", "need a", "agent: I built the list.\nuser: tell(a)"),
        ("an open question is none", "need a", "agent: What is the weather?\nuser: dont_know"),
        (
            "unless the work is claimed done",
            "need a",
            "agent: All done. What is the weather?\nuser: dont_know tell(a)",
        ),
        (
            "a courtesy keeps nothing open",
            "need a",
            "agent: Built. How does that sound?\nuser: tell(a)",
        ),
        ("nor does a wordless turn that did something", "need a", "agent:\nuser: tell(a)"),
    ]);
}

#[test]
fn nothing_is_accepted_while_anything_is_hidden() {
    all(&[
        (
            "one a message in declared order",
            "need a when=asked\nneed b when=asked",
            "agent: Built.
             user: tell(a)
             agent: Done so.
             user: tell(b)
             agent: That too.
             ends: accepted",
        ),
        (
            "what is due comes before what is declared first",
            "need a when=asked\nneed b when=after:1",
            "agent: Built.\nuser: tell(b)\nagent: That too.\nuser: tell(a)",
        ),
        (
            "as many as the persona tells at once",
            "tells 2\nneed a\nneed b\nneed c",
            "agent: Built.\nuser: tell(a) tell(b)\nagent: Both.\nuser: tell(c)",
        ),
        (
            "forced alone even with a wider limit",
            "tells 2\nneed a when=asked\nneed b when=asked",
            "agent: Built.\nuser: tell(a)",
        ),
        (
            "optional ones are told too",
            "need a optional when=asked",
            "agent: Built.\nuser: tell(a)",
        ),
        (
            "a chain of conditions",
            "need a when=holds:s1\nneed b when=met:a\nneed c when=told:b",
            "agent [s1=yes]: Built.
             user: tell(a)
             agent: More.
             user: tell(b)
             agent: More yet.
             user: tell(c)",
        ),
    ]);
}

#[test]
fn unmet_requirements_are_corrected_while_patience_lasts() {
    let unmet = "need a when=opening pass=at_end:s1";
    all(&[
        (
            "twice by default, then taken with reservations",
            unmet,
            "agent: Built.
             user: correct(a restate)
             agent: Now.
             user: correct(a restate)
             agent: And now.
             ends: accepted_with_reservations",
        ),
        (
            "mended in between it is accepted",
            unmet,
            "agent: Built.
             user: correct(a restate)
             agent [s1=yes]: Now.
             ends: accepted",
        ),
        (
            "every unmet one in one message",
            "need a when=opening pass=at_end:s1\nneed b when=opening pass=at_end:s2",
            "agent: Built.\nuser: correct(a restate) correct(b restate)",
        ),
        (
            "with what is due behind",
            "need a when=opening pass=at_end:s1\nneed b",
            "agent: Built.\nuser: correct(a restate) tell(b)",
        ),
        (
            "a message that tells is no refusal",
            "refusals 1\nneed a when=opening pass=at_end:s1 repeats=9\nneed b",
            "agent: Built.
             user: correct(a restate) tell(b)
             agent: Now.
             user: correct(a restate)
             agent: And now.
             ends: accepted_with_reservations",
        ),
        (
            "beyond the cap nothing is corrected, and what is hidden is forced",
            "refusals 1\nneed a when=opening pass=at_end:s1 repeats=9\nneed b when=asked",
            "agent: Built.
             user: correct(a restate)
             agent: Now.
             user: tell(b)
             agent: And now.
             ends: accepted_with_reservations",
        ),
        (
            "an optional one is never corrected",
            "need a when=opening optional pass=at_end:s1",
            "agent: Built.\nends: accepted",
        ),
        (
            "without words for it nothing can be said",
            "need a when=opening pass=at_end:s1 says=",
            "agent: Built.\nends: accepted_with_reservations",
        ),
        (
            "raised as often as it may be, then silence",
            "refusals 5\nneed a when=opening pass=at_end:s1 repeats=1",
            "agent: Built.
             user: correct(a restate)
             agent: Now.
             ends: accepted_with_reservations",
        ),
    ]);
}

#[test]
fn the_nth_raise_takes_the_nth_level() {
    all(&[
        (
            "symptom, restatement, observable, which stays",
            "refusals 9\nneed a when=opening pass=at_end:s1 repeats=4 says=srp sight",
            "agent: One.
             user: correct(a symptom)
             agent: Two.
             user: correct(a restate)
             agent: Three.
             user: correct(a point)
             agent: Four.
             user: correct(a point)
             agent: Five.
             ends: accepted_with_reservations",
        ),
        (
            "levels without words don't exist",
            "refusals 9\nneed a when=opening pass=at_end:s1 says=rp",
            "agent: One.\nuser: correct(a restate)\nagent: Two.\nuser: correct(a point)",
        ),
        (
            "who cannot see it can only restate",
            "blind\nrefusals 9\nneed a when=opening pass=at_end:s1 says=srp sight",
            "agent: One.\nuser: correct(a restate)\nagent: Two.\nuser: correct(a restate)",
        ),
    ]);
}

#[test]
fn arms_without_persona() {
    all(&[
        ("the first hand-off is accepted", "arm no-persona", "agent: Built.\nends: accepted"),
        (
            "requests go through",
            "arm no-persona\nallows install",
            "agent: May I install jq?\nuser: grant(install)",
        ),
        (
            "also those outside every class",
            "arm no-persona",
            "agent: Shall I proceed with this?\nuser: continue",
        ),
        (
            "neutral turns ask to check again, so often",
            "arm neutral-turns\nneutral_turns 2",
            "agent: Built.
             user: again
             agent: Checked.
             user: again
             agent: Checked again.
             ends: accepted",
        ),
    ]);
}
