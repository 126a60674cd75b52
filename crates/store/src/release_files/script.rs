//! Reads the file of a scripted agent into a [`Script`].

use domain::release::{Script, ScriptBlock, ScriptStep, ScriptWhen, lint::suggest};

use super::{
    expressions::read_class,
    problem::Problems,
    sheet::{Sheet, Table, Value, Variant},
};

const WHENS: [&str; 6] = ["opening", "told", "granted", "refused", "asked", "otherwise"];
const STEPS: [&str; 9] = ["run", "say", "write", "patch", "ask", "solve", "crash", "hang", "idle"];

/// Reads a script; `file` is how problems name it.
pub fn read_script(file: &str, text: &str) -> Result<Script, Problems> {
    let sheet = Sheet::new(file, text);
    let script = sheet.read("a script", read);
    let mut problems = Problems::default();
    sheet.finish(&mut problems);
    problems.or(script)
}

/// Reads a whole script file.
pub(crate) fn read(root: Table<'_>) -> Option<Script> {
    let blocks = root.req("on", |value| {
        let tables = value.tables("[[on]]")?;
        let count = tables.len();
        let blocks: Vec<ScriptBlock> = tables.into_iter().filter_map(read_block).collect();
        (blocks.len() == count).then_some(blocks)
    });
    root.finish();
    Some(Script { blocks: blocks? })
}

fn read_block(table: Table<'_>) -> Option<ScriptBlock> {
    let when = table.req("when", read_when);
    let steps = table.req("do", |value| {
        let list = value.list()?;
        let count = list.len();
        let steps: Vec<ScriptStep> = list.iter().filter_map(read_step).collect();
        (steps.len() == count).then_some(steps)
    });
    table.finish();
    Some(ScriptBlock { when: when?, steps: steps? })
}

fn read_when(value: &Value<'_>) -> Option<ScriptWhen> {
    match value.variant(&WHENS)? {
        Variant::Tagged(key, inner) if key == "told" => {
            Some(ScriptWhen::Told(inner.filled_text()?))
        }
        Variant::Tagged(key, inner) if key == "granted" => {
            Some(ScriptWhen::Granted(read_class(&inner)?))
        }
        Variant::Unit(word) => match word.as_str() {
            "opening" => Some(ScriptWhen::Opening),
            "refused" => Some(ScriptWhen::Refused),
            "asked" => Some(ScriptWhen::Asked),
            "otherwise" => Some(ScriptWhen::Otherwise),
            "told" | "granted" => {
                let message = format!("`{word}` needs a value");
                value.problem(message, format!("write `{{ {word} = \"…\" }}`"));
                None
            }
            other => {
                value.unknown_word(other, WHENS);
                None
            }
        },
        Variant::Tagged(other, _) => {
            value.unknown_word(&other, WHENS);
            None
        }
    }
}

fn read_step(value: &Value<'_>) -> Option<ScriptStep> {
    let (key, inner) = match value.variant(&STEPS)? {
        Variant::Unit(word) => return read_unit_step(value, &word),
        Variant::Tagged(key, inner) => (key, inner),
    };
    Some(match key.as_str() {
        "run" => ScriptStep::Run(inner.filled_text()?),
        "say" => ScriptStep::Say(inner.filled_text()?),
        "patch" => ScriptStep::Patch(inner.filled_text()?),
        "ask" => ScriptStep::Ask(inner.filled_text()?),
        "write" => {
            let table = inner.table("`write`")?;
            let path = table.req("path", Value::filled_text);
            let text = table.req("text", Value::text);
            table.finish();
            ScriptStep::Write { path: path?, text: text? }
        }
        unit @ ("solve" | "crash" | "hang" | "idle") => {
            value.problem(format!("`{unit}` has no settings"), format!("write \"{unit}\""));
            return None;
        }
        other => {
            value.problem(format!("unknown step `{other}`"), suggest::remedy(other, STEPS));
            return None;
        }
    })
}

fn read_unit_step(value: &Value<'_>, word: &str) -> Option<ScriptStep> {
    match word {
        "solve" => Some(ScriptStep::Solve),
        "crash" => Some(ScriptStep::Crash),
        "hang" => Some(ScriptStep::Hang),
        "idle" => Some(ScriptStep::Idle),
        other if STEPS.contains(&other) => {
            let message = format!("the step `{other}` needs a value");
            value.problem(message, format!("write `{{ {other} = … }}`"));
            None
        }
        other => {
            value.problem(format!("unknown step `{other}`"), suggest::remedy(other, STEPS));
            None
        }
    }
}
