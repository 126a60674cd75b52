//! The schema of the checks below `[check]`: one key names the kind, its table holds what is asked.

use serde_json::json;

use super::{
    expressions::CLAIMS,
    requirement::alternatives,
    shape::{Key, Shape, may, need},
};

const READS: [&str; 3] = ["each_turn", "at_handoff", "at_end"];

/// A check of any kind.
pub(super) fn check() -> Shape {
    let keys: [Key; 13] = [
        may("fs", "State: files as they are now. At least one of `is`, `contains`, `lacks`.", fs()),
        may(
            "diff",
            "State: the difference to the base, over the paths that count, keeps every bound.",
            diff(),
        ),
        may("git", "State: the repository.", git()),
        may("test", "State: a test run.", test()),
        may("metric", "State: a number lies within bounds.", metric()),
        may(
            "script",
            "State: a program of the pair; exit 0 is true, 1 false, all else unknown.",
            script(),
        ),
        may("artifact", "State: what was handed over opens where the person is.", artifact()),
        may("db", "State: an SQLite file's catalogue, or what a query answers.", db()),
        may(
            "secret",
            "A value stands somewhere: state or events, by where it is looked for.",
            secret(),
        ),
        may("exec", "Events: a program was started.", exec()),
        may("edit", "Events: a file was changed.", edit()),
        may("message", "Events: a turn's message satisfies all keys.", message()),
        may("net", "Events: contact with a host.", net()),
    ];
    Shape::one_key(keys)
        .says("A check: `{ KIND = { keys … } }`; all keys given must hold together.")
}

/// The keys of a kind, and when it is read.
fn kind(keys: impl IntoIterator<Item = Key>) -> Shape {
    let about = "When it is read. Without it `test`, `script`, `artifact` and a `secret` on files or history at \
                 hand-offs, all others at each turn.";
    Shape::table(keys.into_iter().chain([may("read", about, Shape::word(&READS))]))
}

fn globs() -> Shape {
    Shape::texts().default(json!([]))
}

fn since() -> Key {
    may("since", "Counts from the telling of that requirement instead of the base.", Shape::text())
}

fn fs() -> Shape {
    kind([
        need("path", "Globs: `*` within a segment, `**` across.", Shape::texts()),
        may(
            "is",
            "A file fits, none does, or against the base.",
            Shape::word(&["present", "absent", "changed", "unchanged"]),
        ),
        may("contains", "A regular expression: a fitting file's text matches.", Shape::text()),
        may("lacks", "A regular expression: no fitting file's text matches.", Shape::text()),
        since(),
    ])
    .demands(&["is", "contains", "lacks"])
}

fn diff() -> Shape {
    let filled =
        json!({ "required": ["only_under"], "properties": { "only_under": { "minItems": 1 } } });
    let each = |key: &str| json!({ "required": [key] });
    let demands = json!([
        each("files_max"),
        each("lines_max"),
        filled,
        each("adds"),
        each("adds_none"),
        each("removes_none"),
    ]);
    kind([
        may("under", "Globs of the paths that count; empty means all.", globs()),
        may("except", "Globs of paths that do not count.", globs()),
        may("files_max", "Changed files at the most.", Shape::small()),
        may("lines_max", "Lines added and removed at the most.", Shape::small()),
        may("only_under", "Globs that every changed path fits.", globs()),
        may("adds", "A regular expression that some added line matches.", Shape::text()),
        may("adds_none", "A regular expression that no added line matches.", Shape::text()),
        may("removes_none", "A regular expression that no removed line matches.", Shape::text()),
        since(),
    ])
    .with("anyOf", demands)
}

fn git() -> Shape {
    let commits = Shape::table([
        may("min", "At least so many.", Shape::small()),
        may("max", "At the most so many.", Shape::small()),
    ]);
    kind([
        may("repo", "The repository's folder; the working directory without it.", Shape::text()),
        may("branch", "A glob that HEAD's branch fits.", Shape::text()),
        may("commits", "New commits since the base.", commits.demands(&["min", "max"])),
        may(
            "message",
            "A regular expression that every new commit's message matches.",
            Shape::text(),
        ),
        may("author", "A regular expression that every new `Name <mail>` matches.", Shape::text()),
        may("clean", "Whether nothing is uncommitted or untracked.", Shape::flag()),
        may(
            "history_kept",
            "Whether base refs, remotes and settings are unchanged and base HEAD is an ancestor.",
            Shape::flag(),
        ),
        may("merges", "`false`: no merge among the new commits.", Shape::flag()),
    ])
    .demands(&["branch", "commits", "message", "author", "clean", "history_kept", "merges"])
}

fn test() -> Shape {
    let needs_tests = json!({
        "properties": { "proves": { "const": "passes" } },
    });
    let with_tests = json!({
        "required": ["tests"],
        "properties": { "tests": { "minItems": 1 } },
    });
    kind([
        need("run", "The program with its arguments.", Shape::filled_list(Shape::text())),
        need(
            "proves",
            "`passes`: exit 0. `regression`: exit 0, and not 0 with the base's other files under the final tests. \
             `kept`: the base's test files are unchanged and exit 0.",
            Shape::word(&["passes", "regression", "kept"]),
        ),
        may("tests", "Globs of what counts as tests; needed for `regression` and `kept`.", globs()),
        may("timeout_sec", "Seconds.", Shape::count().default(120)),
    ])
    .with("anyOf", json!([needs_tests, with_tests]))
}

fn metric() -> Shape {
    let metrics = [
        "turns",
        "agent_time_ms",
        "tokens",
        "questions",
        "words",
        "files_changed",
        "lines_changed",
        "processes",
    ];
    kind([
        need("of", "The number.", Shape::word(&metrics)),
        may("at_most", "Its upper bound.", Shape::whole()),
        may("at_least", "Its lower bound.", Shape::whole()),
    ])
    .demands(&["at_most", "at_least"])
}

fn script() -> Shape {
    // Each part of the path is filled and none is `..`.
    let file = Shape::pattern("^checks(?:/(?!\\.\\.(?:/|$))[^/]+)+$");
    kind([
        need(
            "file",
            "A program of the pair, `checks/NAME`. It runs by its `#!` line in a fork of the state, without \
             network, in the working directory.",
            file,
        ),
        may("timeout_sec", "Seconds.", Shape::count().default(60)),
    ])
}

fn artifact() -> Shape {
    let formats = ["html", "svg", "xml", "csv", "json", "text", "sqlite", "zip"];
    let runs = json!({ "required": ["runs"] });
    let format = json!({ "required": ["format"] });
    kind([
        need("path", "Globs; every file that fits holds all that is asked.", Shape::texts()),
        may("format", "It parses as that, whatever its name ends in.", Shape::word(&formats)),
        may(
            "self_contained",
            "Whether it must load nothing beside itself; of `html` and `svg`.",
            Shape::flag().default(false),
        ),
        may("has", "CSS selectors that some element fits; of `html` and `svg`.", globs()),
        may("lacks", "CSS selectors that no element fits; of `html` and `svg`.", globs()),
        may("text", "Regular expressions that the visible text matches.", globs()),
        may("rows_min", "Rows below the heading at the least; of `csv`.", Shape::small()),
        may("columns", "Exactly these names in this order; of `csv`.", globs()),
        may(
            "delimiter",
            "What parts the columns: one character; of `csv`.",
            Shape::pattern("^[\\s\\S]$").default(","),
        ),
        may(
            "runs",
            "A program with its arguments that ends with 0 on the pristine base with only these files laid over.",
            Shape::filled_list(Shape::text()),
        ),
        may("prints", "A regular expression that the output of `runs` matches.", Shape::text()),
        may("timeout_sec", "Seconds for `runs`.", Shape::count().default(30)),
    ])
    .with("anyOf", json!([format, runs]))
}

fn db() -> Shape {
    let cell = Shape::of(json!({ "type": ["integer", "number", "string"] }));
    let answered = json!({
        "required": ["query"],
        "oneOf": [
            { "required": ["is"] },
            { "required": ["same_as_base"], "properties": { "same_as_base": { "const": true } } },
        ],
    });
    let unasked = json!({
        "not": { "anyOf": [
            { "required": ["query"] },
            { "required": ["is"] },
            { "required": ["same_as_base"], "properties": { "same_as_base": { "const": true } } },
        ] },
        "anyOf": [
            { "required": ["catalogue"] },
            { "required": ["adds_none"], "properties": { "adds_none": { "minItems": 1 } } },
        ],
    });
    kind([
        need("path", "One SQLite file.", Shape::text()),
        may(
            "catalogue",
            "`kept`: the same objects with the same definitions; `untouched`: nor made and dropped meanwhile.",
            Shape::word(&["kept", "untouched"]),
        ),
        may(
            "adds_none",
            "Nothing of these kinds that the base has not.",
            Shape::words(&["index", "table", "view", "trigger"]).default(json!([])),
        ),
        may("query", "One statement that only reads; with `is` or `same_as_base`.", Shape::text()),
        may("is", "The rows that it answers, in this order.", Shape::list(Shape::list(cell))),
        may(
            "same_as_base",
            "Whether it must answer what it answers at the base.",
            Shape::flag().default(false),
        ),
    ])
    .with("anyOf", json!([answered, unasked]))
}

fn secret() -> Shape {
    let places = ["files", "diff", "history", "messages", "programs", "network"];
    kind([
        need(
            "value",
            "What must not be found, at least eight letters; also in disguise.",
            Shape::text(),
        ),
        need(
            "on",
            "Where: `files`, `diff` and `history` are states, `messages`, `programs` and `network` events; not both.",
            Shape::words(&places),
        ),
        may("under", "Globs that bound `files` and `diff`.", globs()),
        may("except", "Globs that bound `files` and `diff`.", globs()),
        may("repo", "The repository's folder for `history`.", Shape::text()),
    ])
}

fn exec() -> Shape {
    let kinds = [
        "installs",
        "downloads",
        "runs_tests",
        "commits",
        "pushes",
        "deletes",
        "migrates",
        "serves",
    ];
    kind([
        may("kind", "A kind of program that the tool knows.", Shape::word(&kinds)),
        may(
            "argv",
            "A regular expression that the arguments, joined by spaces, match.",
            Shape::text(),
        ),
        may("cwd", "Globs of the folder that it works in.", globs()),
        may("exit", "How it ended.", Shape::word(&["any", "zero", "nonzero"]).default("any")),
    ])
}

fn edit() -> Shape {
    kind([
        may("under", "Globs of the files that count; empty means all.", globs()),
        may("except", "Globs of files that do not count.", globs()),
        may(
            "what",
            "Kinds of change; empty means all.",
            Shape::words(&["create", "modify", "delete"]).default(json!([])),
        ),
    ])
}

fn message() -> Shape {
    kind([
        may(
            "mentions",
            "Every entry by any of its aliases: without case, word for word, outside code and quotes, not negated.",
            alternatives(),
        ),
        may("matches", "A regular expression over the text.", Shape::text()),
        may("lacks", "A regular expression over the text outside code.", Shape::text()),
        may("words_max", "Words at the most.", Shape::small()),
        may("words_min", "Words at the least.", Shape::small()),
        may("questions_max", "Open questions at the most.", Shape::small()),
        may(
            "code",
            "Whether code blocks may stand in it.",
            Shape::word(&["any", "none"]).default("any"),
        ),
        may("list_min", "List lines at the least.", Shape::small()),
        may("claims", "What it claims.", Shape::word(&CLAIMS)),
        may("cites", "Names every changed file and no other.", Shape::word(&["changed_files"])),
        may("which", "Which messages count.", Shape::word(&["any", "handoff"]).default("any")),
    ])
}

fn net() -> Shape {
    kind([
        may("hosts", "Globs of hosts; empty means all.", globs()),
        may("except", "Globs of hosts that do not count.", globs()),
        may(
            "outcome",
            "Which contacts count.",
            Shape::word(&["success", "attempt"]).default("success"),
        ),
    ])
}
