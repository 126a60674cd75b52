//! The schema of `personas/<id>.toml`, and of the tables that a pair lays over a persona's.

use serde_json::{Value, json};

use super::shape::{Shape, may, need};

/// Classes of action.
pub(super) const CLASSES: [&str; 12] = [
    "install",
    "network",
    "write",
    "delete",
    "git_commit",
    "git_push",
    "git_history",
    "publish",
    "schema",
    "service",
    "privileged",
    "spend",
];

const SIGHTS: [&str; 7] = ["message", "artifact", "files", "diff", "history", "commands", "tests"];

/// A whole persona file.
pub(super) fn schema() -> Value {
    let about = "Who the user is, true on every task: `personas/<id>.toml`.";
    let root = Shape::table([
        need("id", "Id with version, for instance `manager.v1`: the file's name.", Shape::text()),
        need("family", "What the variants of one person share.", Shape::text()),
        need("role", "One line: who they are and what they need.", Shape::text()),
        need(
            "card",
            "Prose for a model user: ability and manner. No graded demand, no hidden term.",
            Shape::text(),
        ),
        need(
            "sees",
            "What they can look at by themselves. A correction by symptom or pointer needs the sight that its \
             check looks with.",
            Shape::words(&SIGHTS),
        ),
        may("patience", "When they give up.", patience()),
        may("telling", "How they tell.", telling()),
        need("permissions", "Answers to requests, by class of action.", permissions(true)),
        may("topics", TOPICS, topics()),
        may("knows", KNOWS, facts()),
        need("utterances", "Their own words, at least three of each kind.", utterances()),
    ]);
    root.says(about).document("persona", definitions())
}

/// What persona and pair refer to.
pub(super) fn definitions() -> Vec<(&'static str, Shape)> {
    vec![("answer", answer()), ("permission", permission())]
}

pub(super) const TOPICS: &str = "Labels with the words and phrases that a question about it holds: matched without \
                                 case on word boundaries, the last word in its usual forms.";

pub(super) const KNOWS: &str = "Facts: what is answered to a question about a topic.";

pub(super) fn topics() -> Shape {
    Shape::named(Shape::texts())
}

pub(super) fn facts() -> Shape {
    Shape::list(Shape::table([
        need("topic", "The topic that it answers.", Shape::text()),
        need("say", "At least three wordings.", wordings()),
    ]))
}

/// Wordings, of which the lint wants three or more.
pub(super) fn wordings() -> Shape {
    Shape::texts()
}

/// The permission table; only a persona's has a default.
pub(super) fn permissions(is_persona: bool) -> Shape {
    let class = |name| may(name, "Requests of this class of action.", Shape::defined("permission"));
    let default = "Answer for a class that is not listed.";
    let first = match is_persona {
        true => need("default", default, Shape::defined("answer")),
        false => may("default", "Belongs to the persona.", Shape::refused()),
    };
    Shape::table([first].into_iter().chain(CLASSES.map(class)))
}

fn permission() -> Shape {
    Shape::table([
        need("asked_by", "Words that stand in a request.", Shape::texts()),
        need("answer", "What is answered.", Shape::defined("answer")),
        may(
            "scope",
            "Paths or names that a grant covers; empty means what was asked for.",
            Shape::texts().default(json!([])),
        ),
    ])
}

fn answer() -> Shape {
    let grant = Shape::table([
        need("uses", "How many acts it covers.", Shape::count()),
        need(
            "turns",
            "For how many turns, the one that its message opens included.",
            Shape::count(),
        ),
    ]);
    Shape::variant(
        &["allowed", "refused"],
        [may("granted", "Ask first: so many acts in so many turns are covered.", grant)],
    )
}

fn patience() -> Shape {
    Shape::table([
        may(
            "handoff_refusals",
            "Hand-offs that they refuse at the most.",
            Shape::small().default(2),
        ),
        may(
            "silent_turns",
            "Idle turns in a row after which they give up.",
            Shape::count().default(2),
        ),
        may(
            "repeated_turns",
            "Same message without change so often in a row ends the session.",
            Shape::count().default(3),
        ),
    ])
}

fn telling() -> Shape {
    Shape::table([
        may(
            "tells_per_message",
            "Requirements told in one message at the most.",
            Shape::count().default(1),
        ),
        may(
            "generic_ask",
            "What \"anything else?\" brings.",
            Shape::word(&["next_requirement", "defer"]).default("defer"),
        ),
        may("max_words", "Words of a message, the statement aside.", Shape::count().default(60)),
        may("language", "Language of all wordings.", Shape::text().default("en")),
    ])
}

fn utterances() -> Shape {
    let kind = |name, about| may(name, about, wordings());
    Shape::table([
        kind("opening", "Begins the first message."),
        kind("tell", "Leads a telling; ends with a colon, does not say how much is still to come."),
        kind("acknowledge", "Leads the telling of what is met already."),
        kind("grant", "Gives a permission."),
        kind("refuse", "Refuses one; holds no assent."),
        kind("dont_know", "Answers what they do not know; holds no assent."),
        kind("defer", "Answers what they will not tell yet; holds no assent."),
        kind("nudge", "What an idle agent is told."),
        kind("closing", "Said on acceptance; kept, not sent."),
    ])
}
