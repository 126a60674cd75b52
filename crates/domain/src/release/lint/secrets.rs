//! Lints of secrecy: nothing that is said before a requirement is told holds a term that it hides.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    NotePath, Scope,
    note::Notes,
    wordings::{levels, utterances},
};
use crate::{
    ids::RequirementId,
    interpret::text::{Words, find_term_in, tokens},
    release::Binds,
};

/// Every text that can be said while a requirement is hidden, against what it hides.
pub(super) fn pair(scope: &Scope<'_>, notes: &mut Notes) {
    let spoken = spoken(scope);
    let statement = tokens(&scope.task.statement);
    for requirement in &scope.pair.requirements {
        if requirement.is_told_at_opening() {
            continue;
        }
        if requirement.hide.is_empty() {
            notes.warning(
                scope.at(requirement, "hide"),
                "nothing of this requirement is hidden",
                "list the terms that would give it away",
            );
        }
        for (index, term) in requirement.hide.iter().enumerate() {
            let path = scope.at(requirement, format!("hide.{index}"));
            if tokens(term).is_empty() {
                notes.error(path, format!("`{term}` holds no word"), "write one, or remove it");
                continue;
            }
            if find_term_in(&statement, term).is_some() {
                notes.warning(
                    path,
                    format!("`{term}` stands in the task's own statement, so it hides nothing"),
                    "hide a term that the statement does not show",
                );
                continue;
            }
            for text in spoken.iter().filter(|text| text.owner != Some(&requirement.id)) {
                if let Some(range) = find_term_in(&text.words, term) {
                    let found = &text.text[range];
                    notes.error(
                        text.path.clone(),
                        format!(
                            "`{found}` gives away the requirement `{}` of pair `{}`, which hides \
                             `{term}`",
                            requirement.id, scope.pair.id
                        ),
                        "say it in other words",
                    );
                }
            }
        }
    }
    from_start(scope, notes);
}

/// What binds from the start stands in the opening's frame, so that it is known from the start.
fn from_start(scope: &Scope<'_>, notes: &mut Notes) {
    for requirement in &scope.pair.requirements {
        if requirement.binds == Binds::FromStart && !requirement.is_told_at_opening() {
            notes.error(
                scope.at(requirement, "binds"),
                "it binds from the start and is told later",
                "set `when = \"at_opening\"`, or let it bind when it is told",
            );
        }
    }
}

/// A text with its place and the requirement whose own it is.
struct Spoken<'a> {
    text: &'a str,
    words: Words,
    path: NotePath,
    owner: Option<&'a RequirementId>,
}

fn spoken<'a>(scope: &'a Scope<'_>) -> Vec<Spoken<'a>> {
    let mut all = Vec::new();
    let persona = scope.persona;
    let at = |key: String| NotePath::Persona(persona.id.clone(), key);
    let mut free =
        |text: &'a str, path| all.push(Spoken { text, words: tokens(text), path, owner: None });
    free(&persona.role, at("role".to_string()));
    free(&persona.card, at("card".to_string()));
    for (act, list) in utterances(&persona.utterances) {
        for (index, text) in list.iter().enumerate() {
            free(text, at(format!("utterances.{act}.{index}")));
        }
    }
    let own = |topic| scope.pair.knows.iter().position(|fact| &fact.topic == topic);
    let inherited = |topic| persona.knows.iter().position(|fact| &fact.topic == topic);
    for fact in &scope.facts {
        let place = match (own(&fact.topic), inherited(&fact.topic)) {
            (Some(index), _) => NotePath::Pair(scope.pair.id.clone(), format!("knows.{index}.say")),
            (None, index) => at(format!("knows.{}.say", index.unwrap_or(0))),
        };
        for text in &fact.say {
            free(text, place.clone());
        }
    }
    for requirement in &scope.pair.requirements {
        let mut owned = |text: &'a str, key: String| {
            let path = scope.at(requirement, key);
            all.push(Spoken { text, words: tokens(text), path, owner: Some(&requirement.id) });
        };
        owned(&requirement.because, "because".to_string());
        for (index, text) in requirement.say.iter().enumerate() {
            owned(text, format!("say.{index}"));
        }
        for (_, key, list) in levels(requirement) {
            for (index, text) in list.iter().enumerate() {
                owned(text, format!("{key}.{index}"));
            }
        }
    }
    all
}
