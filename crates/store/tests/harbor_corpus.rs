//! Small tasks of every schema version, and of what is legacy, misplaced or wrong in the ways that are met, each read as
//! `harbor/corpus.toml` says.

use std::{collections::BTreeMap, fs, path::Path};

use domain::release::{Home, Step, Task};
use serde::{Deserialize, Serialize};
use store::harbor::adhoc::{Completion, open_tasks, task_folders};

/// How a task is read.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Reading {
    /// What it was read to; empty if it is refused.
    #[serde(skip_serializing_if = "String::is_empty")]
    read: String,
    /// What was not refused, though nothing reads it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// What is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    /// What the local sandbox lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    local: Vec<String>,
    /// What containers lack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    docker: Vec<String>,
}

fn reading(folder: &Path) -> Reading {
    match open_tasks(folder, &Completion::default()) {
        Ok(loaded) => {
            let task = loaded.release.tasks.values().next().expect("a task");
            let pair = loaded.release.pairs.values().next().expect("a pair");
            let lacks =
                |sandbox| task.unsupported_by(sandbox).into_iter().map(|lack| lack.what).collect();
            Reading {
                read: format!("{} · verified {}", shown(task), pair.completion.verify.name()),
                warnings: loaded.warnings.iter().map(|one| one.message.clone()).collect(),
                refused: Vec::new(),
                local: lacks("local"),
                docker: lacks("docker"),
            }
        }
        Err(problems) => Reading {
            warnings: problems.warnings().iter().map(|one| one.message.clone()).collect(),
            refused: problems.iter().map(|one| one.message.clone()).collect(),
            ..Reading::default()
        },
    }
}

/// What depends on more than one key, or has a default that differs from Harbor's.
fn shown(task: &Task) -> String {
    let environment = &task.environment;
    let limit = |limit: Option<String>| limit.unwrap_or_else(|| "any".to_owned());
    let mut parts = vec![
        format!("cpus {}", limit(environment.cpus.map(|cpus| cpus.to_string()))),
        format!("memory {}", limit(environment.memory_mb.map(|mb| mb.to_string()))),
        format!("storage {}", limit(environment.storage_mb.map(|mb| mb.to_string()))),
        format!("network {}", task.agent_network().name()),
        format!("workdir {} by {:?}", environment.workdir, environment.workdir_said_by),
        format!("says {:?}", task.statement),
    ];
    parts.extend(task.verifications().into_iter().map(|step| verification(task, step)));
    parts.join(" · ")
}

fn verification(task: &Task, step: Option<&Step>) -> String {
    let home = match task.verifier_home(step) {
        Home::Shared => "shared".to_owned(),
        Home::Separate(home) => format!("{:?}", home.origin),
    };
    let taken = task.artifacts_after(step).into_iter().map(|artifact| artifact.source);
    let hooks = task.collect_hooks(step).map(|hook| hook.command.clone());
    let name = step.map_or("tests", |step| step.name.as_str());
    let taken = hooks.map(|hook| format!("({hook})")).chain(taken).collect::<Vec<_>>();
    format!("{name} {home} takes {}", taken.join(", "))
}

#[test]
fn each_task_is_read_as_the_corpus_says() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harbor");
    let text = fs::read_to_string(corpus.join("corpus.toml")).expect("the corpus");
    let expected: BTreeMap<String, Reading> = toml::from_str(&text).expect("readings");
    let mut found = BTreeMap::new();
    for folder in task_folders(&corpus).expect("a folder") {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        found.insert(name, reading(&folder));
    }
    assert!(found.len() > 20, "{}", found.len());
    for (name, reading) in &found {
        let as_found = toml::to_string(reading).expect("TOML");
        assert_eq!(expected.get(name), Some(reading), "[{name:?}]\n{as_found}");
    }
    assert_eq!(expected.len(), found.len(), "corpus.toml names tasks that do not lie beside it");
}
