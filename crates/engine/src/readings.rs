//! Reads checks at one look: [`LookEvidence`] is all that they see.

use std::{collections::BTreeMap, sync::Arc};

use domain::{
    acceptance::{Look, Reading, glob::Globs},
    controller::Grant,
    evidence::{Channel, FileKind, Manifest, Recorded},
    ids::{CheckId, Turn},
    release::CheckKind,
    session::CheckRequest,
};
use tokio::sync::Mutex;

use crate::{
    evidence::Gathered,
    ports::{
        check::{self, Checks},
        evidence::{Evidence, ForkOf, ForkedRun, StateAt},
        sandbox::{FileNode, Finished, Sandbox, SandboxFault},
    },
    setup::Setup,
};

/// The evidence of a session at one look; the sandbox stays still as long as it lives.
pub(crate) struct LookEvidence<'a> {
    gathered: &'a Gathered,
    setup: &'a Setup,
    sandbox: Arc<dyn Sandbox>,
    look: Look,
    recorded: Recorded,
    /// Regular files and links below directories that were listed already.
    listed: Mutex<BTreeMap<String, Vec<String>>>,
}

impl<'a> LookEvidence<'a> {
    /// Everything that these checks may need.
    pub(crate) async fn gather(
        gathered: &'a mut Gathered,
        setup: &'a Setup,
        sandbox: Arc<dyn Sandbox>,
        look: Look,
        requests: &[CheckRequest],
        grants: Vec<Grant>,
        handoffs: Vec<Turn>,
    ) -> Result<Self, SandboxFault> {
        let needs_diffs = requests.iter().any(|request| {
            kind_of(setup, &request.check).is_some_and(|kind| {
                kind.channels().contains(&Channel::Diff)
                    || matches!(kind, CheckKind::Message(message) if message.cites_changed_files)
            })
        });
        let diffs = if needs_diffs {
            let since = requests.iter().filter_map(|request| request.since).collect();
            gathered.diffs(sandbox.as_ref(), since).await?
        } else {
            BTreeMap::new()
        };
        let recorded = gathered.recorded(diffs, grants, handoffs);
        let listed = Mutex::new(BTreeMap::new());
        Ok(Self { gathered, setup, sandbox, look, recorded, listed })
    }

    /// What the pure checks read.
    pub(crate) fn recorded_evidence(&self) -> &Recorded {
        &self.recorded
    }

    /// Reads each of them; the order does not matter.
    pub(crate) async fn read_all(
        &self,
        checks: &dyn Checks,
        requests: &[CheckRequest],
    ) -> Result<Vec<(CheckId, Reading)>, SandboxFault> {
        let mut readings = Vec::with_capacity(requests.len());
        for request in requests {
            let reading = match kind_of(self.setup, &request.check) {
                Some(kind) => check::read(checks, kind, request.since, self).await?,
                None => Reading::Missing(domain::evidence::Missing::ChannelMissing),
            };
            readings.push((request.check.clone(), reading));
        }
        Ok(readings)
    }

    /// Files and links that exist now below a directory.
    async fn below(&self, directory: &str) -> Result<Vec<String>, SandboxFault> {
        let mut listed = self.listed.lock().await;
        if let Some(found) = listed.get(directory) {
            return Ok(found.clone());
        }
        let mut found = Vec::new();
        for entry in self.sandbox.get(directory).await?.unwrap_or_default() {
            if matches!(entry.node, FileNode::File(_) | FileNode::Link(_)) {
                let path = match entry.path.as_str() {
                    "" => directory.to_owned(),
                    below => format!("{}/{below}", directory.trim_end_matches('/')),
                };
                found.push(path);
            }
        }
        found.sort();
        listed.insert(directory.to_owned(), found.clone());
        Ok(found)
    }

    async fn is_base_file(&self, path: &str) -> Result<bool, SandboxFault> {
        let found = self.sandbox.base(path).await?;
        Ok(found.is_some_and(|entry| matches!(entry.node, FileNode::File(_) | FileNode::Link(_))))
    }
}

#[async_trait::async_trait]
impl Evidence for LookEvidence<'_> {
    fn look(&self) -> Look {
        self.look
    }

    fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    fn check_files(&self) -> &[crate::ports::sandbox::FileEntry] {
        &self.setup.check_files
    }

    fn tree(&self, at: StateAt) -> Option<&Manifest> {
        match at {
            StateAt::Base => self.gathered.manifest_at(Turn::BASE),
            StateAt::After(turn) => self.gathered.manifest_at(turn),
            StateAt::Look => Some(self.gathered.manifest()),
        }
    }

    async fn list(&self, at: StateAt, globs: &Globs) -> Result<Vec<String>, SandboxFault> {
        let changed = &self.gathered.manifest().entries;
        let mut found = Vec::new();
        match at {
            StateAt::After(_) => return Ok(found),
            StateAt::Look | StateAt::Base => {}
        }
        let workdir = self.setup.scenario.workdir.as_str();
        let mut directories = vec![workdir.to_owned()];
        // Listing a whole root would be dear, and what lies outside the working directory and did not change is
        // named by authors with its directory.
        let inside = format!("{workdir}/");
        let roots = globs.roots().into_iter();
        directories.extend(
            roots.filter(|root| root != "/" && root != workdir && !root.starts_with(&inside)),
        );
        for directory in directories {
            for path in self.below(&directory).await? {
                if globs.matches(&path) {
                    found.push(path);
                }
            }
        }
        let existing = |kind: FileKind| matches!(kind, FileKind::File | FileKind::Link);
        let listed = changed.iter().filter(|(path, _)| globs.matches(path));
        found.extend(listed.filter(|(_, e)| existing(e.kind)).map(|(path, _)| path.clone()));
        if at == StateAt::Base {
            // What did not change is as the base has it; of what changed the base itself is asked.
            found.retain(|path| !changed.contains_key(path));
            for path in changed.keys().filter(|path| globs.matches(path)) {
                if self.is_base_file(path).await? {
                    found.push(path.clone());
                }
            }
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    async fn read(&self, at: StateAt, path: &str) -> Result<Option<(FileNode, u32)>, SandboxFault> {
        let found = match at {
            StateAt::Base => self.sandbox.base(path).await?,
            StateAt::Look => {
                let entries = self.sandbox.get(path).await?.unwrap_or_default();
                entries.into_iter().find(|entry| entry.path.is_empty())
            }
            StateAt::After(_) => None,
        };
        Ok(found.map(|entry| (entry.node, entry.mode)))
    }

    async fn run(&self, run: &ForkedRun) -> Result<Finished, SandboxFault> {
        let limits = &self.setup.limits;
        let fork = match &run.of {
            ForkOf::Look => self.sandbox.fork(limits).await?,
            ForkOf::BaseWith(paths) => self.sandbox.restore(paths, limits).await?,
        };
        for placed in &run.placed {
            fork.put(&placed.directory, &placed.files).await?;
        }
        let mut command = run.command.clone();
        command.cwd.get_or_insert_with(|| self.setup.scenario.workdir.clone());
        let finished = fork.exec(&command).await?;
        fork.end().await?;
        Ok(finished)
    }
}

fn kind_of<'a>(setup: &'a Setup, id: &CheckId) -> Option<&'a CheckKind> {
    setup.scenario.checks.iter().find(|check| &check.id == id).map(|check| &check.kind)
}
