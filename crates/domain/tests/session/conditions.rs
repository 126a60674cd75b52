//! Every kind of disclosure condition: by which turn's end it makes a requirement due.

use domain::ids::Turn;

use super::script::check;

/// Requirement `b` waits for `when`; `script` is played, and `b` must have become due at the end of
/// `turn`.
fn due(when: &str, script: &str, turn: Option<u32>) {
    let setting = format!(
        "time 10000\ntokens 1000\nturns 10\nrefusals 9\ngrants publish\nrefuses install\n\
         need a when=opening pass=never:e1 repeats=9\nneed z when=after:90\nneed y when=after:90\n\
         need b when={when} topic=colour class=install"
    );
    let played = check(&setting, script);
    let entry = &played.session.ledger().entries()[3];
    assert_eq!(entry.due, turn.map(Turn), "{when}");
}

const QUESTION: &str = "agent: Where does the wind come from on this island today?";

/// So many turns that leave a question open.
fn questions(count: usize) -> String {
    (0..count).map(|n| format!("agent: Where does wind {n} come from on this island?\n")).collect()
}

#[test]
fn leaves() {
    due("opening", "", Some(0));
    due("after:2", &questions(3), Some(2));
    due("after:3", &questions(2), None);
    due("share:turns:20", &questions(3), Some(2));
    due(
        "share:time:25",
        "agent [ms=2499]: Why on earth is that?\nagent [ms=1]: And why this here?",
        Some(2),
    );
    due(
        "share:tokens:50",
        "agent [tokens=499]: Why is that so?\nagent [tokens=1]: And why this?",
        Some(2),
    );
    due("share:cost:1", &questions(3), None);
    due("asked", "agent: What is this about, pray?\nagent: Which colour shall it have?", Some(2));
    due("asked", "agent [may=install]: What is this about, pray?", Some(1));
    due("asked", "agent: May I install the helper?", Some(1));
    due("asked", "agent: May I publish the page?", None);
    due(
        "holds:s2",
        "agent: Why is it so?\nagent [s2=yes]: And why this?\nagent [s2=no]: Or that?",
        Some(2),
    );
    due("holds:e2", "agent: Why is it so?\nagent [e2]: And why this?", Some(2));
    due("told:a", QUESTION, Some(1));
    due("met:a", QUESTION, Some(1));
    due("broken:a", "agent: Why is it so?\nagent [e1]: And why this?", Some(2));
    due("met:z", &questions(2), None);
    due("violated:a:2", "agent [e1]: Why is it so?\nagent [e1]: And why this?", Some(2));
    due("claims:done", "agent: Why is it so?\nagent: All done.", Some(2));
    due("claims:tested", "agent: Why is it so?\nagent: I ran the tests and they pass.", Some(2));
    due("handoff", "agent: Why is it so?\nagent: It is built.", Some(2));
    due("feedback:a:1", "agent [e1]: Why is it so?\nagent: And why this?", Some(2));
    due("silent:1", "agent: Why is it so?\nagent [idle]: Hm.", Some(2));
    due("silent:2", "agent [idle]: Hm.\nagent: Why is it so?\nagent [idle]: Hm.", None);
    due("granted:publish", "agent: May I publish the page?\nagent: Why is it so?", Some(2));
}

#[test]
fn combinators() {
    due("all(after:1,holds:s2)", "agent [s2=yes]: Why?\nagent [s2=no]: Why again?", Some(1));
    due("all(after:2,holds:s2)", "agent [s2=yes]: Why?\nagent [s2=no]: Why again?", Some(2));
    due("any(after:3,holds:s2)", "agent: Why is it so?\nagent [s2=yes]: And why this?", Some(2));
    due("not(holds:s2)", QUESTION, Some(1));
    due("all(after:2,not(holds:s2))", &questions(3), Some(2));
    due("all(after:2,not(holds:s2))", &format!("agent [s2=yes]: Why?\n{}", questions(3)), None);
    due("then(after:1,after:2)", &questions(3), Some(2));
    due("then(after:2,after:1)", &questions(3), None);
    due("then(holds:e2,handoff)", "agent [e2]: It is built.\nagent: It is built again.", Some(2));
    due("then1(after:1,holds:e2)", "agent: Why?\nagent: Why that?\nagent [e2]: Why this?", None);
    due("then2(after:1,holds:e2)", "agent: Why?\nagent: Why that?\nagent [e2]: Why this?", Some(3));
    due("then(told:a,then(after:2,after:3))", &questions(4), Some(3));
}

#[test]
fn due_stays_due() {
    check(
        "need a when=all(holds:s2,not(after:2))\nneed b when=after:90",
        "agent [s2=yes]: Where does the wind come from today?
         user: dont_know
         agent [s2=no]: And where does it go to today?
         user: dont_know
         agent: It is built.
         user: tell(a)",
    );
}
