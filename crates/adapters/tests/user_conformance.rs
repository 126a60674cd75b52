//! What every implementer of the user port promises, asked of each user that ships with the tool.

use adapters::users::TemplateUser;
use domain::{
    controller::{DialogueLine, SpeechAct, TurnPlan, Voice},
    ids::{RequirementId, Turn},
    session::Wordsmith,
    wording::Rejection,
};
use engine::ports::user::{User, WordRequest};

const STATEMENT: &str = "Make `greet.sh` greet by name.\n\n```\nsh greet.sh Ada\n```";

/// Runs the whole suite on one user.
async fn check(user: &dyn User, by: Wordsmith) {
    let opening = plan(
        1,
        vec![SpeechAct::Open {
            say: "Could you do this for the house?".to_owned(),
            statement: STATEMENT.to_owned(),
        }],
    );
    let telling = plan(
        2,
        vec![SpeechAct::Tell {
            requirement: RequirementId::new("usage_note"),
            lead: "Something else for the house:".to_owned(),
            say: "Leave a file called USAGE there.".to_owned(),
            because: "the neighbours look after the house".to_owned(),
            must_say: vec![vec!["USAGE".to_owned()]],
        }],
    );
    let said = words(user, &opening, &[], by).await;
    assert!(said.contains(STATEMENT), "the statement is verbatim: {said}");

    let dialogue = [DialogueLine::User(said), DialogueLine::Agent("The work is done.".to_owned())];
    let said = words(user, &telling, &dialogue, by).await;
    assert!(said.contains("USAGE"), "what must be said is said: {said}");
    assert!(!said.contains("greet.sh"), "nothing is said that the plan does not hold: {said}");
}

async fn words(
    user: &dyn User,
    plan: &TurnPlan,
    dialogue: &[DialogueLine],
    by: Wordsmith,
) -> String {
    let voice = Voice {
        role: "Looks after an old house.".to_owned(),
        card: "You write short sentences.".to_owned(),
        words_max: 60,
        language: "en".to_owned(),
        known: Vec::new(),
        delivered: Vec::new(),
    };
    let first = WordRequest { voice: &voice, dialogue, plan, nth: 1, after: &[] };
    let worded = user.word(first).await.expect("a wording");
    assert!(!worded.text.trim().is_empty());
    assert_eq!(worded.by, by);
    let after = [Rejection::Code];
    let second = WordRequest { nth: 2, after: &after, ..first };
    assert!(user.word(second).await.is_ok(), "a rejected wording may be tried again");
    worded.text
}

fn plan(turn: u32, acts: Vec<SpeechAct>) -> TurnPlan {
    TurnPlan { turn: Turn(turn), acts, words_max: 60, language: "en".to_owned(), questions_max: 1 }
}

#[tokio::test]
async fn the_template_keeps_the_contract() {
    check(&TemplateUser, Wordsmith::Template).await;
}
