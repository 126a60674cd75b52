//! Reads the file of a preset ([`read`]).

use std::collections::BTreeMap;

use domain::evidence::WireFormat;
use serde::Deserialize;
use thiserror::Error;

use super::{Manner, Preset, PresetDriver, Recipe, SPANS, ShellCall};
use crate::{
    agents::placeholders::{Fillable, UnknownPlace},
    sandboxes::layer::{AGENT_FOLDER, AGENT_HOME},
};

/// Why a preset cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("preset {name}: {problem}")]
pub struct PresetError {
    /// Which one.
    pub name: String,
    /// What is wrong with it.
    pub problem: PresetProblem,
}

/// What is wrong with a preset.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PresetProblem {
    /// It is no such TOML.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A word that must be one of a list.
    #[error("`{key} = \"{found}\"`: expected one of {expected}")]
    Word {
        /// The key.
        key: &'static str,
        /// What stands there.
        found: String,
        /// What may.
        expected: String,
    },
    /// A value with a placeholder that there is not.
    #[error("`{key}`: {why}")]
    Place {
        /// The variable.
        key: String,
        /// Which placeholder.
        why: UnknownPlace,
    },
    /// Nothing to start.
    #[error("`command` is empty")]
    NoCommand,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    what: String,
    driver: String,
    command: Vec<String>,
    form: String,
    usage: String,
    needs: String,
    npm: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    bypass: WrittenManner,
    asking: Option<WrittenManner>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenManner {
    mode: Option<String>,
    options: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    shell: Option<ShellCall>,
}

/// Reads a preset and npm's lock of its packages. `{agent}` and `{home}` stand for its folders inside.
pub(super) fn read(name: &str, text: &str, lock: &str) -> Result<Preset, PresetError> {
    parsed(name, text, lock).map_err(|problem| PresetError { name: name.to_owned(), problem })
}

fn parsed(name: &str, text: &str, lock: &str) -> Result<Preset, PresetProblem> {
    let written: Written = toml::from_str(text)?;
    let drivers = [PresetDriver::Acp].map(|driver| (driver.name(), driver));
    let formats = WireFormat::ALL.map(|format| (format.name(), format));
    if written.command.is_empty() {
        return Err(PresetProblem::NoCommand);
    }
    Ok(Preset {
        name: name.to_owned(),
        what: written.what,
        driver: word("driver", &written.driver, &drivers)?,
        command: written.command.iter().map(|word| placed(word)).collect(),
        form: word("form", &written.form, &formats)?,
        usage: word("usage", &written.usage, &SPANS)?,
        needs: written.needs,
        recipe: Recipe { npm: written.npm, npm_lock: lock.to_owned(), files: written.files },
        env: fillable(written.env)?,
        bypass: manner(written.bypass)?,
        asking: written.asking.map(manner).transpose()?,
    })
}

fn word<T: Copy>(key: &'static str, found: &str, known: &[(&str, T)]) -> Result<T, PresetProblem> {
    let one = known.iter().find_map(|(name, one)| (*name == found).then_some(*one));
    one.ok_or_else(|| {
        let expected: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        PresetProblem::Word { key, found: found.to_owned(), expected: expected.join(", ") }
    })
}

fn manner(written: WrittenManner) -> Result<Manner, PresetProblem> {
    let WrittenManner { mode, options, env, shell } = written;
    Ok(Manner { mode, options, env: fillable(env)?, shell })
}

fn fillable(env: BTreeMap<String, String>) -> Result<BTreeMap<String, Fillable>, PresetProblem> {
    let read = |(key, value): (String, String)| match Fillable::parse(&placed(&value)) {
        Ok(value) => Ok((key, value)),
        Err(why) => Err(PresetProblem::Place { key, why }),
    };
    env.into_iter().map(read).collect()
}

/// A text with the agent's own folders in their places.
fn placed(text: &str) -> String {
    text.replace("{agent}", AGENT_FOLDER).replace("{home}", AGENT_HOME)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "what = \"w\"\ndriver = \"acp\"\ncommand = [\"{agent}/x\"]\n\
        form = \"gemini\"\nusage = \"none\"\nneeds = \"\"\nnpm = {}\n";

    fn check(text: &str, expect: Result<(), &str>) {
        let read = read("mine", text, "{}").map(drop).map_err(|error| error.to_string());
        match (&read, expect) {
            (Ok(()), Ok(())) => {}
            (Err(told), Err(part)) if told.starts_with("preset mine: ") && told.contains(part) => {}
            _ => panic!("{text}: {read:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        check(GOOD, Ok(()));
        check(&format!("{GOOD}[env]\nA = \"{{home}}/{{model}}\""), Ok(()));
        check("what = \"w\"", Err("missing field"));
        check(&format!("{GOOD}speed = 9"), Err("unknown field `speed`"));
        let check_word = |from: &str, to: &str, expect: &str| {
            check(&GOOD.replace(from, to), Err(expect));
        };
        check_word("\"acp\"", "\"tui\"", "`driver = \"tui\"`: expected one of acp");
        check_word("\"gemini\"", "\"x\"", "expected one of openai_chat");
        check_word("\"none\"", "\"x\"", "expected one of turn");
        check_word("[\"{agent}/x\"]", "[]", "`command` is empty");
        check(&format!("{GOOD}[env]\nA = \"{{host}}\""), Err("`A`: no placeholder {host}"));
        check(&format!("{GOOD}[asking.env]\nA = \"{{host}}\""), Err("`A`: no placeholder {host}"));
    }
}
