//! JSON Schemas (2020-12) of the files that authors write. They are written down apart from the reader, which names
//! what is wrong better than a schema can; the tests beside them hold that both accept the same.

mod checks;
mod expressions;
mod pair;
mod persona;
mod release;
mod requirement;
mod script;
mod shape;
mod task;
#[cfg(test)]
mod tests;

use crate::schema::Format;

/// The formats of a release's files.
pub(crate) fn formats() -> Vec<Format> {
    let format = |name, files, schema| Format { name, files, schema };
    vec![
        format("release", "release.toml", release::schema()),
        format("persona", "personas/ID.toml", persona::schema()),
        format(
            "task",
            "tasks/TASK/task.toml: the part of Harbor's that is supported",
            task::schema(),
        ),
        format("pair", "pairs/PAIR/pair.toml", pair::schema()),
        format(
            "script",
            "oracle.toml, saboteurs/, evaders/, liars/, and agents of your own",
            script::schema(),
        ),
        format("lock", "release.lock, as one text", release::lock()),
    ]
}
