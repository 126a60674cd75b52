//! From the files of a release to typed data: [`open_release`] and what it gives, [`LoadedRelease`].

use std::{collections::BTreeMap, path::Path, sync::Arc};

use domain::{
    ids::{PairId, PersonaId, ReleaseId, RequirementId, TaskId},
    release::{
        CheckKind, Counterexample, CounterexampleKind, Pair, Persona, Release, Script, Task,
        lint::{NotePath, suggest},
    },
};

use super::{
    locations::{Location, Locations},
    pair, persona,
    problem::{Problem, Problems},
    script,
    sheet::{Sheet, Table, Value},
    tree::{ReleaseTree, TreeFile},
};
use crate::{
    harbor::Manner,
    layout::{LOCK_FILE, release_files as names},
    lock::{LockState, ReleaseLock},
};

/// A release that was read without a problem.
#[derive(Clone, Debug)]
pub struct LoadedRelease {
    /// The typed release.
    pub release: Release,
    /// The files of each task that go into sandboxes.
    pub tasks: BTreeMap<TaskId, TaskFiles>,
    /// The oracle and check programs of each pair.
    pub pairs: BTreeMap<PairId, PairFiles>,
    /// Every file of the release as it was read.
    pub tree: ReleaseTree,
    /// Names each file with its hash; its digest is the release's.
    pub lock: ReleaseLock,
    /// What an ad-hoc reading did not refuse, in order of file and place.
    pub warnings: Vec<Problem>,
    locations: Locations,
}

/// The files of a task that go into sandboxes, each tree relative to its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFiles {
    /// `environment/` without the Dockerfile.
    pub environment: Vec<TreeFile>,
    /// The text of `environment/Dockerfile`; none if there is none.
    pub dockerfile: Option<Vec<u8>>,
    /// `tests/`.
    pub tests: Vec<TreeFile>,
    /// `solution/`.
    pub solution: Vec<TreeFile>,
    /// Those of its steps, in the order of the task's steps.
    pub steps: Vec<StepFiles>,
}

/// The files of a step that go into sandboxes, each tree relative to its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepFiles {
    /// `steps/<name>/workdir/`, put into the working directory before the step.
    pub workdir: Vec<TreeFile>,
    /// `steps/<name>/tests/`, laid over the task's `tests/`.
    pub tests: Vec<TreeFile>,
    /// `steps/<name>/solution/`.
    pub solution: Vec<TreeFile>,
}

/// What belongs to a pair beside its own file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairFiles {
    /// `oracle.toml`; none if the pair has none.
    pub oracle: Option<Script>,
    /// `checks/`, paths relative to it.
    pub checks: Vec<TreeFile>,
}

/// What is done with a lock that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockUse {
    /// It must agree with the files.
    Check,
    /// It is not looked at, because a new one is to be written.
    Ignore,
}

/// Reads the release in a folder; a lock that is there must agree.
pub fn open_release(folder: &Path) -> Result<LoadedRelease, Problems> {
    open_release_with(folder, LockUse::Check)
}

/// Reads the release in a folder.
pub fn open_release_with(folder: &Path, lock_use: LockUse) -> Result<LoadedRelease, Problems> {
    let mut problems = Problems::default();
    if !folder.is_dir() {
        let message = "there is no such folder";
        let remedy = "name a folder that holds a `release.toml`";
        problems.add_whole_file(folder.to_string_lossy(), message, remedy);
        return Err(problems);
    }
    let tree = ReleaseTree::read(folder, &mut problems);
    if tree.bytes(names::ADHOC).is_some() {
        let message = "only runs hold a file of this name: it marks tasks of others";
        problems.add_whole_file(names::ADHOC, message, "remove it");
    }
    let lock = ReleaseLock::of(&tree);
    let state = match lock_use {
        LockUse::Check => lock.compare_with(&folder.join(LOCK_FILE), &mut problems),
        LockUse::Ignore => LockState::Unlocked,
    };
    assemble(tree, lock, state, problems)
}

/// Reads a release from files that a run keeps; the caller knows whether it was locked.
pub fn open_tree(tree: ReleaseTree, state: LockState) -> Result<LoadedRelease, Problems> {
    let lock = ReleaseLock::of(&tree);
    assemble(tree, lock, state, Problems::default())
}

fn assemble(
    tree: ReleaseTree,
    lock: ReleaseLock,
    state: LockState,
    mut problems: Problems,
) -> Result<LoadedRelease, Problems> {
    let manner = if tree.bytes(names::ADHOC).is_some() { Manner::AdHoc } else { Manner::Release };
    let locations = Locations::default();
    let mut reading = Reading { tree: &tree, problems: &mut problems, manner, locations };
    if manner == Manner::Release {
        reading.refuse_strays();
    }
    let head = reading.sheet(names::RELEASE, "`release.toml`", read_head);
    let personas = reading.personas();
    let (tasks, task_files) = reading.tasks();
    let (pairs, pair_files) = reading.pairs(&tasks);
    let locations = reading.locations;
    let mut warnings = problems.warnings().to_vec();
    warnings.sort_by_cached_key(|warning| {
        let line = warning.spot.as_ref().map(|spot| spot.line);
        (warning.file.clone(), line, warning.message.clone())
    });
    let head = problems.or(head)?;
    let release = Release {
        id: head.id,
        version: head.version,
        canary: head.canary,
        digest: lock.digest(),
        locked: state == LockState::Locked,
        personas,
        tasks,
        pairs,
    };
    let (tasks, pairs) = (task_files, pair_files);
    Ok(LoadedRelease { release, tasks, pairs, tree, lock, warnings, locations })
}

impl LoadedRelease {
    /// Where a lint's note points to: file, line and column.
    pub fn locate(&self, path: &NotePath) -> Location {
        let (file, keys) = match path {
            NotePath::Release(key) => (names::RELEASE.to_owned(), key.clone()),
            NotePath::Persona(id, key) => (names::persona(id.as_str()), key.clone()),
            NotePath::Task(id, key) => (names::task_toml(id.as_str()), key.clone()),
            NotePath::Pair(id, key) => (names::pair_toml(id.as_str()), key.clone()),
            NotePath::Check(pair, check, key) => {
                (names::pair_toml(pair.as_str()), joined(&format!("check.{check}"), key))
            }
            NotePath::Requirement(pair, id, key) => {
                (names::pair_toml(pair.as_str()), joined(&format!("requirement.{id}"), key))
            }
        };
        self.locations.find(&self.tree, &file, &keys)
    }

    /// What declares a pair, as its author wrote it.
    pub fn pair_source(&self, id: &PairId) -> Option<String> {
        let bytes = self.tree.bytes(&names::pair_toml(id.as_str()))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// A file of a task as its environment brings it, by its absolute path below the working directory. The
    /// environment's setup may put something else there.
    pub fn environment_file(&self, task: &TaskId, path: &str) -> Option<&[u8]> {
        let workdir = &self.release.tasks.get(task)?.environment.workdir;
        let below = path.strip_prefix(workdir.as_str())?.trim_start_matches('/');
        let files = &self.tasks.get(task)?.environment;
        let found = files.iter().find(|file| file.path.strip_prefix("files/") == Some(below));
        found.map(|file| &file.content[..])
    }
}

fn joined(table: &str, key: &str) -> String {
    if key.is_empty() { table.to_owned() } else { format!("{table}.{key}") }
}

pub(super) struct Head {
    id: ReleaseId,
    version: String,
    canary: String,
}

pub(super) fn read_head(root: Table<'_>) -> Option<Head> {
    let id = root.req("id", Value::filled_text);
    let version = root.req("version", Value::filled_text);
    let canary = root.req("canary", Value::filled_text);
    root.finish();
    Some(Head { id: ReleaseId::new(id?), version: version?, canary: canary? })
}

/// The state of reading one release.
pub(super) struct Reading<'r> {
    pub(super) tree: &'r ReleaseTree,
    pub(super) problems: &'r mut Problems,
    pub(super) manner: Manner,
    locations: Locations,
}

impl Reading<'_> {
    /// The text of a file; that it is missing or no text is a problem.
    pub(super) fn text(&mut self, file: &str) -> Option<Arc<str>> {
        let Some(bytes) = self.tree.bytes(file) else {
            self.problems.add_whole_file(file, "the file is missing", "add it");
            return None;
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => Some(Arc::from(text)),
            Err(error) => {
                let message = format!("byte {} is no UTF-8", error.valid_up_to());
                self.problems.add_whole_file(file, message, "save the file as UTF-8");
                None
            }
        }
    }

    /// Reads one TOML file and remembers where its keys stand.
    pub(super) fn sheet<T>(
        &mut self,
        file: &str,
        what: &str,
        read: impl FnOnce(Table<'_>) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(file)?;
        let sheet = Sheet::new(file, &text).with_unknown_keys(self.manner.unknown_keys());
        let value = sheet.read(what, read);
        let spans = sheet.finish(self.problems);
        self.locations.add(file, spans);
        value
    }

    /// Says that `key` of a file does not fit the file's own name.
    fn misnamed(&mut self, file: &str, expected: &str, found: &str) {
        let message = format!("the id is `{found}`, the name says `{expected}`");
        let location = self.locations.find(self.tree, file, "id");
        if let Some(bytes) = self.tree.bytes(file) {
            self.problems.add_source(file, &String::from_utf8_lossy(bytes));
        }
        self.problems.add(Problem {
            file: file.to_owned(),
            spot: location.spot,
            message,
            remedy: "let both say the same".to_owned(),
        });
    }

    fn personas(&mut self) -> BTreeMap<PersonaId, Persona> {
        let mut personas = BTreeMap::new();
        for name in self.toml_names(names::PERSONAS) {
            let file = names::persona(&name);
            let Some(persona) = self.sheet(&file, "a persona", persona::read) else { continue };
            if persona.id.as_str() != name {
                self.misnamed(&file, &name, persona.id.as_str());
            }
            personas.insert(persona.id.clone(), persona);
        }
        personas
    }

    fn pairs(
        &mut self,
        tasks: &BTreeMap<TaskId, Task>,
    ) -> (BTreeMap<PairId, Pair>, BTreeMap<PairId, PairFiles>) {
        let (mut pairs, mut files) = (BTreeMap::new(), BTreeMap::new());
        for name in self.tree.folders(names::PAIRS) {
            let file = names::pair_toml(&name);
            let pair = self.sheet(&file, "a pair", pair::read);
            let found = self.pair_files(&name, pair.as_ref());
            let counterexamples = self.counterexamples(&name, pair.as_ref());
            let Some(mut pair) = pair else { continue };
            pair.counterexamples = counterexamples;
            if pair.id.as_str() != name {
                self.misnamed(&file, &name, pair.id.as_str());
            }
            if let (true, Some(task)) = (pair.completion.paths.is_empty(), tasks.get(&pair.task)) {
                pair.completion.paths = vec![task.environment.workdir.clone()];
            }
            files.insert(pair.id.clone(), found);
            pairs.insert(pair.id.clone(), pair);
        }
        (pairs, files)
    }

    fn pair_files(&mut self, name: &str, pair: Option<&Pair>) -> PairFiles {
        let oracle = names::pair_file(name, "oracle.toml");
        let has_oracle = self.tree.bytes(&oracle).is_some();
        let files = PairFiles {
            oracle: has_oracle.then(|| self.sheet(&oracle, "a script", script::read)).flatten(),
            checks: self.tree.below(&names::pair_file(name, "checks/")),
        };
        if let Some(pair) = pair {
            self.check_programs(name, pair, &files.checks);
        }
        files
    }

    /// The scripts that must fail a requirement; each file is named after it.
    fn counterexamples(&mut self, name: &str, pair: Option<&Pair>) -> Vec<Counterexample> {
        let mut found = Vec::new();
        for kind in CounterexampleKind::ALL {
            let folder = names::pair_file(name, names::counterexamples(kind));
            for requirement in self.toml_names(&folder) {
                let file = format!("{folder}{requirement}.toml");
                let script = self.sheet(&file, "a script", script::read);
                let requirement = RequirementId::new(requirement);
                if let Some(pair) = pair.filter(|pair| pair.requirement(&requirement).is_none()) {
                    let known = pair.requirements.iter().map(|known| known.id.as_str());
                    let remedy = suggest::remedy(requirement.as_str(), known);
                    let message = format!("the pair has no requirement `{requirement}`");
                    self.problems.add_whole_file(file, message, remedy);
                }
                found.extend(script.map(|script| Counterexample { kind, requirement, script }));
            }
        }
        found
    }

    /// Every program that a check names must be there.
    fn check_programs(&mut self, name: &str, pair: &Pair, programs: &[TreeFile]) {
        for check in &pair.checks {
            let CheckKind::Script { file, .. } = &check.kind else { continue };
            let found = programs.iter().find(|program| format!("checks/{}", program.path) == *file);
            let message = match found {
                None => format!("the pair's folder holds no `{file}`"),
                Some(program) if !program.content.starts_with(b"#!") => {
                    format!("`{file}` has no first line `#!…`")
                }
                Some(_) => continue,
            };
            let toml = names::pair_toml(name);
            let keys = format!("check.{}.file", check.id);
            let spot = self.locations.find(self.tree, &toml, &keys).spot;
            let known = programs.iter().map(|program| program.path.as_str());
            let remedy = match found {
                None if programs.is_empty() => format!("add `{}`", names::pair_file(name, file)),
                None => suggest::remedy(file.trim_start_matches("checks/"), known),
                Some(_) => {
                    "begin it with its interpreter, for instance `#!/usr/bin/python3`".to_owned()
                }
            };
            if let Some(bytes) = self.tree.bytes(&toml) {
                self.problems.add_source(&toml, &String::from_utf8_lossy(bytes));
            }
            self.problems.add(Problem { file: toml, spot, message, remedy });
        }
    }

    /// Names without ending of the TOML files directly in a folder.
    fn toml_names(&self, folder: &str) -> Vec<String> {
        let files = self.tree.files.range(folder.to_owned()..);
        files
            .map_while(|(path, _)| path.strip_prefix(folder))
            .filter(|name| !name.contains('/'))
            .filter_map(|name| name.strip_suffix(".toml"))
            .map(str::to_owned)
            .collect()
    }

    /// A file at a place where nothing reads it is a slip, so it is refused.
    fn refuse_strays(&mut self) {
        for path in self.tree.files.keys() {
            if let Some(known) = names::known_beside(path) {
                let name = path.rsplit('/').next().unwrap_or(path);
                let remedy = suggest::remedy(name, known.iter().copied());
                let message = "nothing of a release is read from here";
                self.problems.add_whole_file(path.clone(), message, remedy);
            }
        }
    }
}
