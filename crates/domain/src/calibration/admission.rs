//! Whether a task may be given to anybody: what lies in its base before anybody has worked ([`BaseSeen`], [`admission`]).

use alloc::{
    collections::BTreeSet,
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{Breach, Subject};
use crate::{
    acceptance::glob::Globs,
    release::{CheckKind, EditKind, FsState, Pair, Proof, Task},
};

/// What was seen of a base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseSeen {
    /// Absolute directories of which all files are known, without a slash at the end.
    pub places: Vec<String>,
    /// Absolute paths of the files and links that the setup wrote, wherever they lie.
    pub files: BTreeSet<String>,
    /// Its git repositories.
    pub repositories: Vec<RepositorySeen>,
    /// Files of the release that no agent may see, each with the file of the base that shows it.
    pub answers: Vec<(String, String)>,
}

/// What was seen of a git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositorySeen {
    /// Where git's own files lie.
    pub path: String,
    /// Objects that nothing leads to, as git names them.
    pub unreachable: Vec<String>,
    /// Commits that are newer than HEAD.
    pub newer: Vec<String>,
    /// Why it could not be read, if it could not.
    pub unreadable: Option<String>,
}

/// What keeps a task, and the pairs on it that share a base, from being admitted.
pub fn admission(task: &Task, pairs: &[&Pair], seen: &BaseSeen) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut add = |expected: &str, found: String, remedy: String| {
        breaches.push(Breach {
            subject: Subject::Task(task.id.clone()),
            arm: None,
            agent: None,
            requirement: None,
            expected: expected.to_string(),
            found,
            remedy,
        });
    };
    for (hidden, shown_by) in &seen.answers {
        add(
            "no answer where the agent can read it",
            format!("text of `{hidden}` lies in `{shown_by}`"),
            format!("keep `tasks/{}/environment/setup.sh` from writing it", task.id),
        );
    }
    for repository in &seen.repositories {
        let path = &repository.path;
        let setup = format!("tasks/{}/environment/setup.sh", task.id);
        if let Some(why) = &repository.unreadable {
            add(
                "a repository that git can read",
                format!("{path}: {why}"),
                format!("name git in `host` of the pair, and mend `{setup}`"),
            );
        }
        if let Some(first) = repository.unreachable.first() {
            add(
                "no object that nothing leads to",
                format!("{path} holds {} ({first})", repository.unreachable.len()),
                format!("let `{setup}` make each commit once, or end with `git gc --prune=now`"),
            );
        }
        if let Some(first) = repository.newer.first() {
            add(
                "no commit newer than HEAD",
                format!("{path} holds {} ({first})", repository.newer.len()),
                format!("let `{setup}` leave out, or date back, what comes after HEAD"),
            );
        }
    }
    for pair in pairs {
        breaches.extend(unresolved(pair, &task.environment.workdir, seen));
    }
    breaches
}

/// Literals of checks that name what the base must hold, and does not.
fn unresolved(pair: &Pair, workdir: &str, seen: &BaseSeen) -> Vec<Breach> {
    let is_there = |pattern: &str| {
        let globs = Globs::below(workdir, &[pattern.to_string()]);
        let is_looked_at = globs.roots().iter().all(|root| {
            seen.places.iter().any(|place| root == place || root.starts_with(&format!("{place}/")))
        });
        !is_looked_at || seen.files.iter().any(|file| globs.matches(file))
    };
    let mut breaches = Vec::new();
    for check in &pair.checks {
        for pattern in named(&check.kind).iter().filter(|pattern| !is_there(pattern)) {
            breaches.push(Breach {
                subject: Subject::Pair(pair.id.clone()),
                arm: None,
                agent: None,
                requirement: None,
                expected: format!("`{pattern}` of the check `{}` in the base", check.id),
                found: String::from("no such file"),
                remedy: format!("mend `[check] {}` in `pairs/{}/pair.toml`", check.id, pair.id),
            });
        }
    }
    breaches
}

/// Paths that mean nothing unless the base has them.
fn named(kind: &CheckKind) -> Vec<String> {
    match kind {
        CheckKind::Fs {
            path,
            is: Some(FsState::Changed | FsState::Unchanged),
            since: None,
            ..
        } => path.clone(),
        CheckKind::Test { run, proves, tests, .. } => {
            let kept = if *proves == Proof::Kept { &tests[..] } else { &[] };
            let program = run.first().filter(|program| program.contains('/'));
            let program = program.map(|program| program.trim_start_matches("./").to_string());
            kept.iter().cloned().chain(program).collect()
        }
        CheckKind::Git { repo, history_kept: Some(_), .. } => {
            let folder = repo.as_deref().map_or(String::new(), |path| format!("{path}/"));
            [format!("{folder}.git/HEAD")].into()
        }
        CheckKind::Edit { under, what, .. } if !what.is_empty() => {
            let creates = what.contains(&EditKind::Create);
            if creates { Vec::new() } else { under.clone() }
        }
        _ => Vec::new(),
    }
}
