//! The schemas of disclosure conditions and acceptance expressions.

use super::{
    persona::CLASSES,
    shape::{Key, Shape, may, need},
};

pub(super) const CLAIMS: [&str; 3] = ["done", "tested", "explained"];

/// A condition of `tell.when`.
pub(super) fn condition() -> Shape {
    let each = || Shape::filled_list(Shape::defined("condition"));
    let budgets = ["turns", "agent_time", "tokens", "cost"];
    let share = Shape::table([
        need("of", "The budget.", Shape::word(&budgets)),
        need("percent", "1 to 100.", Shape::count().with("maximum", 100.into())),
    ]);
    let fate = Shape::table([
        need("id", "A requirement of the pair.", Shape::text()),
        need(
            "is",
            "Told, or since its telling met or violated.",
            Shape::word(&["told", "met", "violated"]),
        ),
    ]);
    let then = Shape::table([
        need("first", "", Shape::defined("condition")),
        need("next", "In a later turn than `first`.", Shape::defined("condition")),
        may("within_turns", "Within so many turns.", Shape::count()),
    ]);
    let keys = [
        may("after_turn", "That turn has ended.", Shape::count()),
        may("after_share", "So much of a budget is used.", share),
        may("holds", "The check has read true, or has an occurrence.", Shape::text()),
        may("requirement", "What became of another requirement.", fate),
        may(
            "violated",
            "That requirement, told or not, was violated so often since turn 1.",
            times(),
        ),
        may("claims", "The agent has claimed it.", Shape::word(&CLAIMS)),
        may("after_feedback", "That requirement was corrected so often.", times()),
        may("silent", "So many turns in a row were idle.", Shape::count()),
        may("granted", "A grant of the class was given.", Shape::word(&CLASSES)),
        may("all", "Every one.", each()),
        may("any", "Any one.", each()),
        may("not", "Not yet.", Shape::defined("condition")),
        may("then", "One after the other.", then),
    ];
    let about = "`at_opening`: it stands in the first message. `asked`: a question on its topic was asked, or a \
                 request of its class was made. `at_handoff`: a turn has ended as a hand-off. Else a table with \
                 one key.";
    Shape::variant(&["at_opening", "asked", "at_handoff"], keys).says(about)
}

fn times() -> Shape {
    Shape::table([
        need("id", "A requirement of the pair.", Shape::text()),
        may("times", "So often.", Shape::count().default(1)),
    ])
}

/// An acceptance expression of `pass`.
pub(super) fn expression() -> Shape {
    let each = || Shape::filled_list(Shape::defined("expression"));
    let check = |name, about| need(name, about, Shape::text());
    let before =
        Shape::table([check("first", "A check on events."), check("then", "A check on events.")]);
    let within = Shape::table([
        need("turns", "0: the same turn.", Shape::small()),
        check("first", "A check on events."),
        check("then", "A check on events."),
    ]);
    let after =
        Shape::table([check("last", "A check on events."), check("exists", "A check on events.")]);
    let granted = Shape::table([
        need("class", "A class of action.", Shape::word(&CLASSES)),
        check("act", "A check on events."),
    ]);
    let at_least = Shape::table([
        need("k", "So many of them.", Shape::count()),
        need("of", "Expressions.", each()),
    ]);
    let keys: [Key; 12] = [
        may("at_end", "The check, a state, is true at the look.", Shape::text()),
        may(
            "always",
            "The check, a state, is true at every look from the telling on.",
            Shape::text(),
        ),
        may("never", "No occurrence, or never true, from the telling on.", Shape::text()),
        may("eventually", "An occurrence, or once true, in the whole session.", Shape::text()),
        may("before", "Each `then` from the telling on has a `first` before it.", before),
        may(
            "within",
            "Each `first` from the telling on is answered by a `then` within so many turns.",
            within,
        ),
        may("after_last", "After the last `last` there is an `exists`.", after),
        may("granted", "A live grant covers every act from the telling on.", granted),
        may("all", "Every one.", each()),
        may("any", "Any one.", each()),
        may("not", "It does not hold.", Shape::defined("expression")),
        may("at_least", "At least so many hold.", at_least),
    ];
    Shape::one_key(keys)
        .says("One key, which names its operator; unknown stays unknown unless the rest decides.")
}
