//! Looks at a base as an agent finds it: its files and what its git repositories keep ([`look_at`]).

use std::{collections::BTreeMap, time::Duration};

use domain::calibration::RepositorySeen;

use crate::ports::sandbox::{
    Base, CommandSpec, Ended, FileEntry, FileNode, Finished, Limits, Recording, Sandbox,
    SandboxFault, Sandboxes,
};

/// Directories beside the working directory in which nothing lies but what a setup wrote.
const PLACES: [&str; 7] = ["/root", "/home", "/srv", "/mnt", "/tmp", "/var/tmp", "/var/local"];

/// A command of git answers within this time.
const GIT_MAX: Duration = Duration::from_secs(120);

/// Bytes of output that are read of it.
const OUTPUT_MAX: usize = 1 << 20;

/// What stands in a base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseFound {
    /// Absolute directories of which all files are known.
    pub places: Vec<String>,
    /// Files that the setup wrote, wherever they lie, by their absolute paths: their bytes; of links the target.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Its git repositories.
    pub repositories: Vec<RepositorySeen>,
}

/// Looks through a base that nobody has worked on.
///
/// # Errors
///
/// The sandbox broke; nothing can be said of the base then.
pub async fn look_at(
    sandboxes: &dyn Sandboxes,
    base: &Base,
    limits: &Limits,
    workdir: &str,
) -> Result<BaseFound, SandboxFault> {
    let sandbox = sandboxes.provision(base, limits, Recording::Nothing).await?;
    let mut found = BaseFound::default();
    let mut heads = Vec::new();
    let inner = |place: &&&str| **place != workdir && !place.starts_with(&format!("{workdir}/"));
    let places = [workdir].into_iter().chain(PLACES.iter().filter(inner).copied());
    found.places = places.map(str::to_owned).collect();
    for FileEntry { path, node, .. } in sandbox.base_written().await? {
        let bytes = match node {
            FileNode::File(bytes) => bytes,
            FileNode::Link(target) => target.into_bytes(),
            FileNode::Directory | FileNode::Absent => continue,
        };
        if let Some(folder) = path.strip_suffix("/HEAD") {
            heads.push(folder.to_owned());
        }
        found.files.insert(path, bytes);
    }
    for folder in heads {
        // Git calls a folder its own if it holds these; one of a branch or a worktree does not.
        let is_repository = [format!("{folder}/config"), format!("{folder}/description")]
            .iter()
            .any(|path| found.files.contains_key(path));
        if is_repository {
            found.repositories.push(repository(sandbox.as_ref(), folder).await?);
        }
    }
    sandbox.end().await?;
    Ok(found)
}

async fn repository(sandbox: &dyn Sandbox, folder: String) -> Result<RepositorySeen, SandboxFault> {
    let mut seen = RepositorySeen { path: folder, ..RepositorySeen::default() };
    let fsck = ["fsck", "--unreachable", "--no-reflogs", "--no-dangling", "--no-progress"];
    let checked = git(sandbox, &seen.path, &fsck).await?;
    if !checked.is_success() {
        seen.unreadable = Some(match checked.ended {
            Ended::NotStarted => "there is no git in the sandbox".to_owned(),
            _ => first_line(&checked.stderr),
        });
        return Ok(seen);
    }
    let lines = text(&checked.stdout);
    let unreachable = lines.lines().filter_map(|line| line.strip_prefix("unreachable "));
    seen.unreachable = unreachable.map(str::to_owned).collect();
    let head = git(sandbox, &seen.path, &["log", "-1", "--format=%ct", "HEAD"]).await?;
    // Before the first commit there is nothing that could be newer.
    let Some(base_time) = number(&text(&head.stdout)) else { return Ok(seen) };
    let all = git(sandbox, &seen.path, &["rev-list", "--all", "--reflog", "--timestamp"]).await?;
    if !all.is_success() {
        seen.unreadable = Some(first_line(&all.stderr));
        return Ok(seen);
    }
    if all.stdout.len() >= OUTPUT_MAX {
        seen.unreadable = Some("it holds more commits than can be listed".to_owned());
        return Ok(seen);
    }
    for line in text(&all.stdout).lines() {
        let Some((time, commit)) = line.split_once(' ') else { continue };
        if number(time).is_some_and(|time| time > base_time) {
            seen.newer.push(format!("commit {commit}"));
        }
    }
    Ok(seen)
}

async fn git(
    sandbox: &dyn Sandbox,
    folder: &str,
    arguments: &[&str],
) -> Result<Finished, SandboxFault> {
    let mut argv = vec!["git".to_owned(), "-c".to_owned(), "safe.directory=*".to_owned()];
    argv.push(format!("--git-dir={folder}"));
    argv.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let command = CommandSpec {
        argv,
        cwd: Some("/".to_owned()),
        env: [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        user: None,
        stdin: Vec::new(),
        timeout: GIT_MAX,
        output_max: OUTPUT_MAX,
    };
    sandbox.exec(&command).await
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn first_line(bytes: &[u8]) -> String {
    text(bytes).lines().next().unwrap_or("git says nothing").to_owned()
}

fn number(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}
