//! The tasks of a release, read whole: `task.toml`, instructions, and the files that go into sandboxes.

use std::collections::BTreeMap;

use domain::{
    ids::TaskId,
    release::{Environment, Home, Recipe, Step, StepPlaced, Task},
};

use super::{
    assemble::{Reading, StepFiles, TaskFiles},
    tree::TreeFile,
};
use crate::{
    harbor::{Manner, look_into, read_task_toml, strip_canary},
    layout::release_files as names,
};

const DOCKERFILE: &str = "Dockerfile";
const TEST: &str = "test.sh";
const SOLVE: &str = "solve.sh";
const SETUP: &str = "setup.sh";

impl Reading<'_> {
    /// Every task that can be read, and the files of each.
    pub(super) fn tasks(&mut self) -> (BTreeMap<TaskId, Task>, BTreeMap<TaskId, TaskFiles>) {
        let (mut tasks, mut files) = (BTreeMap::new(), BTreeMap::new());
        for name in self.tree.folders(names::TASKS) {
            let id = TaskId::new(name.clone());
            let manner = self.manner;
            let task = self.sheet(&names::task_toml(&name), "`task.toml`", |root| {
                read_task_toml(root, id.clone(), manner)
            });
            // An instruction is missed only where it is known that there are no steps.
            let is_single = task.as_ref().is_none_or(|task| task.steps.is_empty());
            let statement = if is_single { self.statement(&name, "") } else { Some(String::new()) };
            let Some(mut task) = task else {
                let own = self.task_files(&name, &[]);
                self.scripts(&name, None, &own);
                files.insert(id, own);
                continue;
            };
            let own = self.task_files(&name, &task.steps);
            self.look_into_folders(&name, &mut task);
            let steps = self.steps(&name, &mut task, &own.steps);
            self.scripts(&name, Some(&task), &own);
            files.insert(id.clone(), own);
            if let (Some(statement), Some(())) = (statement, steps) {
                task.statement = statement;
                tasks.insert(id, task);
            }
        }
        (tasks, files)
    }

    /// The instruction of a task, or of its step in a folder below it.
    fn statement(&mut self, task: &str, below: &str) -> Option<String> {
        let file = names::task_file(task, &format!("{below}instruction.md"));
        let text = self.text(&file)?;
        let statement = strip_canary(&text).trim_end().to_owned();
        if statement.is_empty() {
            let remedy = "say in it what is to be done";
            self.problems.add_whole_file(file, "the instruction says nothing", remedy);
            return None;
        }
        Some(statement)
    }

    fn task_files(&self, task: &str, steps: &[Step]) -> TaskFiles {
        let below = |folder: &str| self.tree.below(&names::task_folder(task, folder));
        let (dockerfile, environment): (Vec<_>, Vec<_>) =
            below("environment").into_iter().partition(|file| file.path == DOCKERFILE);
        let of_step = |step: &Step| StepFiles {
            workdir: below(&names::step(&step.name, "workdir")),
            tests: below(&names::step(&step.name, "tests")),
            solution: below(&names::step(&step.name, "solution")),
        };
        TaskFiles {
            environment,
            dockerfile: dockerfile.into_iter().next().map(|file| file.content),
            tests: below("tests"),
            solution: below("solution"),
            steps: steps.iter().map(of_step).collect(),
        }
    }

    /// What environments are made from, by what lies in their folders.
    fn look_into_folders(&mut self, name: &str, task: &mut Task) {
        let manner = self.manner;
        let look = |folder: &str, environment: &mut Environment| {
            let folder = names::task_folder(name, folder);
            let files = self.tree.below(&folder);
            let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            let dockerfile = files.iter().find(|file| file.path == DOCKERFILE);
            let text = dockerfile.map(|file| String::from_utf8_lossy(&file.content));
            look_into(environment, &names, text.as_deref(), manner);
        };
        look("environment", &mut task.environment);
        let recipes = |folder: &str| {
            let mut environment = Environment::default();
            look(folder, &mut environment);
            environment.recipes.retain(|recipe| !matches!(recipe, Recipe::Files | Recipe::Setup));
            environment.recipes
        };
        task.verifier.recipes = recipes("tests");
        for step in &mut task.steps {
            step.verifier.recipes = recipes(&names::step(&step.name, "tests"));
        }
    }

    /// Instructions of the steps, and what each brings along.
    fn steps(&mut self, name: &str, task: &mut Task, files: &[StepFiles]) -> Option<()> {
        let mut all = Some(());
        for (at, (step, own)) in task.steps.iter_mut().zip(files).enumerate() {
            let folder = names::step(&step.name, "");
            match self.statement(name, &folder) {
                Some(statement) => step.statement = statement,
                None => all = None,
            }
            step.placed = match own.workdir.iter().any(|file| file.path == SETUP) {
                true => StepPlaced::FilesAndSetup,
                false if own.workdir.is_empty() => StepPlaced::Nothing,
                false => StepPlaced::Files,
            };
            if at == 0 {
                self.refuse_trajectory(&names::task_file(name, &folder));
            }
        }
        self.refuse_trajectory(&names::task_file(name, ""));
        all
    }

    /// What was said before the first message would be on no record, and no agent could be given it.
    fn refuse_trajectory(&mut self, folder: &str) {
        let file = format!("{folder}trajectory.json");
        if self.manner == Manner::AdHoc && self.tree.bytes(&file).is_some() {
            let message = "Harbor's `trajectory.json`, a conversation that an agent begins with, is not supported";
            let remedy = "leave this task out: without it the agent would not know what was said";
            self.problems.add_whole_file(file, message, remedy);
        }
    }

    /// Scripts that are missing or say nothing of their interpreter; `task` is none where it could not be read.
    fn scripts(&mut self, name: &str, task: Option<&Task>, files: &TaskFiles) {
        let folder = |of: &str| names::task_folder(name, of);
        let tests = "decides whether the task is done";
        if self.manner == Manner::Release {
            let setup = "makes the state that work begins with";
            self.script(&files.environment, &folder("environment"), SETUP, setup);
        }
        let steps = task.map_or(&[][..], |task| &task.steps);
        // An image that a verifier has for itself can hold what lies in no folder.
        let is_placed = |step: Option<&Step>| match task.map(|task| task.verifier_home(step)) {
            Some(Home::Separate(home)) => !home.origin.holds_tests(),
            Some(Home::Shared) | None => true,
        };
        let has_script = |tree: &[TreeFile]| tree.iter().any(|file| file.path == TEST);
        if steps.is_empty() {
            if is_placed(None) || has_script(&files.tests) {
                self.script(&files.tests, &folder("tests"), TEST, tests);
            }
            if self.manner == Manner::Release {
                let solution = "proves that the task can be done";
                self.script(&files.solution, &folder("solution"), SOLVE, solution);
            }
            return;
        }
        for (step, own) in steps.iter().zip(&files.steps) {
            // A step's tests are laid over the task's.
            let laid = own.tests.iter().chain(&files.tests).cloned().collect::<Vec<_>>();
            if is_placed(Some(step)) || has_script(&laid) {
                self.script(&laid, &folder(&names::step(&step.name, "tests")), TEST, tests);
            }
        }
    }

    fn script(&mut self, tree: &[TreeFile], folder: &str, needed: &str, what: &str) {
        let file = format!("{folder}{needed}");
        match tree.iter().find(|file| file.path == needed) {
            None => {
                let remedy = format!("add it: it {what}");
                self.problems.add_whole_file(file, "the file is missing", remedy);
            }
            Some(script) if !script.content.starts_with(b"#!") => {
                let remedy = "begin it with its interpreter, for instance `#!/bin/sh`";
                self.problems.add_whole_file(file, "the script has no first line `#!…`", remedy);
            }
            Some(_) => {}
        }
    }
}
