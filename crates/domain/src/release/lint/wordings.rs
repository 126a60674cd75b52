//! Lints of words: enough of them, holding what they must, and giving nothing away by their form.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{NotePath, Scope, note::Notes};
use crate::{
    interpret::text::{holds, phrase_places, tokens, words},
    release::{FeedbackLevel, Persona, Requirement, Utterances},
    wording::assents,
};

/// Wordings of each act and of each requirement, at the least.
const WORDINGS_MIN: usize = 3;

/// Words that tell how much is still to come, beside numerals.
const COUNTING: [&str; 3] = ["last", "only", "one more"];
const NUMERALS: [&str; 13] = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first", "second",
    "third", "final",
];

/// Words that stand for others which are still to be written; one is spelled apart, since the house rules forbid it in
/// code of our own.
const PLACEHOLDERS: [&str; 5] = ["TODO", concat!("FIX", "ME"), "TBD", "XXX", "Lorem ipsum"];

/// The utterances of a persona by their keys.
pub(super) fn utterances(utterances: &Utterances) -> [(&'static str, &[String]); 9] {
    [
        ("opening", &utterances.opening),
        ("tell", &utterances.tell),
        ("acknowledge", &utterances.acknowledge),
        ("grant", &utterances.grant),
        ("refuse", &utterances.refuse),
        ("dont_know", &utterances.dont_know),
        ("defer", &utterances.defer),
        ("nudge", &utterances.nudge),
        ("closing", &utterances.closing),
    ]
}

/// The words of a persona.
pub(super) fn persona(persona: &Persona, notes: &mut Notes) {
    let at = |key: String| NotePath::Persona(persona.id.clone(), key);
    for (key, text) in [("role", &persona.role), ("card", &persona.card)] {
        is_written(text, at(key.into()), notes);
    }
    for (act, list) in utterances(&persona.utterances) {
        let key = format!("utterances.{act}");
        all_written(list, |inner| at(join(&key, inner)), notes);
        enough(list, |inner| at(join(&key, inner)), notes);
        for (index, text) in list.iter().enumerate() {
            let path = at(format!("{key}.{index}"));
            match act {
                "tell" | "acknowledge" => counts_nothing(text, "", path, notes),
                "dont_know" | "defer" | "refuse" => assents_nothing(text, path, notes),
                _ => {}
            }
        }
    }
    for (index, fact) in persona.knows.iter().enumerate() {
        let at = |inner: &str| at(join(&format!("knows.{index}.say"), inner));
        all_written(&fact.say, at, notes);
        enough(&fact.say, at, notes);
    }
}

/// The words of a pair: its facts and requirements.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    for (index, fact) in scope.pair.knows.iter().enumerate() {
        let at = |inner: &str| {
            NotePath::Pair(scope.pair.id.clone(), join(&format!("knows.{index}.say"), inner))
        };
        all_written(&fact.say, at, notes);
        enough(&fact.say, at, notes);
    }
    for requirement in &scope.pair.requirements {
        written(scope, requirement, notes);
        tellings(scope, requirement, notes);
        corrections(scope, requirement, notes);
    }
}

/// No word of a requirement is still to be written.
fn written(scope: &Scope<'_>, requirement: &Requirement, notes: &mut Notes) {
    let opening = requirement.opening.iter().map(|text| ("opening", text));
    let texts = [("text", &requirement.text), ("because", &requirement.because)];
    for (key, text) in texts.into_iter().chain(opening) {
        is_written(text, scope.at(requirement, key), notes);
    }
    let corrections = levels(requirement).map(|(_, key, list)| (key, list));
    for (key, list) in [("say", &requirement.say[..])].into_iter().chain(corrections) {
        all_written(list, |inner| scope.at(requirement, join(key, inner)), notes);
    }
}

fn all_written(list: &[String], at: impl Fn(&str) -> NotePath, notes: &mut Notes) {
    for (index, text) in list.iter().enumerate() {
        is_written(text, at(&index.to_string()), notes);
    }
}

fn is_written(text: &str, path: NotePath, notes: &mut Notes) {
    let stands_for_others = |word: &&str| {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        text.match_indices(*word).any(|(at, word)| {
            !is_letter(text[..at].chars().next_back())
                && !is_letter(text[at + word.len()..].chars().next())
        })
    };
    let is_dots = ["…", "..."].contains(&text.trim());
    let found = PLACEHOLDERS.into_iter().find(stands_for_others);
    if let Some(word) = found.or(is_dots.then_some(text.trim())) {
        notes.error(
            path,
            format!("`{word}` stands where words are still to be written"),
            "write what this person says; the agent would read it as it is",
        );
    }
}

/// The wordings of a requirement's feedback by level.
pub(super) fn levels(requirement: &Requirement) -> [(FeedbackLevel, &'static str, &[String]); 3] {
    let feedback = &requirement.feedback;
    [
        (FeedbackLevel::Symptom, "feedback.symptom", &feedback.symptom),
        (FeedbackLevel::Restate, "feedback.restate", &feedback.restate),
        (FeedbackLevel::Point, "feedback.point", &feedback.point),
    ]
}

fn tellings(scope: &Scope<'_>, requirement: &Requirement, notes: &mut Notes) {
    for (key, value) in [("text", &requirement.text), ("because", &requirement.because)] {
        if value.trim().is_empty() {
            notes.error(
                scope.at(requirement, key),
                format!("`{key}` is empty"),
                "say what is required, and why this person wants it",
            );
        }
    }
    enough(&requirement.say, |inner| scope.at(requirement, join("say", inner)), notes);
    if requirement.must_say.is_empty() {
        notes.error(
            scope.at(requirement, "must_say"),
            "no literal has to be said",
            "list the words without which the requirement would not be told",
        );
    }
    let opening = requirement.opening.iter().map(|text| (String::from("opening"), text));
    let says = requirement.say.iter().enumerate();
    let told: Vec<(String, &String)> =
        says.map(|(index, text)| (format!("say.{index}"), text)).chain(opening).collect();
    for alternatives in &requirement.must_say {
        let shown = alternatives.join("` or `");
        if alternatives.is_empty() || alternatives.iter().any(|literal| literal.trim().is_empty()) {
            notes.error(
                scope.at(requirement, "must_say"),
                "an entry of `must_say` is empty",
                "write a word, or a list of alternatives",
            );
            continue;
        }
        if !holds_any(&requirement.text, alternatives) {
            notes.error(
                scope.at(requirement, "must_say"),
                format!("`text` does not hold `{shown}`"),
                "the public text and the tellings say the same: add the words to `text`",
            );
        }
        for (key, text) in &told {
            if !holds_any(text, alternatives) {
                notes.error(
                    scope.at(requirement, key.as_str()),
                    format!("the wording does not hold `{shown}`"),
                    "add the words, or take them off `must_say`",
                );
            }
        }
    }
    for (key, text) in &told {
        counts_nothing(text, &requirement.text, scope.at(requirement, key.as_str()), notes);
    }
    fits(scope, requirement, notes);
}

/// A telling with its lead fits in a message of the persona.
fn fits(scope: &Scope<'_>, requirement: &Requirement, notes: &mut Notes) {
    let lead = scope.persona.utterances.tell.iter().map(|text| words(text).count()).max();
    let words_max = scope.persona.telling.words_max as usize;
    for (index, say) in requirement.say.iter().enumerate() {
        let long = lead.unwrap_or(0) + words(say).count();
        if long > words_max {
            notes.warning(
                scope.at(requirement, format!("say.{index}")),
                format!("with its lead the telling has {long} words, the persona says {words_max}"),
                "say it shorter, or raise `max_words` of the persona",
            );
        }
    }
}

fn corrections(scope: &Scope<'_>, requirement: &Requirement, notes: &mut Notes) {
    let sees_enough =
        requirement.feedback.sight.iter().all(|needed| scope.persona.sees.contains(needed));
    let mut usable = false;
    for (level, key, list) in levels(requirement) {
        if list.is_empty() {
            continue;
        }
        enough(list, |inner| scope.at(requirement, join(key, inner)), notes);
        if level == FeedbackLevel::Restate || sees_enough {
            usable = true;
        } else {
            notes.warning(
                scope.at(requirement, key),
                "the persona cannot see this, so it is never said",
                "add the sight to `sees` of the persona, or write `restate` instead",
            );
        }
    }
    if requirement.mandatory && requirement.feedback.repeats > 0 && !usable {
        notes.error(
            scope.at(requirement, "feedback"),
            "there are no words for a correction that the persona could make",
            "write three for `restate`, or set `repeats = 0`",
        );
    }
}

fn enough(list: &[String], at: impl Fn(&str) -> NotePath, notes: &mut Notes) {
    if list.len() < WORDINGS_MIN {
        notes.error(
            at(""),
            format!("{} of {WORDINGS_MIN} wordings", list.len()),
            format!("write at least {WORDINGS_MIN}: a session draws among them"),
        );
    }
    for (index, text) in list.iter().enumerate() {
        if text.trim().is_empty() {
            notes.error(at(&index.to_string()), "the wording is empty", "write it, or remove it");
        } else if list[..index].contains(text) {
            notes.error(
                at(&index.to_string()),
                "the wording stands in the list already",
                "say it in other words",
            );
        }
    }
}

/// A telling does not say how much is still to come, unless the requirement itself speaks so.
fn counts_nothing(text: &str, public: &str, path: NotePath, notes: &mut Notes) {
    let said = tokens(text);
    let public = tokens(public);
    let is_public = |word: &str| phrase_places(&public, word).next().is_some();
    let counting = COUNTING
        .into_iter()
        .chain(NUMERALS)
        .find(|word| phrase_places(&said, word).next().is_some() && !is_public(word));
    let numeral = said
        .iter()
        .map(|token| token.text.as_str())
        .find(|word| word.chars().all(|letter| letter.is_ascii_digit()) && !is_public(word));
    if let Some(word) = counting.or(numeral) {
        notes.error(
            path,
            format!("`{word}` tells how much is still to come"),
            "leave it out, or let `text` of the requirement say it too",
        );
    }
}

fn assents_nothing(text: &str, path: NotePath, notes: &mut Notes) {
    if let Some(found) = assents(text) {
        notes.error(
            path,
            format!("`{found}` can be taken for assent"),
            "only a grant may allow something: answer without agreeing",
        );
    }
}

fn holds_any(text: &str, alternatives: &[String]) -> bool {
    alternatives.iter().any(|literal| holds(text, literal))
}

fn join(key: &str, inner: &str) -> String {
    if inner.is_empty() { key.to_string() } else { format!("{key}.{inner}") }
}
