//! What the bundled releases say: every wording of theirs passes the review while all else is hidden.

use std::path::{Path, PathBuf};

use domain::{
    controller::{SpeechAct, TurnPlan},
    ids::{TopicId, Turn},
    release::{ActionClass, FeedbackLevel, Pair, Persona, Requirement, merged_facts},
    wording::{GuardInput, guard, review, template},
};
use store::release_files::{LockUse, open_release_with};

#[test]
fn every_bundled_wording_passes_its_review() {
    for name in ["tiny", "starter"] {
        let loaded = open_release_with(&bundled(name), LockUse::Ignore)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let release = &loaded.release;
        let mut wrong = Vec::new();
        let mut seen = 0;
        for pair in release.pairs.values() {
            let persona = &release.personas[&pair.persona];
            let statement = &release.tasks[&pair.task].statement;
            for (act, told) in acts(pair, persona, statement) {
                seen += 1;
                let hidden: Vec<&Requirement> = pair
                    .requirements
                    .iter()
                    .filter(|requirement| told.is_none_or(|told| told.id != requirement.id))
                    .collect();
                let plan = TurnPlan {
                    turn: Turn(1),
                    acts: vec![act],
                    words_max: persona.telling.words_max,
                    language: persona.telling.language.clone(),
                    questions_max: 0,
                };
                let guard = guard(&GuardInput {
                    hidden: &hidden,
                    public: &[statement.as_str()],
                    agent: &[],
                    plan: &plan,
                });
                let text = template(&plan);
                let found = review(&text, &plan, &guard);
                if !found.is_empty() {
                    wrong.push(format!("{}: {text}\n  {found:?}", pair.id));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(seen > 20, "only {seen} wordings in {name}");
    }
}

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases").join(name)
}

/// Each wording as an act of its own, with the requirement that it may speak of.
fn acts<'a>(
    pair: &'a Pair,
    persona: &'a Persona,
    statement: &str,
) -> Vec<(SpeechAct, Option<&'a Requirement>)> {
    let words = &persona.utterances;
    let mut all = Vec::new();
    let mut free = |list: &[String], act: &dyn Fn(String) -> SpeechAct| {
        all.extend(list.iter().cloned().map(|say| (act(say), None)));
    };
    free(&words.opening, &|say| SpeechAct::Open { say, statement: statement.to_string() });
    free(&words.grant, &|say| SpeechAct::Grant { class: ActionClass::Install, subject: None, say });
    free(&words.refuse, &|say| SpeechAct::Refuse { class: None, say });
    free(&words.dont_know, &|say| SpeechAct::DontKnow { say });
    free(&words.defer, &|say| SpeechAct::Defer { say });
    free(&words.nudge, &|say| SpeechAct::Nudge { say });
    for fact in merged_facts(persona, pair) {
        free(&fact.say, &|say| SpeechAct::Answer { topic: TopicId::new("fact"), say });
    }
    for requirement in &pair.requirements {
        for (lead, say) in words.tell.iter().cycle().zip(&requirement.say) {
            let tell = SpeechAct::Tell {
                requirement: requirement.id.clone(),
                lead: lead.clone(),
                say: say.clone(),
                because: requirement.because.clone(),
                must_say: requirement.must_say.clone(),
            };
            all.push((tell, Some(requirement)));
        }
        let feedback = &requirement.feedback;
        for say in feedback.symptom.iter().chain(&feedback.restate).chain(&feedback.point) {
            let correct = SpeechAct::Correct {
                requirement: requirement.id.clone(),
                level: FeedbackLevel::Restate,
                say: say.clone(),
            };
            all.push((correct, Some(requirement)));
        }
    }
    all
}
