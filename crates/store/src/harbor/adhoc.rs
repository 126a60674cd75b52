//! Tasks of others as a release that is made in memory: [`open_tasks`]. One pair a task, with the neutral user.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use domain::release::VerifyMode;

use super::folder::read_task_folder;
use crate::{
    layout::{is_task, release_files as names},
    lock::LockState,
    release_files::{LoadedRelease, Problem, Problems, ReleaseTree, SourceFile, open_tree},
    skeletons::neutral_persona,
};

/// The reward that counts as completed, and where it is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Its key.
    pub key: String,
    /// The least value, from 0.
    pub at_least: f64,
    /// Where tests run; none means as each task needs it.
    pub verify: Option<VerifyMode>,
}

impl Default for Completion {
    /// Harbor's own: the reward is 1.
    fn default() -> Self {
        Self { key: "reward".to_owned(), at_least: 1.0, verify: None }
    }
}

/// What stands for a canary where nothing is held back from training.
const NO_CANARY: &str = "tasks of others carry their own";

/// Folders of tasks that a path means: itself, or each folder directly in it, in order of their names.
///
/// # Errors
/// The folder cannot be listed.
pub fn task_folders(path: &Path) -> io::Result<Vec<PathBuf>> {
    if is_task(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut folders = Vec::new();
    for entry in fs::read_dir(path)? {
        folders.push(entry?.path());
    }
    folders.retain(|folder| is_task(folder));
    folders.sort();
    Ok(folders)
}

/// Reads every task that a path means into a release whose pairs have the neutral user. What was found wrong names
/// each file by its task's folder, as it lies below `tasks/` of the release.
///
/// # Errors
/// Everything that keeps a task from being read as its author means it.
pub fn open_tasks(path: &Path, completion: &Completion) -> Result<LoadedRelease, Problems> {
    let mut problems = Problems::default();
    let folders = match task_folders(path) {
        Ok(folders) => folders,
        Err(error) => {
            problems.add_whole_file(path.to_string_lossy(), error.to_string(), "name a folder");
            Vec::new()
        }
    };
    if folders.is_empty() && problems.is_empty() {
        let remedy = "name a folder that holds a `task.toml`, or one of such folders";
        problems.add_whole_file(path.to_string_lossy(), "no task lies there", remedy);
    }
    let mut files = BTreeMap::new();
    let id = format!("adhoc-{}", name_of(path));
    files.insert(names::RELEASE.to_owned(), text(head(&id)));
    files.insert(names::ADHOC.to_owned(), text(MARK.to_owned()));
    files.insert(names::persona("neutral"), text(neutral_persona(NO_CANARY)));
    for folder in folders {
        let name = name_of(&folder);
        let mut own = Problems::default();
        for (path, file) in read_task_folder(&folder, &mut own) {
            files.insert(names::task_file(&name, &path), file);
        }
        for found in own.iter() {
            let file = names::task_file(&name, &found.file);
            problems.add(Problem { file, ..found.clone() });
        }
        let verify = completion.verify.unwrap_or_else(|| needed(&name, &files));
        files.insert(names::pair_toml(&name), text(pair(&id, &name, completion, verify)));
        let has_solution = files.keys().any(|path| {
            path.starts_with(&names::task_file(&name, "")) && path.ends_with("solution/solve.sh")
        });
        if has_solution {
            files.insert(names::pair_file(&name, names::ORACLE), text(ORACLE.to_owned()));
        }
    }
    if !problems.is_empty() {
        return Err(problems.sorted());
    }
    open_tree(ReleaseTree { files }, LockState::Unlocked)
}

const MARK: &str = "# The tasks of this release are somebody else's, read as they are.\n";

/// Runs the solution and hands the work over.
const ORACLE: &str = "[[on]]\nwhen = \"otherwise\"\ndo   = [{ say = \"The work is done.\" }]\n";

fn text(text: String) -> SourceFile {
    SourceFile { bytes: text.into_bytes().into(), is_executable: false }
}

/// The name of a folder, of which every character can stand in a path.
fn name_of(folder: &Path) -> String {
    let real = fs::canonicalize(folder);
    let name = real.as_deref().unwrap_or(folder).file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    name.trim_start_matches('.').to_owned()
}

fn head(id: &str) -> String {
    format!("id = {}\nversion = \"0\"\ncanary = {}\n", quoted(id), quoted(NO_CANARY))
}

/// A task that says when its environment is healthy, or names services, needs what runs in it while it is verified; one
/// whose tests have an environment of their own only where commands are run in the agent's before. A task that cannot be
/// read is refused elsewhere; steps are verified on copies, in which nothing runs.
fn needed(task: &str, files: &BTreeMap<String, SourceFile>) -> VerifyMode {
    let own = |path: &str| files.get(&names::task_file(task, path));
    let toml = own("task.toml").and_then(|file| std::str::from_utf8(&file.bytes).ok());
    let toml = toml.and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
    let at = |table: &str, key: &str| toml.get(table).and_then(|table| table.get(key));
    let is_filled = |value: Option<&toml::Value>| {
        value.and_then(toml::Value::as_array).is_some_and(|list| !list.is_empty())
    };
    let runs_something = at("environment", "healthcheck").is_some()
        || own("environment/docker-compose.yaml").is_some();
    let mode = at("verifier", "environment_mode").and_then(toml::Value::as_str);
    let is_separate = mode == Some("separate") || at("verifier", "environment").is_some();
    let is_in_agents = !is_separate || is_filled(at("verifier", "collect"));
    match runs_something && is_in_agents && !is_filled(toml.get("steps")) {
        true => VerifyMode::Live,
        false => VerifyMode::Fresh,
    }
}

/// A whole root is verified: nothing of a foreign task says which paths matter.
fn pair(release: &str, task: &str, completion: &Completion, verify: VerifyMode) -> String {
    format!(
        "id = {task}\nsuite = {release}\npersona = \"neutral\"\ntask = {task}\n\n\
         [completion]\nkey = {key}\nat_least = {at_least:?}\nverify = {verify}\npaths = [\"/\"]\n",
        verify = quoted(verify.name()),
        task = quoted(task),
        release = quoted(release),
        key = quoted(&completion.key),
        at_least = completion.at_least,
    )
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
