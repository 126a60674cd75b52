//! A test suite run in forks (E7): that it passes, that new tests catch the old fault, that old tests were kept.

use domain::{
    acceptance::{Truth, glob::Globs},
    evidence::{FileKind, ManifestEntry},
    release::Proof,
};
use engine::ports::{
    evidence::{Evidence, ForkOf, Placed, StateAt},
    sandbox::{Ended, FileEntry, FileNode, Finished, SandboxFault},
};

use super::{Known, describe, fork};

/// A runner and what counts as tests.
pub(super) struct Suite<'a> {
    pub run: &'a [String],
    pub tests: &'a [String],
    pub timeout_sec: u32,
}

impl Suite<'_> {
    pub(super) async fn read(
        &self,
        proves: Proof,
        evidence: &dyn Evidence,
    ) -> Result<Known, SandboxFault> {
        match proves {
            Proof::Passes => self.passes(evidence).await,
            Proof::Regression => self.catches(evidence).await,
            Proof::Kept => {
                let kept = self.kept(evidence).await?;
                if kept.truth == Truth::True { self.passes(evidence).await } else { Ok(kept) }
            }
        }
    }

    async fn passes(&self, evidence: &dyn Evidence) -> Result<Known, SandboxFault> {
        let of = fork::honest(evidence).await?;
        let run = fork::run(of, Vec::new(), self.run, self.timeout_sec);
        let finished = evidence.run(&run).await?;
        let witness = describe(&finished);
        Ok(match outcome(&finished) {
            Some(passed) => Known::holds(passed, witness),
            None => Known::unknown(witness),
        })
    }

    /// The final tests pass on the final source and fail on the base's.
    async fn catches(&self, evidence: &dyn Evidence) -> Result<Known, SandboxFault> {
        let added = self.changed_tests(evidence).await?;
        if added.is_empty() {
            return Ok(Known::holds(false, "no test changed"));
        }
        let now = self.passes(evidence).await?;
        if now.truth != Truth::True {
            return Ok(now);
        }
        let placed = vec![Placed { directory: "/".into(), files: added }];
        let of = ForkOf::BaseWith(Vec::new());
        let before = evidence.run(&fork::run(of, placed, self.run, self.timeout_sec)).await?;
        let witness = format!("before: {}", describe(&before));
        Ok(match outcome(&before) {
            Some(passed) => Known::holds(!passed, witness),
            None => Known::unknown(witness),
        })
    }

    /// Every test file of the base is there with its content.
    async fn kept(&self, evidence: &dyn Evidence) -> Result<Known, SandboxFault> {
        let globs = self.globs(evidence);
        let mut base = evidence.list(StateAt::Base, &globs).await?;
        base.retain(|path| !is_generated(path));
        if base.is_empty() {
            return Ok(Known::holds(false, "the base has no tests"));
        }
        let Some(tree) = evidence.tree(StateAt::Look) else {
            return Ok(Known::unknown("the state was not kept"));
        };
        for path in base.iter().filter(|path| tree.entries.contains_key(*path)) {
            let (before, now) = (
                evidence.read(StateAt::Base, path).await?,
                evidence.read(StateAt::Look, path).await?,
            );
            if before.map(|(node, _)| node) != now.map(|(node, _)| node) {
                return Ok(Known::holds(false, format!("{path} changed")));
            }
        }
        Ok(Known::holds(true, ""))
    }

    /// The test files that differ from the base, as files to be placed below the root.
    async fn changed_tests(&self, evidence: &dyn Evidence) -> Result<Vec<FileEntry>, SandboxFault> {
        let globs = self.globs(evidence);
        let Some(tree) = evidence.tree(StateAt::Look) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (path, entry) in &tree.entries {
            if !globs.matches(path) || is_generated(path) || entry.kind == FileKind::Directory {
                continue;
            }
            let node = content(path, entry, evidence).await?;
            let path = path.trim_start_matches('/').to_owned();
            found.extend(node.map(|node| FileEntry { path, node, mode: entry.mode & 0o7777 }));
        }
        Ok(found)
    }

    fn globs(&self, evidence: &dyn Evidence) -> Globs {
        Globs::below(&evidence.recorded().workdir, self.tests)
    }
}

async fn content(
    path: &str,
    entry: &ManifestEntry,
    evidence: &dyn Evidence,
) -> Result<Option<FileNode>, SandboxFault> {
    Ok(match entry.kind {
        FileKind::Gone => Some(FileNode::Absent),
        FileKind::Link => entry.link_target.clone().map(FileNode::Link),
        FileKind::File => evidence.read(StateAt::Look, path).await?.map(|(node, _)| node),
        FileKind::Directory | FileKind::Special => None,
    })
}

/// Whether the suite passed; none if it could not even start or did not come to an end by itself.
fn outcome(finished: &Finished) -> Option<bool> {
    /// A shell's word for a program that cannot be executed or found.
    const NOT_STARTED: [i32; 2] = [126, 127];
    match finished.ended {
        Ended::Exited(code) if NOT_STARTED.contains(&code) => None,
        Ended::Exited(code) => Some(code == 0),
        Ended::Signalled(_) | Ended::OutOfMemory | Ended::TimedOut | Ended::NotStarted => None,
    }
}

/// What running tests leaves behind is no test.
fn is_generated(path: &str) -> bool {
    path.ends_with(".pyc")
        || path.split('/').any(|part| part == "__pycache__" || part == ".pytest_cache")
}
