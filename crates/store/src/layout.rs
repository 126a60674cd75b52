//! The only place that spells file names: those of a run directory ([`RunLayout`], [`AttemptLayout`]) and of a release.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use domain::{
    ids::{Attempt, PairId, Repeat, StepId},
    release::CounterexampleKind,
};

/// The lock of a release, in its folder.
pub const LOCK_FILE: &str = "release.lock";

/// Whether a folder holds a task in Harbor's layout.
pub fn is_task(folder: &Path) -> bool {
    folder.join("task.toml").is_file()
}

/// Whether a folder is that of a release.
pub fn is_release(folder: &Path) -> bool {
    folder.join(release_files::RELEASE).is_file()
}

/// Paths within a release, with forward slashes.
pub(crate) mod release_files {
    use super::{CounterexampleKind, StepId};

    pub(crate) const RELEASE: &str = "release.toml";
    pub(crate) const PERSONAS: &str = "personas/";
    pub(crate) const TASKS: &str = "tasks/";
    pub(crate) const PAIRS: &str = "pairs/";
    pub(crate) const PAIR: &str = "pair.toml";
    pub(crate) const ORACLE: &str = "oracle.toml";
    /// Marks the files of an ad-hoc run: its tasks are somebody else's.
    pub(crate) const ADHOC: &str = "adhoc.toml";

    pub(crate) fn persona(id: &str) -> String {
        format!("{PERSONAS}{id}.toml")
    }

    pub(crate) fn task_toml(task: &str) -> String {
        format!("{TASKS}{task}/task.toml")
    }

    /// A folder of a task, with the slash.
    pub(crate) fn task_folder(task: &str, folder: &str) -> String {
        format!("{TASKS}{task}/{folder}/")
    }

    /// A file of a task by its path within the task's folder.
    pub(crate) fn task_file(task: &str, path: &str) -> String {
        format!("{TASKS}{task}/{path}")
    }

    /// A path within the folder of a step, relative to the task's folder.
    pub(crate) fn step(step: &StepId, path: &str) -> String {
        format!("steps/{step}/{path}")
    }

    pub(crate) fn pair_toml(pair: &str) -> String {
        pair_file(pair, PAIR)
    }

    pub(crate) fn pair_file(pair: &str, name: &str) -> String {
        format!("{PAIRS}{pair}/{name}")
    }

    /// The folder of a pair's counterexamples of a kind, with the slash.
    pub(crate) fn counterexamples(kind: CounterexampleKind) -> &'static str {
        match kind {
            CounterexampleKind::Saboteur => "saboteurs/",
            CounterexampleKind::Evader => "evaders/",
            CounterexampleKind::Liar => "liars/",
        }
    }

    /// A counterexample, relative to its pair's folder.
    pub(crate) fn counterexample(kind: CounterexampleKind, requirement: &str) -> String {
        format!("{}{requirement}.toml", counterexamples(kind))
    }

    /// The script of an agent, which may lie anywhere.
    pub(crate) fn script(name: &str) -> String {
        format!("{name}.toml")
    }

    /// What could stand beside a path that nothing reads; none if the path is read or free.
    pub(crate) fn known_beside(path: &str) -> Option<&'static [&'static str]> {
        const ROOT: &[&str] = &["release.toml", "personas/", "tasks/", "pairs/", "README.md"];
        const PERSONA: &[&str] = &["ID.toml"];
        const FOLDER: &[&str] = &["a folder for each"];
        const TASK: &[&str] = &[
            "task.toml",
            "instruction.md",
            "environment/",
            "tests/",
            "solution/",
            "steps/",
            "README.md",
        ];
        const PAIR: &[&str] = &[
            "pair.toml",
            "oracle.toml",
            "saboteurs/",
            "evaders/",
            "liars/",
            "checks/",
            "judge/",
            "README.md",
        ];
        const COUNTEREXAMPLE: &[&str] = &["REQUIREMENT.toml"];
        let is_note = |name: &str| {
            ["README", "LICENSE", "LICENCE", "NOTICE", ".gitignore"]
                .iter()
                .any(|note| name.starts_with(note))
        };
        let parts: Vec<&str> = path.split('/').collect();
        let (is_known, known) = match parts[..] {
            [name] => (name == RELEASE || is_note(name), ROOT),
            ["personas", name] => (name.ends_with(".toml") || is_note(name), PERSONA),
            ["personas", ..] => (false, PERSONA),
            ["tasks" | "pairs", name] => (is_note(name), FOLDER),
            ["tasks", _, name] => {
                (["task.toml", "instruction.md"].contains(&name) || is_note(name), TASK)
            }
            ["tasks", _, folder, ..] => {
                (["environment", "tests", "solution", "steps"].contains(&folder), TASK)
            }
            ["pairs", _, name] => {
                (["pair.toml", "oracle.toml"].contains(&name) || is_note(name), PAIR)
            }
            ["pairs", _, "saboteurs" | "evaders" | "liars", name] => {
                (name.ends_with(".toml"), COUNTEREXAMPLE)
            }
            ["pairs", _, "saboteurs" | "evaders" | "liars", ..] => (false, COUNTEREXAMPLE),
            ["pairs", _, folder, ..] => (["checks", "judge"].contains(&folder), PAIR),
            _ => (false, ROOT),
        };
        (!is_known).then_some(known)
    }
}

/// Paths of one run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLayout {
    root: PathBuf,
}

/// Paths of one attempt within a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptLayout {
    root: PathBuf,
}

impl RunLayout {
    /// The layout of a run's folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The run's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Written last when a run is made: a folder without it is no run.
    pub fn run_file(&self) -> PathBuf {
        self.root.join("run.json")
    }

    /// One session spec a line.
    pub fn plan(&self) -> PathBuf {
        self.root.join("plan.jsonl")
    }

    /// The files of the release by hash.
    pub fn release(&self) -> PathBuf {
        self.root.join("release")
    }

    /// Names and hashes of the files of the release.
    pub fn release_lock(&self) -> PathBuf {
        self.release().join(LOCK_FILE)
    }

    /// Payloads of all logs by hash.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// What can be deleted and made again.
    pub fn derived(&self) -> PathBuf {
        self.root.join("derived")
    }

    /// The folder of all attempts.
    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// One attempt.
    pub fn attempt(&self, pair: &PairId, repeat: Repeat, attempt: Attempt) -> AttemptLayout {
        let repeat = format!("{REPEAT}{repeat}");
        let root = self.sessions().join(pair.as_str()).join(repeat);
        AttemptLayout { root: root.join(format!("{ATTEMPT}{attempt}")) }
    }

    /// The attempts of a repeat that have a folder, in order.
    pub fn attempts(&self, pair: &PairId, repeat: Repeat) -> io::Result<Vec<Attempt>> {
        let folder = self.sessions().join(pair.as_str()).join(format!("{REPEAT}{repeat}"));
        let found = numbered(&folder, ATTEMPT, "")?;
        Ok(found.into_iter().map(Attempt).collect())
    }
}

impl AttemptLayout {
    /// The attempt's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Who works on it.
    pub fn claim(&self) -> PathBuf {
        self.root.join("claim.json")
    }

    /// The truth.
    pub fn log(&self) -> PathBuf {
        self.root.join("log.jsonl")
    }

    /// What the sealed state is made of.
    pub fn seal(&self) -> PathBuf {
        self.root.join("seal.json")
    }

    /// When it ended and what its log then was.
    pub fn end(&self) -> PathBuf {
        self.root.join("end.json")
    }

    /// The log of the nth later grading, from 1.
    pub fn regrade(&self, nth: u32) -> PathBuf {
        self.root.join(format!("{REGRADE}{nth}{LOG_ENDING}"))
    }

    /// The numbers of later gradings that have a file, in order; there may be gaps.
    pub fn regrades(&self) -> io::Result<Vec<u32>> {
        numbered(&self.root, REGRADE, LOG_ENDING)
    }

    /// The agent's own files, opaque to the harness.
    pub fn agent(&self) -> PathBuf {
        self.root.join("agent")
    }
}

/// Whether a pair's id can name a folder; ids of a run that was tampered with may not.
pub(crate) fn is_folder_name(id: &str) -> bool {
    !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\\', '\0'])
}

/// The numbers in the names of a folder that begin and end so, in order; none if there is no folder.
fn numbered(folder: &Path, start: &str, end: &str) -> io::Result<Vec<u32>> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let number = |name: &str| name.strip_prefix(start)?.strip_suffix(end)?.parse::<u32>().ok();
    let mut found = Vec::new();
    for entry in listed {
        found.extend(entry?.file_name().to_str().and_then(number));
    }
    found.sort_unstable();
    Ok(found)
}

const REPEAT: &str = "repeat-";
const ATTEMPT: &str = "attempt-";
const REGRADE: &str = "regrade-";
const LOG_ENDING: &str = ".jsonl";
