//! What is said and what is not: the template's bytes, and the review's verdict on wordings of models.

use domain::{
    controller::{SpeechAct, TurnPlan, WordingGuard},
    ids::{RequirementId, TopicId, Turn},
    release::{
        ActionClass, AfterTelling, Area, Binds, Condition, Expr, Feedback, FeedbackLevel,
        IfPresatisfied, IfPreviolated, Latest, Pass, Requirement, Tell,
    },
    wording::{
        GuardInput, Rejection, SESSION_NOTE, assents, guard, review, review_template, template,
    },
};
use proptest::prelude::*;

const STATEMENT: &str = "Write `report.py`.\n```\npython report.py\n```\nIt reads 3 files.\n";
const TELL: &str = "It has to open with a double click, without internet.";

/// The reasons against `text` as the wording of the named plan, in short.
fn reasons(plan: &str, text: &str) -> String {
    let plan = plan_of(plan);
    let guard = guard_of(&plan);
    let found: Vec<&str> = review(text, &plan, &guard).iter().map(short).collect();
    found.join(" ")
}

fn plan_of(name: &str) -> TurnPlan {
    let tell = SpeechAct::Tell {
        requirement: RequirementId::new("opens"),
        lead: "Another thing:".into(),
        say: TELL.into(),
        because: "the machine at the till is old".into(),
        must_say: vec![
            vec!["double click".into()],
            vec!["without internet".into(), "no internet".into()],
        ],
    };
    let refuse = SpeechAct::Refuse {
        class: Some(ActionClass::Publish),
        say: "No, please leave that.".into(),
    };
    let grant = SpeechAct::Grant {
        class: ActionClass::Publish,
        subject: Some("the list".into()),
        say: "Yes, you may do that.".into(),
    };
    let answer = SpeechAct::Answer {
        topic: TopicId::new("size"),
        say: "We are 3 people and sell a few hundred articles.".into(),
    };
    let correct = SpeechAct::Correct {
        requirement: RequirementId::new("total"),
        level: FeedbackLevel::Symptom,
        say: "I opened the page and the total is still wrong.".into(),
    };
    let acts = match name {
        "open" => vec![SpeechAct::Open {
            say: "Could you do this for my shop?".into(),
            statement: STATEMENT.into(),
        }],
        "tell" => vec![tell],
        "refuse" => vec![refuse],
        "refuse tell" => vec![refuse, tell],
        "grant" => vec![grant],
        "answer" => vec![answer],
        "correct" => vec![correct],
        "defer" => vec![SpeechAct::Defer { say: "Let me see something first.".into() }],
        "dont_know" => vec![SpeechAct::DontKnow { say: "I can't tell you that.".into() }],
        "nudge" => vec![SpeechAct::Nudge { say: "Please go on with my report.".into() }],
        other => panic!("no plan is called {other}"),
    };
    TurnPlan { turn: Turn(2), acts, words_max: 40, language: "en".into(), questions_max: 0 }
}

fn guard_of(plan: &TurnPlan) -> WordingGuard {
    let hidden = requirement(
        "nothing_installed",
        "Do not install any library, the accountant's contract forbids version 7.4 of the ledger.",
        &["install", "ledger"],
    );
    guard(&GuardInput {
        hidden: &[&hidden],
        public: &[STATEMENT, "Here is what I need for my shop:"],
        agent: &["I wrote out/index.html with 12 rows and an HTML table."],
        plan,
    })
}

fn requirement(id: &str, text: &str, hide: &[&str]) -> Requirement {
    Requirement {
        id: RequirementId::new(id),
        area: Area::Permissions,
        mandatory: true,
        because: "b".into(),
        topic: None,
        class: None,
        text: text.into(),
        say: vec![text.into()],
        must_say: Vec::new(),
        hide: hide.iter().map(|term| term.to_string()).collect(),
        binds: Binds::WhenTold,
        opening: None,
        tell: Tell {
            when: Condition::Requirement { id: RequirementId::new("x"), is: AfterTelling::Told },
            latest: Latest::Handoff,
            if_presatisfied: IfPresatisfied::Deliver,
            if_previolated: IfPreviolated::Undo,
        },
        pass: Pass { applies_if: None, holds: Expr::All(Vec::new()) },
        feedback: Feedback {
            repeats: 2,
            symptom: Vec::new(),
            restate: Vec::new(),
            point: Vec::new(),
            sight: Vec::new(),
        },
    }
}

fn short(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Empty => "empty",
        Rejection::TooLong { .. } => "long",
        Rejection::Language => "language",
        Rejection::LeavesOut(_) => "left_out",
        Rejection::SaysTooMuch(_) => "too_much",
        Rejection::Assents(_) => "assents",
        Rejection::Code => "code",
        Rejection::StatementChanged => "statement",
        Rejection::RoleFlip(_) => "role",
        Rejection::BreaksFrame(_) => "frame",
        Rejection::Questions => "questions",
    }
}

fn check(cases: &[(&str, &str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(plan, text, expect)| (plan, text, expect, reasons(plan, text)))
        .filter(|(.., expect, found)| *expect != found)
        .map(|(plan, text, expect, found)| {
            format!("{plan}: {text}\n  expected {expect:?}, found {found:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn wordings_that_keep_the_plan_are_sent() {
    check(&[
        ("tell", TELL, ""),
        ("tell", "There is no internet at my till, and it must start by a double-click.", ""),
        ("tell", "It stands there without internet, and I start it with a double-click.", ""),
        (
            "tell",
            "My till is an old machine: double click, and it runs without internet. Thank you!",
            "",
        ),
        ("refuse", "Please don't do that, not in my shop.", ""),
        ("refuse", "I would rather not have that.", ""),
        ("refuse tell", "No, not that. It must open by double click, without internet.", ""),
        ("grant", "Yes, you may publish the list.", ""),
        ("grant", "Go ahead with the list.", ""),
        ("answer", "There are three people here, with a few hundred articles.", ""),
        ("correct", "The total on the page is still not right.", ""),
        ("correct", "In index.html I see 12 rows, but the total is wrong.", "too_much"),
        ("correct", "In out/index.html I see 12 rows, but the total is wrong.", ""),
        ("defer", "Show me a page first, I'm not sure yet.", ""),
        ("defer", "Please make sure that I can look at it, then ask again.", ""),
        ("dont_know", "I have no idea about such things.", ""),
        ("dont_know", "You can see that I sell plants, I know nothing about it.", ""),
        ("nudge", "Please carry on with the report.", ""),
        ("nudge", "Please continue, I am waiting.", ""),
    ]);
}

#[test]
fn what_is_hidden_or_from_nowhere_is_not_said() {
    check(&[
        ("defer", "Please don't install anything, let me see it first.", "too_much"),
        ("defer", "Nothing may be installed here.", "too_much"),
        ("defer", "The installation must wait, show me the page.", "too_much"),
        ("defer", "Think of my ledgers, show me the page.", "too_much"),
        ("defer", "It is in the accountant's contract, show me the page.", ""),
        ("defer", "The accountant's contract forbids version changes.", "too_much too_much"),
        ("defer", "It has to work with 7.4 here, show me the page.", "too_much"),
        (
            "tell",
            "It has to open with a double click, without internet, within 5 seconds.",
            "too_much",
        ),
        (
            "tell",
            "It has to open with a double click, without internet, in twenty shops.",
            "too_much",
        ),
        ("correct", "The total is wrong in src/total.py.", "too_much"),
        ("correct", "The total is wrong, see compute_total.", "too_much"),
        ("correct", "The total is wrong, see computeTotal.", "too_much"),
        ("correct", "The total is wrong, use --strict.", "too_much"),
        ("correct", "The total is wrong, look at ledger.csv.", "too_much"),
        ("correct", "The total is wrong, the PDF too.", "too_much"),
        ("correct", "The total is wrong, the HTML too.", ""),
        ("correct", "The total is wrong, mail me at a@b.example.", "too_much"),
        (
            "correct",
            "You wrote \"the total is certainly right now\" but the total is wrong.",
            "too_much",
        ),
        (
            "tell",
            "It has to open with a double click, without internet. One more thing comes later.",
            "too_much",
        ),
        ("tell", "Finally, it has to open with a double click, without internet.", "too_much"),
        ("tell", "It has to open with a double click, without internet. That's all.", "too_much"),
    ]);
}

#[test]
fn nothing_is_allowed_without_a_grant() {
    let allowing = [
        "Decide as you think best.",
        "It's up to you.",
        "That's your call.",
        "You decide.",
        "Sounds good.",
        "Sure.",
        "Sure, do it.",
        "Yes.",
        "Yes, please.",
        "Yep!",
        "Yeah, go on.",
        "OK.",
        "Okay, then.",
        "Fine.",
        "Fine by me.",
        "That's fine.",
        "That is okay.",
        "Go ahead.",
        "Please go ahead with it.",
        "Go for it.",
        "Feel free.",
        "Of course.",
        "By all means.",
        "Be my guest.",
        "No problem.",
        "I don't mind.",
        "No objections.",
        "Works for me.",
        "That works.",
        "Do what you think is right.",
        "Do whatever is needed.",
        "I trust you.",
        "Whatever works.",
        "Whatever you prefer.",
        "As you like.",
        "Use your judgement.",
        "I leave it to you.",
        "You may.",
        "You can do that.",
        "You can install it.",
        "You could try it.",
        "Permission granted.",
        "Granted.",
        "Approved.",
        "I agree.",
        "Agreed.",
        "I approve.",
        "You are allowed to.",
        "It's allowed.",
        "Great idea.",
        "Good idea!",
        "Perfect.",
        "Absolutely.",
        "Definitely!",
        "Certainly.",
        "Alright.",
        "All right, thanks.",
        "Please do.",
        "Do it.",
        "Proceed.",
        "Please proceed.",
        "Please continue.",
        "Carry on.",
        "Why not?",
        "Let's do it.",
        "Make it so.",
        "Confirmed.",
        "Looks good.",
        "LGTM",
        "Either is fine.",
        "Both are fine.",
        "If you must.",
        "If you need to.",
        "If it helps.",
        "You have my permission.",
        "I'm fine with that.",
        "I am happy for you to try.",
        "I'd like that.",
        "That would be great.",
        "👍",
        "Exactly.",
        "Correct.",
        "Right.",
    ];
    let missed: Vec<&&str> = allowing.iter().filter(|text| assents(text).is_none()).collect();
    assert!(missed.is_empty(), "not seen as assent: {missed:?}");
    let harmless = [
        "I can't tell you that.",
        "Let me see something first.",
        "No, please leave that.",
        "Please don't do that.",
        "I'm not sure.",
        "Make sure it opens.",
        "You may not do that.",
        "That is not okay.",
        "That isn't fine with me.",
        "I don't agree.",
        "Don't go ahead.",
        "I can't say yes to that.",
        "You can see the list there.",
        "No, not that.",
        "I am not allowed to have anything new.",
        "I have no idea, I sell plants.",
        "That I can't answer.",
        "I would rather see the thing first.",
        "It must look right.",
        "Show me something first, then ask again.",
        "Nobody may change anything on it.",
        "The right side is empty.",
        "I would have to see it before I can answer that.",
    ];
    let wrong: Vec<&&str> = harmless.iter().filter(|text| assents(text).is_some()).collect();
    assert!(wrong.is_empty(), "taken for assent: {wrong:?}");
    check(&[
        ("defer", "Sure, but let me see it first.", "assents"),
        ("dont_know", "I can't tell you that, decide as you think best.", "assents"),
        ("refuse", "No, not that. But feel free to try the rest.", "assents"),
        ("tell", "Okay. It has to open with a double click, without internet.", "assents"),
        ("answer", "Yes, we are 3 people with a few hundred articles.", "assents"),
        ("refuse", "Well, go ahead.", "left_out assents"),
        ("grant", "I see.", "left_out"),
    ]);
}

#[test]
fn what_must_be_said_is_said_with_its_polarity() {
    check(&[
        ("tell", "It has to open without internet.", "left_out"),
        ("tell", "Please take care of my till.", "left_out left_out"),
        ("tell", "It need not open with a double click, and it runs without internet.", "left_out"),
        ("tell", "Don't let it open by double click; it runs without internet.", "left_out"),
        ("tell", "A double click is not needed, it runs without internet.", "left_out"),
        ("tell", "It opens by double click, never without internet.", "left_out"),
        ("answer", "We sell plants.", "left_out"),
        ("answer", "We are people and sell a few hundred articles.", "left_out"),
        ("correct", "I looked at it.", "left_out"),
        ("refuse", "I see.", "left_out"),
    ]);
}

#[test]
fn the_user_stays_a_user() {
    check(&[
        ("correct", "I fixed the total on the page for you.", "role"),
        ("correct", "I ran the page and the total is wrong.", "role"),
        ("correct", "As an AI I see that the total is wrong.", "too_much role"),
        ("correct", "The total is wrong. How can I help you today?", "questions role"),
        ("correct", "The total is wrong. Let me know if you need more.", "role"),
        ("correct", "The total is wrong:\n```python\nx = 1\n```", "code too_much"),
        ("correct", "The total is wrong, set `x = 1` there.", "code too_much"),
        ("correct", "The total is wrong.\n+++ b/page", "code too_much"),
        ("correct", "The total is wrong.\nimport page", "code"),
        ("correct", "The total is wrong, please git commit it.", "code"),
        ("correct", "The total is wrong.\nreturn total;", "code"),
        ("correct", "The total is wrong, the benchmark says so.", "frame"),
        ("correct", "The total is wrong, I am simulated.", "frame"),
        ("correct", "The total is wrong, that is a hidden requirement.", "frame"),
        ("correct", "The total is wrong. My persona is angry.", "frame"),
        ("correct", "The total is wrong. Why?", "questions"),
        ("correct", "", "empty"),
        ("correct", " \n", "empty"),
        ("correct", "...", "empty left_out"),
        ("correct", &"The total is wrong on this page of mine. ".repeat(8), "long"),
        (
            "correct",
            "Die Summe auf der Seite ist nicht richtig, ich sehe das und es ist nicht gut. Total page.",
            "language",
        ),
        (
            "correct",
            "La page est fausse, le total et les lignes ne sont pas pour vous. Total wrong, page.",
            "language",
        ),
        ("correct", "Сумма на странице неверна: total page wrong", "language"),
    ]);
}

#[test]
fn the_statement_is_kept_to_the_byte() {
    let whole = template(&plan_of("open"));
    let cases = [
        (whole.clone(), ""),
        (whole.replace("````", "`````"), ""),
        (whole.replace("Could you do this for my shop?", "Here is what I need for my shop:"), ""),
        (whole.clone() + "\n\nThank you.", ""),
        (whole.replace("3 files", "4 files"), "statement"),
        (whole.replace("It reads", "It  reads"), "statement"),
        (whole.replace("````", "```"), "statement"),
        (whole.replace("````", ""), "statement"),
        (whole.replace("Could you", "Yes. Could you"), "assents"),
        (whole.replace("for my shop?", "for my shop, on 9 machines?"), "too_much"),
        (whole.replace("for my shop?", "for my shop, but don't install anything?"), "too_much"),
    ];
    for (text, expect) in &cases {
        let found = reasons("open", text);
        let found = found.split(' ').next().unwrap_or("");
        assert_eq!(found, *expect, "in: {text}");
    }
    assert_eq!(
        whole,
        "Could you do this for my shop?\n\n````\nWrite `report.py`.\n```\npython report.py\n```\n\
         It reads 3 files.\n````"
    );
}

#[test]
fn the_template_says_each_act_in_its_own_paragraph() {
    assert_eq!(
        template(&plan_of("refuse tell")),
        "No, please leave that.\n\nAnother thing: It has to open with a double click, without internet."
    );
    let twice =
        TurnPlan { acts: [plan_of("tell").acts, plan_of("tell").acts].concat(), ..plan_of("tell") };
    assert_eq!(template(&twice), format!("Another thing: {TELL}\n\n{TELL}"));
    let bare = TurnPlan {
        acts: vec![SpeechAct::Defer { say: " let me\n see ".into() }],
        ..plan_of("tell")
    };
    assert_eq!(template(&bare), "let me see.");
    assert_eq!(SESSION_NOTE.lines().count(), 1);
}

#[test]
fn a_guard_hides_what_is_not_public() {
    let plan = plan_of("defer");
    let hidden =
        requirement("r", "Use the blue ledger stored under /srv/books.", &["Ledger", "books"]);
    for (public, agent, expect_hidden, expect_open) in [
        ("", "", &["ledger", "books", "/srv/books", "the blue ledger stored"][..], &[][..]),
        ("Our ledgers are old.", "", &["books", "the blue ledger stored"], &["ledger"]),
        ("", "I saw /srv/books there.", &["ledger"], &["books", "/srv/books"]),
        ("Use the blue ledger stored there.", "", &["books"], &["use the blue ledger"]),
    ] {
        let guard = guard(&GuardInput {
            hidden: &[&hidden],
            public: &[public],
            agent: &[agent],
            plan: &plan,
        });
        for term in expect_hidden {
            assert!(guard.hidden_terms.iter().any(|t| t == term), "{term} in {guard:?}");
        }
        for term in expect_open {
            assert!(!guard.hidden_terms.iter().any(|t| t == term), "{term} in {guard:?}");
        }
        assert!(!guard.has_grant);
    }
    assert!(guard_of(&plan_of("grant")).has_grant);
}

/// The short way for a template finds what the whole review finds of hidden terms.
#[test]
fn a_template_is_searched_for_what_is_hidden() {
    for (say, public, agent, is_sent) in [
        ("Keep it small.", "", "", true),
        ("The aquarium stays closed.", "", "", false),
        ("All aquariums stay closed.", "", "", false),
        ("The aquarium stays closed.", "There is an aquarium.", "", true),
        ("The aquarium stays closed.", "", "I saw an aquarium.", true),
    ] {
        let mut plan = plan_of("nudge");
        plan.acts = vec![SpeechAct::Continue { say: say.to_owned() }];
        let hidden = requirement("closed", "Keep the fish in.", &["aquarium"]);
        let input =
            GuardInput { hidden: &[&hidden], public: &[public], agent: &[agent], plan: &plan };
        let text = template(&plan);
        let whole = review(&text, &plan, &guard(&input));
        let short = review_template(&text, &input);
        assert_eq!((whole.is_empty(), &short), (is_sent, &whole), "{say}");
    }
}

#[test]
fn reasons_do_not_tell_what_is_hidden() {
    let plan = plan_of("defer");
    let found = review("Nothing gets installed.", &plan, &guard_of(&plan));
    assert_eq!(found, [Rejection::SaysTooMuch("installed".into())]);
}

/// Wordings as authors write them: with numbers, paths, assent, quotations, questions, shouting and code.
fn wording() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "yes",
        "sure",
        "go ahead",
        "the list",
        "src/app.py",
        "--strict",
        "3.11",
        "twelve",
        "CSV",
        "camelCase",
        "`x = 1`",
        "\"as I said before\"",
        "I fixed",
        "benchmark",
        "finally",
        "nothing else",
        "don't",
        "without",
        "page",
        "neighbours",
        "import x",
        "git commit",
        "und",
        "der",
        "nicht",
        "this",
        "that",
        "you may",
        "a/b",
        "why?",
        "it's",
        "(maybe)",
        "and;",
        "don't,",
        "not —",
        "@me",
    ]);
    (prop::collection::vec(words, 1..12), prop::sample::select(vec!["", ".", "!", ":", "?"]))
        .prop_map(|(words, end)| words.join(" ") + end)
}

fn act() -> impl Strategy<Value = SpeechAct> {
    let requirement = || RequirementId::new("told");
    prop_oneof![
        (wording(), "[a-z`~#\n >]{0,60}")
            .prop_map(|(say, statement)| SpeechAct::Open { say, statement }),
        wording().prop_map(|say| SpeechAct::Refuse { class: None, say }),
        wording().prop_map(|say| SpeechAct::Grant {
            class: ActionClass::Install,
            subject: None,
            say
        }),
        wording().prop_map(|say| SpeechAct::Answer { topic: TopicId::new("t"), say }),
        wording().prop_map(|say| SpeechAct::Defer { say }),
        wording().prop_map(|say| SpeechAct::Nudge { say }),
        wording().prop_map(move |say| SpeechAct::Correct {
            requirement: requirement(),
            level: FeedbackLevel::Restate,
            say,
        }),
        (wording(), wording()).prop_map(move |(lead, say)| SpeechAct::Tell {
            requirement: requirement(),
            lead,
            must_say: say.split(' ').map(|word| vec![word.to_string()]).collect(),
            say,
            because: "of this".into(),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Nothing that the lints allow can make the review reject the template.
    #[test]
    fn every_template_passes_its_review(
        mut acts in prop::collection::vec(act(), 1..6),
        agent in wording(),
        words_max in 1_u32..80,
    ) {
        let mut opened = false;
        acts.retain(|act| {
            let opens = matches!(act, SpeechAct::Open { .. });
            !opens || !core::mem::replace(&mut opened, true)
        });
        let plan = TurnPlan { turn: Turn(1), acts, words_max, language: "en".into(), questions_max: 0 };
        let hidden = requirement("hidden", "Keep the aquarium closed, see /srv/fish and 42.", &["aquarium"]);
        let guard = guard(&GuardInput { hidden: &[&hidden], public: &[], agent: &[&agent], plan: &plan });
        let text = template(&plan);
        prop_assert_eq!(review(&text, &plan, &guard), Vec::new(), "{}", text);
    }

    /// Any text at all is read without a panic, and what holds a hidden term is never sent.
    #[test]
    fn a_hidden_term_is_never_sent(before in ".{0,80}", after in ".{0,80}") {
        let plan = plan_of("nudge");
        let text = format!("{before} ledger {after}");
        prop_assert!(!review(&text, &plan, &guard_of(&plan)).is_empty());
    }
}
