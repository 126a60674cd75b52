//! Lints of names and references: ids have their shape, are unique, and what is named exists.

use alloc::{collections::BTreeSet, format, string::String};

use super::{NotePath, note::Notes};
use crate::{
    ids::PersonaId,
    release::{Pair, PermissionAnswer, PermissionEntry, Persona, Release, Topic},
    session::Scenario,
};

/// Sandboxes that a pair can name.
pub(super) const SANDBOXES: [&str; 3] = ["simulated", "local", "docker"];

/// The release itself.
pub(super) fn release(release: &Release, notes: &mut Notes) {
    let at = |key: &str| NotePath::Release(key.into());
    check_id(release.id.as_str(), at("id"), notes);
    for (key, value) in [("version", &release.version), ("canary", &release.canary)] {
        if value.trim().is_empty() {
            notes.error(
                at(key),
                format!("the {key} is empty"),
                format!("give the release a {key}"),
            );
        }
    }
    if !release.personas.contains_key(&PersonaId::new(Scenario::NEUTRAL)) {
        notes.error(
            at(""),
            "there is no persona `neutral`",
            "add `personas/neutral.toml`: it speaks in the arms without persona",
        );
    }
    if release.pairs.is_empty() {
        notes.error(at(""), "the release has no pair", "add one below `pairs/`");
    }
    for persona in release.personas.keys() {
        let used = release.pairs.values().any(|pair| &pair.persona == persona);
        if !used && persona.as_str() != Scenario::NEUTRAL {
            notes.warning(
                NotePath::Persona(persona.clone(), String::new()),
                "no pair uses this persona",
                "remove it or pair it with a task",
            );
        }
    }
    for task in release.tasks.keys() {
        check_id(task.as_str(), NotePath::Task(task.clone(), String::new()), notes);
        if !release.pairs.values().any(|pair| &pair.task == task) {
            notes.warning(
                NotePath::Task(task.clone(), String::new()),
                "no pair uses this task",
                "remove it or pair it with a persona",
            );
        }
    }
}

/// Names of a persona.
pub(super) fn persona(persona: &Persona, notes: &mut Notes) {
    let at = |key: String| NotePath::Persona(persona.id.clone(), key);
    check_id(persona.id.as_str(), at("id".into()), notes);
    check_id(persona.family.as_str(), at("family".into()), notes);
    for (key, value) in [("role", &persona.role), ("card", &persona.card)] {
        if value.trim().is_empty() {
            notes.error(at(key.into()), format!("the {key} is empty"), "say who the person is");
        }
    }
    for (key, value) in [
        ("telling.tells_per_message", persona.telling.tells_per_message),
        ("telling.max_words", persona.telling.words_max),
        ("patience.silent_turns", persona.patience.silent_turns),
        ("patience.repeated_turns", persona.patience.repeated_turns),
    ] {
        if value == 0 {
            notes.error(at(key.into()), "the number is 0", "use at least 1");
        }
    }
    topics(&persona.topics, at, notes);
    permissions(&persona.permissions.entries, at, notes);
    for (index, fact) in persona.knows.iter().enumerate() {
        if !persona.topics.iter().any(|topic| topic.id == fact.topic) {
            notes.error(
                at(format!("knows.{index}.topic")),
                format!("there is no topic `{}`", fact.topic),
                "name a topic of this persona, or add one below `[topics]`",
            );
        }
    }
}

/// Names of a pair, and what it refers to in the release.
pub(super) fn pair(pair: &Pair, release: &Release, notes: &mut Notes) {
    let at = |key: String| NotePath::Pair(pair.id.clone(), key);
    check_id(pair.id.as_str(), at("id".into()), notes);
    check_id(pair.suite.as_str(), at("suite".into()), notes);
    let persona = release.personas.get(&pair.persona);
    if persona.is_none() {
        notes.error(
            at("persona".into()),
            format!("there is no persona `{}`", pair.persona),
            "name a file of `personas/` without its ending",
        );
    }
    let has_steps = release.tasks.get(&pair.task).is_some_and(|task| !task.steps.is_empty());
    if pair.persona.as_str() == Scenario::NEUTRAL && !has_steps {
        notes.error(
            at("persona".into()),
            "the neutral persona has no requirements to tell",
            "name another persona: the arms without persona come by themselves",
        );
    }
    if !release.tasks.contains_key(&pair.task) {
        notes.error(
            at("task".into()),
            format!("there is no task `{}`", pair.task),
            "name a folder of `tasks/`",
        );
    }
    topics(&pair.topics, at, notes);
    permissions(&pair.permissions, at, notes);
    environment(pair, notes);
    unique_names(pair, notes);
    let inherited = persona.map_or(&[][..], |persona| &persona.topics);
    let knows_topic = |id| pair.topics.iter().chain(inherited).any(|topic| &topic.id == id);
    for (index, fact) in pair.knows.iter().enumerate() {
        if !knows_topic(&fact.topic) {
            notes.error(
                at(format!("knows.{index}.topic")),
                format!("there is no topic `{}`", fact.topic),
                "name a topic of the persona or of this pair",
            );
        }
    }
    for requirement in &pair.requirements {
        let Some(topic) = &requirement.topic else { continue };
        let path =
            |key: &str| NotePath::Requirement(pair.id.clone(), requirement.id.clone(), key.into());
        if !knows_topic(topic) {
            notes.error(
                path("topic"),
                format!("there is no topic `{topic}`"),
                "name a topic of the persona or of this pair",
            );
        }
    }
}

fn environment(pair: &Pair, notes: &mut Notes) {
    let at = |key: String| NotePath::Pair(pair.id.clone(), key);
    for (index, sandbox) in pair.environment.sandboxes.iter().enumerate() {
        if !SANDBOXES.contains(&sandbox.as_str()) {
            notes.error(
                at(format!("environment.sandboxes.{index}")),
                format!("there is no sandbox `{sandbox}`"),
                format!("use {}", SANDBOXES.join(", ")),
            );
        }
    }
    for (index, host) in pair.environment.host.iter().enumerate() {
        if !is_tool(host) {
            notes.error(
                at(format!("environment.host.{index}")),
                format!("`{host}` names no tool"),
                "write the program, and its least version if it matters: `python3 >= 3.11`",
            );
        }
    }
}

fn unique_names(pair: &Pair, notes: &mut Notes) {
    let mut seen = BTreeSet::new();
    for requirement in &pair.requirements {
        let path =
            NotePath::Requirement(pair.id.clone(), requirement.id.clone(), String::from("id"));
        if !seen.insert(&requirement.id) {
            notes.error(
                path.clone(),
                format!("two requirements are called `{}`", requirement.id),
                "give each a name of its own",
            );
        }
        check_id(requirement.id.as_str(), path, notes);
    }
    let mut seen = BTreeSet::new();
    for check in &pair.checks {
        let path = NotePath::Check(pair.id.clone(), check.id.clone(), String::new());
        if !seen.insert(&check.id) {
            notes.error(
                path.clone(),
                format!("two checks are called `{}`", check.id),
                "give each a name of its own",
            );
        }
        check_id(check.id.as_str(), path, notes);
    }
}

fn topics(topics: &[Topic], at: impl Fn(String) -> NotePath, notes: &mut Notes) {
    for topic in topics {
        let key = format!("topics.{}", topic.id);
        check_id(topic.id.as_str(), at(key.clone()), notes);
        if topic.words.is_empty() || topic.words.iter().any(|word| word.trim().is_empty()) {
            notes.error(
                at(key),
                format!("the topic `{}` has no words, or an empty one", topic.id),
                "list the words that a question about it would hold",
            );
        }
    }
}

fn permissions(entries: &[PermissionEntry], at: impl Fn(String) -> NotePath, notes: &mut Notes) {
    for entry in entries {
        let key = format!("permissions.{}", entry.class.name());
        if entry.asked_by.is_empty() || entry.asked_by.iter().any(|word| word.trim().is_empty()) {
            notes.error(
                at(format!("{key}.asked_by")),
                format!("no words ask for `{}`, or an empty one does", entry.class.name()),
                "list the words that a request for it would hold",
            );
        }
        if matches!(
            entry.answer,
            PermissionAnswer::Granted { uses: 0, .. } | PermissionAnswer::Granted { turns: 0, .. }
        ) {
            notes.error(
                at(format!("{key}.answer")),
                "the grant covers nothing",
                "use at least 1 for `uses` and for `turns`",
            );
        }
    }
}

/// Whether a text has the shape of an id: small letters, digits, `_`, `-` and `.`, a letter or a digit first.
pub fn is_id(text: &str) -> bool {
    let is_first = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.starts_with(is_first)
        && text.chars().all(|letter| is_first(letter) || "_-.".contains(letter))
}

fn check_id(id: &str, path: NotePath, notes: &mut Notes) {
    if !is_id(id) {
        notes.error(
            path,
            format!("`{id}` is no id"),
            "begin with a small letter or a digit; then small letters, digits, `_`, `-` and `.`",
        );
    }
}

/// A program's name, or `NAME >= VERSION`.
fn is_tool(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-+.".contains(letter))
    };
    match text.split_once(">=") {
        None => is_name(text.trim()),
        Some((name, version)) => {
            let version = version.trim();
            is_name(name.trim())
                && !version.is_empty()
                && version
                    .split('.')
                    .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
        }
    }
}
