//! The schema of `pairs/<pair>/pair.toml`.

use serde_json::{Value, json};

use super::{
    checks, expressions, persona, requirement,
    shape::{Shape, may, need},
};

/// A path from the root, without a part `..`.
pub(super) const ABSOLUTE: &str = "^/(?!(?:.*/)?\\.\\.(?:/|$))";

/// A whole pair file.
pub(super) fn schema() -> Value {
    let about = "One persona on one task, with its requirements: `pairs/<pair>/pair.toml`.";
    let root = Shape::table([
        need("id", "The folder's name.", Shape::text()),
        need("suite", "The row of a report that it counts under.", Shape::text()),
        need("persona", "Id of a persona of the release.", Shape::text()),
        need("task", "Id of a task of the release.", Shape::text()),
        may(
            "needs",
            "What a machine must have; noted for later.",
            Shape::words(&["image", "docker", "root", "network"]).default(json!([])),
        ),
        may("budget", "Limits of the session.", budget()),
        may("completion", "When the task counts as done.", completion()),
        may("environment", "Where it can run.", environment()),
        may(
            "permissions",
            "Laid over the persona's, each class as a whole.",
            persona::permissions(false),
        ),
        may("topics", persona::TOPICS, persona::topics()),
        may("knows", persona::KNOWS, persona::facts()),
        may(
            "check",
            "What is looked at, by names of your own; whether it is good is said by a requirement's `pass`.",
            Shape::named(Shape::defined("check")),
        ),
        may(
            "requirement",
            "Requirements in declared order.",
            Shape::list(requirement::requirement()),
        ),
    ]);
    let definitions = [
        persona::definitions(),
        vec![
            ("check", checks::check()),
            ("condition", expressions::condition()),
            ("expression", expressions::expression()),
        ],
    ];
    root.says(about).document("pair", definitions.into_iter().flatten().collect())
}

fn budget() -> Shape {
    Shape::table([
        may(
            "turns",
            "Turns at the most; at least 1 + requirements + refusals + 2. Without it 4 + 2 × requirements.",
            Shape::count(),
        ),
        may(
            "agent_time_sec",
            "Seconds of agent time. Without it the task's limit (3,600 if it has none) × (1 + 0.2 × requirements).",
            Shape::positive(),
        ),
        may("tokens", "Tokens at the most.", Shape::whole()),
        may("cost_usd", "US dollars at the most.", Shape::positive()),
    ])
}

fn completion() -> Shape {
    Shape::table([
        may(
            "key",
            "The reward of the task's verifier that counts.",
            Shape::text().default("reward"),
        ),
        may("at_least", "The bound that it must reach.", Shape::number().default(1.0)),
        may(
            "verify",
            "`fresh`: in a new sandbox with `paths` laid over the base; `live`: in place.",
            Shape::word(&["fresh", "live"]).default("fresh"),
        ),
        may(
            "paths",
            "Absolute paths that are laid over the base. Without it the task's working directory.",
            Shape::list(Shape::pattern(ABSOLUTE)),
        ),
    ])
}

fn environment() -> Shape {
    Shape::table([
        may(
            "sandboxes",
            "Sandboxes in which it can run: `simulated`, `local`, `docker`.",
            Shape::texts().default(json!(["local", "docker"])),
        ),
        may(
            "host",
            "Programs of the host with their least version: \"python3 >= 3.11\".",
            Shape::texts().default(json!([])),
        ),
    ])
}
