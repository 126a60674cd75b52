//! How a task of others will be read, key by key: [`read_for_check`].

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use domain::release::Task;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::adhoc::{Completion, open_tasks};
use crate::release_files::{Problem, Problems, Spot, TaskFiles};

/// A task as it will be read.
#[derive(Debug)]
pub struct TaskReading {
    /// Its folder.
    pub folder: PathBuf,
    /// What it was read to; none if it is refused.
    pub task: Option<Task>,
    /// Its files; none if it is refused.
    pub files: Option<TaskFiles>,
    /// Every key of its `task.toml` in order of the file.
    pub keys: Vec<KeyReading>,
    /// What was not refused, though nothing reads it.
    pub warnings: Vec<Problem>,
    /// What is refused.
    pub problems: Problems,
}

/// A key of `task.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReading {
    /// Dotted, entries of arrays by their number from 0.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Its value as it is written, its first line.
    pub value: String,
    /// What becomes of it.
    pub state: KeyState,
}

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It is read.
    Read,
    /// It is free: nothing depends on it.
    Free,
    /// Nobody knows it, or it sets nothing.
    Ignored,
    /// It is refused.
    Refused,
}

impl KeyState {
    /// The word that stands in the output.
    pub fn name(self) -> &'static str {
        match self {
            KeyState::Read => "read",
            KeyState::Free => "free",
            KeyState::Ignored => "ignored",
            KeyState::Refused => "refused",
        }
    }
}

/// Reads one task as `pcb run` would.
pub fn read_for_check(folder: &Path) -> TaskReading {
    let (task, files, warnings, problems) = match open_tasks(folder, &Completion::default()) {
        Ok(loaded) => {
            let task = loaded.release.tasks.into_values().next();
            let files = loaded.tasks.into_values().next();
            (task, files, loaded.warnings, Problems::default())
        }
        Err(problems) => (None, None, problems.warnings().to_vec(), problems),
    };
    let text = fs::read_to_string(folder.join("task.toml")).unwrap_or_default();
    let refused: Vec<Problem> = problems.iter().cloned().collect();
    let keys = keys(&text, &refused, &warnings);
    TaskReading { folder: folder.to_owned(), task, files, keys, warnings, problems }
}

fn keys(text: &str, refused: &[Problem], warnings: &[Problem]) -> Vec<KeyReading> {
    let (root, _) = DeTable::parse_recoverable(text);
    let mut found = Vec::new();
    leaves(root.get_ref(), "", &mut found);
    found.sort_by_key(|(_, key, _)| key.start);
    let inside = |of: &[Problem], key: &Range<usize>, value: &Range<usize>| {
        let spots = of.iter().filter(|one| one.file.ends_with("task.toml"));
        spots
            .filter_map(|one| one.spot.as_ref())
            .any(|spot| [key, value].iter().any(|range| range.contains(&spot.span.start)))
    };
    let reading = |(path, key, value): (String, Range<usize>, Range<usize>)| {
        let state = if inside(refused, &key, &value) {
            KeyState::Refused
        } else if inside(warnings, &key, &value) {
            KeyState::Ignored
        } else if path.starts_with("metadata.") {
            KeyState::Free
        } else {
            KeyState::Read
        };
        let line = Spot::new(text, key).line;
        KeyReading { path, line, value: Spot::new(text, value).snippet, state }
    };
    found.into_iter().map(reading).collect()
}

/// Keys whose values are no tables, each with where it stands and where its value does.
fn leaves(table: &DeTable<'_>, above: &str, found: &mut Vec<(String, Range<usize>, Range<usize>)>) {
    for (key, value) in table {
        let path = format!("{above}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if !inner.is_empty() => {
                leaves(inner, &format!("{path}."), found);
            }
            DeValue::Array(list) if is_of_tables(list) => {
                for (at, entry) in list.iter().enumerate() {
                    if let DeValue::Table(inner) = entry.get_ref() {
                        leaves(inner, &format!("{path}.{at}."), found);
                    }
                }
            }
            _ => found.push((path, key.span(), value.span())),
        }
    }
}

fn is_of_tables(list: &[Spanned<DeValue<'_>>]) -> bool {
    !list.is_empty() && list.iter().all(|entry| entry.get_ref().is_table())
}
