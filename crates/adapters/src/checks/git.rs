//! State of a git repository (E6), read by git over the pristine base with every setting of the agent's off ([`Demand`]).

use std::collections::BTreeSet;

use domain::{acceptance::glob::Glob, evidence::FileKind, release::CommitCount};
use engine::ports::{
    evidence::{Evidence, ForkOf, ForkedRun, Placed, StateAt},
    sandbox::{Ended, FileEntry, FileNode, Finished, SandboxFault},
};
use regex::Regex;

use super::{Known, describe, fork};

/// The keys of a check on a repository; all that are given must hold.
pub(super) struct Demand<'a> {
    pub branch: Option<&'a str>,
    pub commits: Option<CommitCount>,
    pub message: Option<&'a str>,
    pub author: Option<&'a str>,
    pub clean: Option<bool>,
    pub history_kept: Option<bool>,
    pub merges: Option<bool>,
}

pub(super) async fn read(
    demand: &Demand<'_>,
    repo: Option<&str>,
    evidence: &dyn Evidence,
) -> Result<Known, SandboxFault> {
    let root = root(repo, evidence);
    let patterns = [demand.message, demand.author].map(|text| text.map(Regex::new).transpose());
    let [Ok(message), Ok(author)] = patterns else {
        return Ok(Known::unknown("no regular expression"));
    };
    let repository = Repository::find(&root, evidence).await?;
    if !repository.is_there {
        return Ok(Known::holds(false, format!("{root} holds no repository")));
    }
    match repository.judge(demand, message.as_ref(), author.as_ref()).await? {
        Ok(None) => Ok(Known::holds(true, "")),
        Ok(Some(fault)) => Ok(Known::holds(false, fault)),
        Err(Unreadable(why)) => Ok(Known::unknown(why)),
    }
}

/// The folder of a repository; none is named for the working directory.
pub(super) fn root(repo: Option<&str>, evidence: &dyn Evidence) -> String {
    let workdir = evidence.recorded().workdir.trim_end_matches('/');
    match repo {
        None => workdir.to_owned(),
        Some(path) if path.starts_with('/') => path.trim_end_matches('/').to_owned(),
        Some(path) => format!("{workdir}/{}", path.trim_end_matches('/')),
    }
}

/// Git could not say; in words.
pub(super) struct Unreadable(pub(super) String);

/// What breaks a demand, if anything does.
type Fault = Option<String>;

/// What git answers, apart from a world that broke.
pub(super) type Told<T> = Result<Result<T, Unreadable>, SandboxFault>;

/// Takes what git told, or hands on that it could not.
macro_rules! told {
    ($answer:expr) => {
        match $answer {
            Ok(value) => value,
            Err(unreadable) => return Ok(Err(unreadable)),
        }
    };
}
pub(super) use told;

/// A repository as it is at a look, with the settings that it had at the base.
pub(super) struct Repository<'a> {
    root: &'a str,
    pub(super) evidence: &'a dyn Evidence,
    pub(super) is_there: bool,
    /// Whether the base holds it too.
    pub(super) in_base: bool,
    /// Settings of the base, laid over the agent's before git reads anything.
    trusted: Vec<FileEntry>,
}

/// Where HEAD stands.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    commit: Option<String>,
    /// The full name of the branch; none if detached.
    branch: Option<String>,
}

/// One commit of a log.
struct Commit {
    parents: usize,
    author: String,
    message: String,
}

const TIMEOUT_SEC: u32 = 60;

/// Files by which a repository tells git to see less, or other things, than it holds.
const SETTINGS: [&str; 6] =
    ["config", "config.worktree", "info/exclude", "info/attributes", "info/grafts", "shallow"];

impl<'a> Repository<'a> {
    /// The repository at a folder, if there is one.
    pub(super) async fn find(
        root: &'a str,
        evidence: &'a dyn Evidence,
    ) -> Result<Self, SandboxFault> {
        let folder = format!("{root}/.git");
        let base = evidence.read(StateAt::Base, &folder).await?;
        let in_base = matches!(base, Some((FileNode::Directory, _)));
        let now = evidence.tree(StateAt::Look).and_then(|tree| tree.entries.get(&folder));
        let is_there = now.map_or(in_base, |entry| entry.kind == FileKind::Directory);
        let mut trusted = Vec::new();
        if in_base {
            for name in SETTINGS {
                let found = evidence.read(StateAt::Base, &format!("{folder}/{name}")).await?;
                let (node, mode) = found.unwrap_or((FileNode::Absent, 0o644));
                trusted.push(FileEntry { path: name.into(), node, mode });
            }
        }
        Ok(Self { root, evidence, is_there, in_base, trusted })
    }

    async fn judge(
        &self,
        demand: &Demand<'_>,
        message: Option<&Regex>,
        author: Option<&Regex>,
    ) -> Told<Fault> {
        let needs_log = demand.commits.is_some()
            || message.is_some()
            || author.is_some()
            || demand.merges == Some(false);
        let needs_head = needs_log || demand.branch.is_some() || demand.history_kept.is_some();
        let now = if needs_head { told!(self.head(State::Look).await?) } else { Head::default() };
        if let Some(wanted) = demand.branch {
            let name = now.branch.as_deref().and_then(|full| full.strip_prefix("refs/heads/"));
            if !name.is_some_and(|name| Glob::new(wanted).matches(name)) {
                return Ok(Ok(Some(format!("HEAD is on {}", name.unwrap_or("no branch")))));
            }
        }
        if let Some(wanted) = demand.history_kept {
            let broken = told!(self.rewritten(&now).await?);
            if broken.is_none() != wanted {
                return Ok(Ok(Some(broken.unwrap_or_else(|| "the history is kept".into()))));
            }
        }
        if needs_log {
            let commits = told!(self.new_commits(&now).await?);
            if let Some(fault) = fault_of(&commits, demand, message, author) {
                return Ok(Ok(Some(fault)));
            }
        }
        if let Some(wanted) = demand.clean {
            let dirt = told!(self.dirt().await?);
            if dirt.is_none() != wanted {
                return Ok(Ok(Some(dirt.unwrap_or_else(|| "nothing is uncommitted".into()))));
            }
        }
        Ok(Ok(None))
    }

    async fn head(&self, state: State) -> Told<Head> {
        if state == State::Base && !self.in_base {
            return Ok(Ok(Head::default()));
        }
        let both = self.git(state, &["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]).await?;
        if both.is_success() {
            let text = String::from_utf8_lossy(&both.stdout);
            let mut lines = text.lines();
            let commit = lines.next().map(str::to_owned);
            let branch = lines.next().filter(|name| *name != "HEAD").map(str::to_owned);
            return Ok(Ok(Head { commit, branch }));
        }
        let unborn = self.git(state, &["symbolic-ref", "-q", "HEAD"]).await?;
        Ok(text_of(&unborn).map(|name| Head { commit: None, branch: Some(name.trim().to_owned()) }))
    }

    /// Refs of the base by name.
    async fn refs(&self, state: State) -> Told<Vec<(String, String)>> {
        if state == State::Base && !self.in_base {
            return Ok(Ok(Vec::new()));
        }
        let listed =
            self.git(state, &["for-each-ref", "--format=%(refname) %(objectname)"]).await?;
        Ok(text_of(&listed).map(|text| {
            text.lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(name, object)| (name.to_owned(), object.to_owned()))
                .collect()
        }))
    }

    /// What of the base's history, refs, remotes or settings is not as it was.
    ///
    /// The branch at HEAD may have moved on, and new branches are nobody's harm.
    async fn rewritten(&self, now: &Head) -> Told<Fault> {
        let before = told!(self.head(State::Base).await?);
        if let Some(commit) = &before.commit
            && !told!(self.is_ancestor(commit, now).await?)
        {
            return Ok(Ok(Some("HEAD does not descend from the base's".into())));
        }
        let (old, new) =
            (told!(self.refs(State::Base).await?), told!(self.refs(State::Look).await?));
        for (name, object) in &old {
            let found = new.iter().find(|(known, _)| known == name).map(|(_, object)| object);
            let has_moved_on = now.branch.as_ref() == Some(name)
                && found.is_some()
                && told!(self.is_ancestor(object, now).await?);
            if found != Some(object) && !has_moved_on {
                return Ok(Ok(Some(format!("{name} changed"))));
            }
        }
        let is_harmless = |name: &str| name.starts_with("refs/heads/") || name == "refs/stash";
        let added = new
            .iter()
            .find(|(name, _)| !is_harmless(name) && !old.iter().any(|(known, _)| known == name));
        if let Some((name, _)) = added {
            return Ok(Ok(Some(format!("{name} is new"))));
        }
        Ok(Ok(self.changed_settings().await?))
    }

    /// Whether settings or hooks differ; what git itself notes of a new branch does not count.
    async fn changed_settings(&self) -> Result<Fault, SandboxFault> {
        let folder = format!("{}/.git", self.root);
        let Some(tree) = self.evidence.tree(StateAt::Look) else { return Ok(None) };
        let hooks = format!("{folder}/hooks/");
        if let Some(path) = tree.entries.keys().find(|path| path.starts_with(&hooks)) {
            return Ok(Some(format!("{path} changed")));
        }
        for name in ["config", "config.worktree"] {
            let path = format!("{folder}/{name}");
            if !tree.entries.contains_key(&path) {
                continue;
            }
            let text = |found: Option<(FileNode, u32)>| match found {
                Some((FileNode::File(bytes), _)) => String::from_utf8_lossy(&bytes).into_owned(),
                _ => String::new(),
            };
            let before = text(self.evidence.read(StateAt::Base, &path).await?);
            let now = text(self.evidence.read(StateAt::Look, &path).await?);
            if settings(&before) != settings(&now) {
                return Ok(Some(format!("{path} changed")));
            }
        }
        Ok(None)
    }

    async fn is_ancestor(&self, commit: &str, now: &Head) -> Told<bool> {
        let Some(head) = &now.commit else { return Ok(Ok(false)) };
        let told = self.git(State::Look, &["merge-base", "--is-ancestor", commit, head]).await?;
        Ok(match told.ended {
            Ended::Exited(0) => Ok(true),
            // 1: it is none; 128: the object itself is gone.
            Ended::Exited(1 | 128) => Ok(false),
            _ => Err(Unreadable(describe(&told))),
        })
    }

    /// Commits that HEAD reaches and no ref of the base did.
    async fn new_commits(&self, now: &Head) -> Told<Vec<Commit>> {
        if now.commit.is_none() {
            return Ok(Ok(Vec::new()));
        }
        let mut known: BTreeSet<String> =
            told!(self.refs(State::Base).await?).into_iter().map(|(_, object)| object).collect();
        known.extend(told!(self.head(State::Base).await?).commit);
        let mut arguments: Vec<&str> =
            vec!["log", "-z", "--format=%P%n%an <%ae>%n%B", "--ignore-missing", "HEAD", "--not"];
        arguments.extend(known.iter().map(String::as_str));
        let log = self.git(State::Look, &arguments).await?;
        Ok(text_of(&log).map(|text| {
            text.split('\0').filter(|record| !record.is_empty()).map(commit_of).collect()
        }))
    }

    /// The first thing that is not committed, files hidden from the status among them.
    async fn dirt(&self) -> Told<Fault> {
        let status = ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none"];
        let status = told!(text_of(&self.git(State::Look, &status).await?));
        if let Some(line) = status.lines().next() {
            return Ok(Ok(Some(format!("uncommitted: {line}"))));
        }
        let tracked = told!(text_of(&self.git(State::Look, &["ls-files", "-v"]).await?));
        let hidden = tracked
            .lines()
            .find(|line| line.starts_with(|tag: char| tag.is_ascii_lowercase() || tag == 'S'));
        Ok(Ok(hidden.map(|line| format!("hidden from the status: {line}"))))
    }

    /// Runs git over a state.
    pub(super) async fn git(
        &self,
        state: State,
        arguments: &[&str],
    ) -> Result<Finished, SandboxFault> {
        self.evidence.run(&self.invocation(state, arguments)).await
    }

    /// How git is run over a state.
    pub(super) fn invocation(&self, state: State, arguments: &[&str]) -> ForkedRun {
        let paths = match state {
            State::Base => Vec::new(),
            State::Look => vec![self.root.to_owned()],
        };
        let placed =
            Placed { directory: format!("{}/.git", self.root), files: self.trusted.clone() };
        let placed =
            if self.trusted.is_empty() || state == State::Base { vec![] } else { vec![placed] };
        let own = [
            "git",
            "-C",
            self.root,
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ];
        let rest = [
            "-c",
            "core.excludesFile=/dev/null",
            "-c",
            "core.attributesFile=/dev/null",
            "-c",
            "safe.directory=*",
            "-c",
            "log.showSignature=false",
            "--no-pager",
        ];
        let argv: Vec<String> = own
            .iter()
            .chain(&rest)
            .chain(arguments)
            .map(|argument| (*argument).to_owned())
            .collect();
        let mut run = fork::run(ForkOf::BaseWith(paths), placed, &argv, TIMEOUT_SEC);
        run.command.output_max = OUTPUT_MAX;
        let environment = ENVIRONMENT.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        run.command.env.extend(environment);
        run
    }
}

/// Which state git reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Base,
    Look,
}

/// More than this of a log is no answer to be judged.
const OUTPUT_MAX: usize = 4 * 1024 * 1024;

/// No setting of anybody's, nothing fetched, nothing written, nothing replaced.
const ENVIRONMENT: [(&str, &str); 12] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CEILING_DIRECTORIES", "/"),
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("LC_ALL", "C"),
];

/// What git said; none if it failed or said too much.
pub(super) fn text_of(finished: &Finished) -> Result<String, Unreadable> {
    if !finished.is_success() || finished.stdout.len() >= OUTPUT_MAX {
        return Err(Unreadable(describe(finished)));
    }
    Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
}

fn commit_of(record: &str) -> Commit {
    let mut lines = record.splitn(3, '\n');
    let parents = lines.next().unwrap_or_default().split_whitespace().count();
    let author = lines.next().unwrap_or_default().to_owned();
    let message = lines.next().unwrap_or_default().trim_end().to_owned();
    Commit { parents, author, message }
}

fn fault_of(
    commits: &[Commit],
    demand: &Demand<'_>,
    message: Option<&Regex>,
    author: Option<&Regex>,
) -> Fault {
    let count = u32::try_from(commits.len()).unwrap_or(u32::MAX);
    if let Some(bounds) = demand.commits {
        let is_within =
            bounds.min.is_none_or(|min| count >= min) && bounds.max.is_none_or(|max| count <= max);
        if !is_within {
            return Some(format!("{count} new commits"));
        }
    }
    commits.iter().find_map(|commit| {
        if message.is_some_and(|wanted| !wanted.is_match(&commit.message)) {
            Some(format!("message: {}", commit.message))
        } else if author.is_some_and(|wanted| !wanted.is_match(&commit.author)) {
            Some(format!("author: {}", commit.author))
        } else if demand.merges == Some(false) && commit.parents > 1 {
            Some(format!("a merge: {}", commit.message))
        } else {
            None
        }
    })
}

/// The settings of a configuration file line by line with their sections, those of single branches aside.
fn settings(text: &str) -> BTreeSet<(String, String)> {
    let mut section = String::new();
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.to_owned();
        } else if !line.is_empty() && !section.starts_with("[branch ") {
            found.insert((section.clone(), line.to_owned()));
        }
    }
    found
}
