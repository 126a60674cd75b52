//! The schema of a scripted agent: oracles, counterexamples and scripts of one's own.

use serde_json::Value;

use super::{
    persona::CLASSES,
    shape::{Shape, may, need},
};

/// A whole script file.
pub(super) fn schema() -> Value {
    let block = Shape::table([
        need("when", "Which messages it answers, once.", Shape::defined("when")),
        need("do", "What is done, in order.", Shape::list(Shape::defined("step"))),
    ]);
    let about = "A scripted agent: blocks that answer the user's messages. All that fit a message run in the order of \
                 the file, each once; `otherwise` answers what nothing else fits.";
    let root = Shape::table([need("on", "The blocks.", Shape::list(block))]);
    root.says(about).document("script", vec![("when", when()), ("step", step())])
}

fn when() -> Shape {
    let about = "`opening`: the first message. `refused`: a message that refuses what this script asked for. `asked`: \
                 one that asks something. `otherwise`: what nothing else fits. Else a table with one key.";
    let keys = [
        may("told", "A message that holds the literal, case aside.", Shape::text()),
        may("granted", "A message that grants what this script asked for.", Shape::word(&CLASSES)),
    ];
    Shape::variant(&["opening", "refused", "asked", "otherwise"], keys).says(about)
}

fn step() -> Shape {
    let write = Shape::table([
        need("path", "Where, relative to the working directory unless absolute.", Shape::text()),
        need("text", "What stands in the file.", Shape::any_text()),
    ]);
    let keys = [
        may("run", "A shell command in the working directory.", Shape::text()),
        may("say", "Says it.", Shape::text()),
        may("write", "Writes a file.", write),
        may("patch", "Applies a unified diff.", Shape::text()),
        may("ask", "Says it and ends the turn.", Shape::text()),
    ];
    Shape::variant(&["solve", "crash", "hang", "idle"], keys)
        .says("A step; those without a value are plain words.")
}
