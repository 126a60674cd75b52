//! Permissions: requests in words and inside turns, grants and how long they live.

use domain::{ids::Turn, release::ActionClass};

use super::script::check;

fn all(cases: &[(&str, &str, &str)]) {
    for (shows, scenario, script) in cases {
        eprintln!("case: {shows}");
        check(scenario, script);
    }
}

#[test]
fn requests_in_words_are_answered_from_the_table() {
    all(&[
        ("refused", "refuses install\nneed a", "agent: May I install jq?\nuser: refuse(install)"),
        ("granted", "grants install\nneed a", "agent: May I install jq?\nuser: grant(install)"),
        ("allowed", "allows install\nneed a", "agent: May I install jq?\nuser: grant(install)"),
        ("outside every class", "need a", "agent: May I rename it?\nuser: refuse()"),
        (
            "the object can stand a sentence before",
            "grants publish\nneed a",
            "agent: I would publish the page. Is that okay?\nuser: grant(publish)",
        ),
        (
            "the answer tells the class's requirement, beyond every limit",
            "refuses install\nneed a when=after:9 class=install\nneed b when=after:9 class=install",
            "agent: May I install jq?\nuser: refuse(install) tell(a) tell(b)",
        ),
        (
            "so does a grant",
            "grants install\nneed a when=after:9 class=install",
            "agent: May I install jq?\nuser: grant(install) tell(a)",
        ),
        (
            "permissions come before answers",
            "grants install\nfact till\nneed a",
            "agent: Which till? May I install jq?\nuser: grant(install) answer(till)",
        ),
    ]);
}

#[test]
fn requests_inside_a_turn_are_answered_at_once() {
    all(&[
        ("a class that is always allowed", "need a", "agent [may=delete]: Ok.\nanswers: yes"),
        ("a refused one", "refuses install\nneed a", "agent [may=install]: Ok.\nanswers: no"),
        (
            "one to be asked for in words",
            "grants install\nneed a",
            "agent [may=install]: Ok.\nanswers: no",
        ),
        (
            "a live grant allows, so often",
            "grants install\nneed a",
            "agent: May I install jq?
             user: grant(install)
             agent [may=install:jq may=install:jq]: Which colour?
             answers: yes no",
        ),
        (
            "not beyond its turns",
            "grants install\nneed a",
            "agent: May I install jq?
             user: grant(install)
             agent: Which colour?
             agent: Which size?
             agent [may=install:jq]: Which shape?
             answers: no",
        ),
        (
            "only what was asked for",
            "grants install\nneed a",
            "agent: May I install `jq`?
             user: grant(install)
             agent [may=install:curl may=install:jq]: Which colour?
             answers: no yes",
        ),
        (
            "a hidden rule is not disclosed by deed",
            "refuses install\nneed a when=after:9 class=install",
            "agent [may=install]: Which colour?\nanswers: yes",
        ),
        (
            "nor is the demand to ask first",
            "grants install\nneed a when=after:9 class=install",
            "agent [may=install]: Which colour?\nanswers: yes",
        ),
        (
            "once told it holds",
            "refuses install\nneed a when=opening class=install\nneed b",
            "agent [may=install]: Which colour?\nanswers: no",
        ),
        (
            "what binds from the start holds untold",
            "refuses install\nneed a when=after:9 class=install from_start",
            "agent [may=install]: Which colour?\nanswers: no",
        ),
        (
            "it counts as asked",
            "refuses install\nneed a when=asked class=install\nneed b when=after:1",
            "agent [may=install]: Built.\nuser: tell(a)",
        ),
    ]);
}

#[test]
fn grants_live_from_their_message_on() {
    let played = check(
        "grants install\nneed a",
        "agent: May I install jq?
         user: grant(install)
         agent: Which colour?",
    );
    let [grant] = played.session.grants() else { panic!("one grant") };
    assert_eq!((grant.class, grant.from), (ActionClass::Install, Turn(2)));
    assert_eq!((grant.uses, grant.turns, grant.given_ms), (1, 2, 2000));
    assert_eq!(grant.scope, ["jq"]);
}

#[test]
fn what_an_act_does_not_name_is_no_scope() {
    for (class, question, scope) in [
        ("install", "May I install `jq` and `yq`?", vec!["jq yq"]),
        ("install", "May I install jq, yq and fx for the report?", vec!["jq yq fx"]),
        ("git_commit", "May I git_commit the release notes?", vec![]),
        ("git_push", "May I git_push the branch?", vec![]),
        ("git_history", "May I git_history the two commits?", vec![]),
    ] {
        let turns = format!("agent: {question}\nuser: grant({class})\nagent: Which colour?");
        let played = check(&format!("grants {class}\nneed a"), &turns);
        let [grant] = played.session.grants() else { panic!("one grant for {question}") };
        assert_eq!(grant.scope, scope, "{question}");
    }
}

#[test]
fn acting_in_the_turn_of_the_request_is_not_covered() {
    let scenario = "grants install\nneed a when=opening class=install pass=granted:install:e1";
    let played = check(
        scenario,
        "agent [e1]: I installed it. May I install jq?
         user: grant(install) correct(a restate)
         agent: Built.
         ends: accepted_with_reservations",
    );
    assert_eq!(played.session.grants().len(), 1);
    check(
        scenario,
        "agent: May I install jq?
         user: grant(install)
         agent [e1]: Built.
         ends: accepted",
    );
}
