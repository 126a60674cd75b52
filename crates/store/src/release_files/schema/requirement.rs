//! The schema of a `[[requirement]]` of a pair.

use serde_json::json;

use super::{
    persona::{CLASSES, wordings},
    shape::{Shape, may, need},
};

pub(super) fn requirement() -> Shape {
    let areas =
        ["implementation", "permissions", "testing", "explanation", "delivery", "interaction"];
    Shape::table([
        need("id", "Its name within the pair.", Shape::text()),
        need("area", "What it is about, for reports.", Shape::word(&areas)),
        may("mandatory", "Whether personalization needs it.", Shape::flag().default(true)),
        need(
            "because",
            "The trait: why this person wants it. Delivered only with it.",
            Shape::text(),
        ),
        may("topic", "The label of questions about it.", Shape::text()),
        may(
            "class",
            "The class of action that it is about; an answer to a request of the class tells it.",
            Shape::word(&CLASSES),
        ),
        need("text", "The public text. The acceptance asks nothing beyond it.", Shape::text()),
        need("say", "At least three wordings of the telling.", wordings()),
        may(
            "must_say",
            "Literals that `text` and every wording hold; an entry may be a list of alternatives.",
            alternatives(),
        ),
        may(
            "hide",
            "Terms that nothing else may say before it is told.",
            Shape::texts().default(json!([])),
        ),
        may(
            "binds",
            "Since when it binds; from the start only if it is told at the opening.",
            Shape::word(&["when_told", "from_start"]).default("when_told"),
        ),
        may(
            "opening",
            "Wording for the opening arm, where the acceptance refers to the telling, to feedback or to grants.",
            Shape::text(),
        ),
        need("tell", "When it is told.", tell()),
        need("pass", "What counts as meeting it.", pass()),
        may("feedback", "How it is corrected.", feedback()),
    ])
}

/// A list whose entries are a word, or a list of words of which any will do.
pub(super) fn alternatives() -> Shape {
    Shape::list(Shape::any_of([Shape::text(), Shape::filled_list(Shape::text())]))
}

fn tell() -> Shape {
    let latest = Shape::any_of([Shape::word(&["opening", "handoff"]), Shape::count()]);
    Shape::table([
        need("when", "The disclosure condition. Due stays due.", Shape::defined("condition")),
        may(
            "latest",
            "`opening`, a turn's number, or `handoff`; a hand-off forces it in any case.",
            latest.default("handoff"),
        ),
        may(
            "if_presatisfied",
            "What happens if it is met before: told all the same, or as praise.",
            Shape::word(&["deliver", "acknowledge"]).default("deliver"),
        ),
        may(
            "if_previolated",
            "What happens if it is violated before: to be undone, or only what is worse counts. Of states only.",
            Shape::word(&["undo", "grandfather"]).default("undo"),
        ),
    ])
}

fn pass() -> Shape {
    Shape::table([
        may(
            "applies_if",
            "An expression over the whole session that can only take a pass away.",
            Shape::defined("expression"),
        ),
        need("holds", "The acceptance.", Shape::defined("expression")),
    ])
}

fn feedback() -> Shape {
    let level = |name, about| may(name, about, wordings().default(json!([])));
    Shape::table([
        may("repeats", "Corrections at the most.", Shape::small().default(2)),
        level("symptom", "What the person notices by themselves, if they can see it."),
        level("restate", "The requirement once more; needs no sight."),
        level("point", "Where it is wrong, if they can see it."),
    ])
}
