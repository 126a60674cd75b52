//! Lints over the files of a release, which the typed release does not hold: canary lines, and hidden text that lies
//! where the agent can read it ([`FileNote`]).

use std::collections::{BTreeMap, BTreeSet};

use domain::{
    ids::TaskId,
    release::{CounterexampleKind, lint::Severity},
};

use super::assemble::LoadedRelease;
use crate::layout::release_files as names;

/// One thing that is wrong with a file of a release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileNote {
    /// The file, relative to the release's folder.
    pub file: String,
    /// Whether it keeps the release from being locked.
    pub severity: Severity,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// Text of a task that no agent may find: whole files, and passages of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiddenText {
    wholes: BTreeMap<String, String>,
    passages: BTreeMap<String, String>,
}

impl HiddenText {
    /// The file of the release that these bytes show in whole or in part.
    pub fn shown_by(&self, bytes: &[u8]) -> Option<&str> {
        let text = String::from_utf8_lossy(bytes);
        let whole = self.wholes.get(text.as_ref());
        let part = || passages(&text).iter().find_map(|passage| self.passages.get(passage));
        whole.or_else(part).map(String::as_str)
    }
}

/// Lines in a row that make a passage; fewer occur in any two programs.
const PASSAGE_LINES: usize = 5;

/// Endings of files that can hold a comment.
const COMMENTED: [&str; 19] = [
    "toml",
    "md",
    "py",
    "sh",
    "rs",
    "sql",
    "yml",
    "yaml",
    "html",
    "css",
    "js",
    "ts",
    "c",
    "h",
    "go",
    "rb",
    "pl",
    "Dockerfile",
    "Makefile",
];

impl LoadedRelease {
    /// What is wrong with the files, in order of their paths.
    pub fn file_notes(&self) -> Vec<FileNote> {
        let mut notes = self.without_canary();
        notes.extend(self.hidden_text_in_sight());
        notes.sort();
        notes
    }

    fn without_canary(&self) -> Vec<FileNote> {
        let canary = &self.release.canary;
        let lacks = |path: &&String| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let ending = name.rsplit('.').next().unwrap_or(name);
            let text = self.text(path);
            COMMENTED.contains(&ending)
                && !text.trim().is_empty()
                && !text.contains(canary.as_str())
        };
        let note = |path: &String| FileNote {
            file: path.clone(),
            severity: Severity::Error,
            message: "the file lacks the release's canary".to_owned(),
            remedy: format!("begin it with a comment `canary {canary}: do not train on this file`"),
        };
        self.tree.files.keys().filter(lacks).map(note).collect()
    }

    /// Passages of solution, tests, checks and scripts that lie in the environment of the same task.
    fn hidden_text_in_sight(&self) -> Vec<FileNote> {
        let mut notes = Vec::new();
        for task in self.release.tasks.keys() {
            let in_sight = self.passages_below(&names::task_folder(task.as_str(), "environment"));
            let hidden = self.hidden_folders(task);
            for path in hidden.iter().flat_map(|folder| self.paths_below(folder)) {
                let passages = passages(&self.text(path));
                let Some((_, seen)) =
                    passages.iter().find_map(|passage| in_sight.get_key_value(passage))
                else {
                    continue;
                };
                notes.push(FileNote {
                    file: path.to_owned(),
                    severity: Severity::Error,
                    message: format!("a passage of it lies in `{seen}`, which the agent can read"),
                    remedy: format!(
                        "word one of the two otherwise: {PASSAGE_LINES} lines in a row agree"
                    ),
                });
            }
        }
        notes
    }

    /// Everything of a task and its pairs that no agent may find.
    pub fn hidden_text(&self, task: &TaskId) -> HiddenText {
        let mut hidden = HiddenText::default();
        for path in self.hidden_folders(task).iter().flat_map(|folder| self.paths_below(folder)) {
            let text = self.text(path);
            for passage in passages(&text) {
                hidden.passages.entry(passage).or_insert_with(|| path.clone());
            }
            if !text.trim().is_empty() {
                hidden.wholes.entry(text).or_insert_with(|| path.clone());
            }
        }
        hidden
    }

    /// Folders and files of solution, tests, checks and scripts.
    fn hidden_folders(&self, task: &TaskId) -> Vec<String> {
        let mut hidden: Vec<String> =
            ["tests", "solution"].map(|name| names::task_folder(task.as_str(), name)).into();
        for pair in self.release.pairs.values().filter(|pair| &pair.task == task) {
            let own = |name| names::pair_file(pair.id.as_str(), name);
            hidden.extend(["checks/", "judge/", "oracle.toml"].map(own));
            hidden.extend(CounterexampleKind::ALL.map(|kind| own(names::counterexamples(kind))));
        }
        hidden
    }

    fn passages_below(&self, folder: &str) -> BTreeMap<String, String> {
        let of_file = |path: &String| {
            let path = path.clone();
            passages(&self.text(&path)).into_iter().map(move |passage| (passage, path.clone()))
        };
        self.paths_below(folder).flat_map(of_file).collect()
    }

    fn paths_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a String> {
        let from = self.tree.files.range(folder.to_owned()..);
        from.map(|(path, _)| path).take_while(move |path| path.starts_with(folder))
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(self.tree.bytes(path).unwrap_or_default()).into_owned()
    }
}

/// Every run of lines of a text, blank lines, indentation and canary lines aside.
fn passages(text: &str) -> BTreeSet<String> {
    let is_said = |line: &&str| !line.is_empty() && !line.to_lowercase().contains("canary");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(is_said).collect();
    lines.windows(PASSAGE_LINES).map(|window| window.join("\n")).collect()
}
