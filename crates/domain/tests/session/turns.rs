//! The turn, sentence by sentence: the opening, idle turns, answers, feedback outside hand-offs.

use super::script::check;

/// Cases of one kind: what they show, the setting, the script.
fn all(cases: &[(&str, &str, &str)]) {
    for (shows, scenario, script) in cases {
        eprintln!("case: {shows}");
        check(scenario, script);
    }
}

#[test]
fn the_user_speaks_first() {
    all(&[
        ("a task without requirements", "", "user: open"),
        (
            "what belongs to the opening is told with it",
            "need a when=opening\nneed b",
            "user: open tell(a)",
        ),
        (
            "so is what must be told by then",
            "need a when=asked latest=opening",
            "user: open tell(a)",
        ),
        (
            "the limit of tellings does not hold for the opening",
            "need a when=opening\nneed b when=opening",
            "user: open tell(a) tell(b)",
        ),
    ]);
}

#[test]
fn idle_turns_are_nudged_and_told_nothing() {
    all(&[
        (
            "twice idle is silent",
            "need a when=after:1",
            "agent [idle]: Thinking.
             user: nudge
             agent [idle]: Thinking more.
             ends: silent",
        ),
        (
            "they count in a row only",
            "need a",
            "agent [idle]: Hm.
             user: nudge
             agent: It is built.
             user: tell(a)
             agent [idle]: Hm.
             user: nudge",
        ),
        ("a change is no idleness", "need a", "agent [idle changes]: There.\nuser: tell(a)"),
        ("nor is an open question", "need a", "agent [idle]: Which colour?\nuser: dont_know"),
        (
            "nor a reading that says something new",
            "need a when=opening pass=eventually:e1",
            "agent [idle e1]: Explained as you asked.
             ends: accepted",
        ),
        (
            "nor a state that turned",
            "need a when=opening pass=at_end:s1",
            "agent: Started.
             user: correct(a restate)
             agent [idle s1=yes]: Now it is.
             ends: accepted",
        ),
        (
            "a first look at a state is no news",
            "need a when=opening pass=at_end:s1",
            "agent [idle s1=yes]: It was so.
             user: nudge",
        ),
        ("the persona's own limit holds", "silent 1\nneed a", "agent [idle]: Hm.\nends: silent"),
        ("without a word or deed too", "need a", "agent [idle]:\nuser: nudge"),
        (
            "what became due meanwhile is told at the next hand-off",
            "need a when=silent:1",
            "agent [idle]: Hm.
             user: nudge
             agent: It is built.
             user: tell(a)",
        ),
    ]);
}

#[test]
fn questions_are_answered_once_each() {
    all(&[
        ("from the facts", "fact till\nneed a", "agent: Which till is it?\nuser: answer(till)"),
        (
            "each topic once in a message",
            "fact till\nneed a",
            "agent: Which till is it? And where does the till stand?\nuser: answer(till)",
        ),
        (
            "and again when asked again",
            "fact till\nneed a",
            "agent: Which till is it?
             user: answer(till)
             agent: Sorry, which till was it?
             user: answer(till)",
        ),
        (
            "several in one message",
            "fact till\nfact shelf\nneed a",
            "agent: Which till is it? How long is the shelf?\nuser: answer(till) answer(shelf)",
        ),
        (
            "what nobody knows stays unknown",
            "need a",
            "agent: What is the weather?\nuser: dont_know",
        ),
        (
            "a question in code is none",
            "fact till\nneed a",
            "agent: I ran `which till?` and it is built.\nuser: tell(a)",
        ),
        (
            "an offer is none",
            "need a",
            "agent: It is built. Let me know if you need more.\nuser: tell(a)",
        ),
        (
            "a hidden requirement's topic puts it off",
            "need a when=after:3 topic=colour",
            "agent: Which colour shall it have?\nuser: defer",
        ),
        (
            "or tells it if its condition says so: the telling is the answer",
            "need a when=asked topic=colour",
            "agent: Which colour shall it have?\nuser: tell(a)",
        ),
        (
            "no more than the limit: the next is put off",
            "need a when=asked topic=colour\nneed b when=asked topic=size",
            "agent: Which colour? And which size?
             user: defer tell(a)
             agent: So which size?
             user: tell(b)",
        ),
        (
            "with a wider limit both",
            "tells 2\nneed a when=asked topic=colour\nneed b when=asked topic=size",
            "agent: Which colour? And which size?\nuser: tell(a) tell(b)",
        ),
        (
            "a told requirement is said again",
            "need a when=opening topic=colour\nneed b",
            "agent: Which colour was it?\nuser: answer(colour)",
        ),
        (
            "a model labels what the rules leave open",
            "labels\nneed a when=asked topic=colour",
            "agent: What tint do you prefer?\nuser: tell(a)",
        ),
        (
            "known and unknown ones in their order",
            "fact till\nneed a when=after:3 topic=colour",
            "agent: Which till? Which colour? And what is the weather like on the island today?
             user: answer(till) defer dont_know",
        ),
    ]);
}

#[test]
fn anything_else_follows_the_persona() {
    all(&[
        (
            "next requirement, due or not",
            "generic\nneed a when=after:9",
            "agent: Built. Anything else?\nuser: tell(a)",
        ),
        (
            "put off beside an open question",
            "need a when=after:9\nfact till",
            "agent: Which till? Is there anything else I should know?\nuser: answer(till) defer",
        ),
        (
            "a hand-off goes on all the same, and then nothing is put off",
            "need a when=after:9",
            "agent: Built. Is there anything else?\nuser: tell(a)",
        ),
        (
            "with nothing hidden it means nothing",
            "",
            "agent: Built. Anything else?\nends: accepted",
        ),
    ]);
}

#[test]
fn outside_handoffs_only_violations_are_spoken_of() {
    all(&[
        (
            "one a message, and each once",
            "need a when=opening pass=never:e1\nneed b when=opening pass=never:e2",
            "agent [e1 e2]: What is the weather?
             user: dont_know correct(a restate)
             agent: What is the time?
             user: dont_know correct(b restate)
             agent: What is the place?
             user: dont_know",
        ),
        (
            "unmet is not violated",
            "need a when=opening pass=at_end:s1",
            "agent: What is the weather?\nuser: dont_know",
        ),
        (
            "what is due waits for a hand-off",
            "need a when=after:1",
            "agent: What is the weather?
             user: dont_know
             agent: It is built.
             user: tell(a)",
        ),
        (
            "but not beyond its latest turn",
            "need a when=asked latest=2",
            "agent: What is the weather?
             user: dont_know
             agent: What is the time?
             user: dont_know tell(a)",
        ),
    ]);
}

#[test]
fn a_violation_blocks_nothing() {
    all(&[
        (
            "it is said with what is said anyway",
            "need a when=opening pass=never:e1\nneed b",
            "agent [e1]: It is built.
             user: correct(a restate) tell(b)
             agent: Done.
             ends: accepted_with_reservations",
        ),
        (
            "and nothing is refused for it",
            "need a when=opening pass=never:e1",
            "agent [e1]: It is built.\nends: accepted_with_reservations",
        ),
    ]);
}

#[test]
fn conditions_and_checks_meet() {
    all(&[
        (
            "each turn, at hand-offs, at the seal",
            "need a when=opening pass=all(at_end:s1,at_end:s2h,at_end:s3z)",
            "agent [s1=yes]: What is the weather?
             reads: s1
             agent [s2h=yes]: It is built.
             reads: s1 s2h
             ends: accepted",
        ),
        (
            "what is not looked at blocks nothing",
            "need a when=opening pass=at_end:s1z",
            "agent: It is built.\nends: accepted",
        ),
        (
            "a missing channel blocks nothing",
            "need a when=opening pass=at_end:s1",
            "agent [s1=missing]: It is built.\nends: accepted",
        ),
        (
            "what does not apply blocks nothing",
            "need a when=opening pass=never:e1 applies=eventually:e2",
            "agent: It is built.\nends: accepted",
        ),
        (
            "what was broken before the telling is not held against it",
            "need a when=violated:a:1 pass=never:e1",
            "agent [e1]: It is built.
             user: tell(a)
             agent: I see.
             ends: accepted",
        ),
        (
            "unless it binds from the start",
            "need a when=violated:a:1 pass=never:e1 from_start",
            "agent [e1]: It is built.
             user: tell(a)
             agent: I see.
             ends: accepted_with_reservations",
        ),
        (
            "a state that was wrong before is to be undone",
            "need a when=after:1 pass=at_end:s1",
            "agent [s1=no]: It is built.
             user: tell(a)
             agent: So it is.
             user: correct(a restate)",
        ),
        (
            "or stays as it was",
            "need a when=after:1 pass=at_end:s1 grandfather",
            "agent [s1=no]: It is built.
             user: tell(a)
             agent: So it is.
             ends: accepted",
        ),
        (
            "what is met already can be praised",
            "need a when=after:1 pass=at_end:s1 praise",
            "agent [s1=yes]: It is built.\nuser: praise(a)",
        ),
        (
            "but only if it is met",
            "need a when=after:1 pass=at_end:s1 praise",
            "agent [s1=no]: It is built.\nuser: tell(a)",
        ),
        (
            "praise comes behind what is told",
            "tells 2\nneed a when=after:1 pass=at_end:s1 praise\nneed b when=after:1",
            "agent [s1=yes]: It is built.\nuser: tell(b) praise(a)",
        ),
    ]);
}
