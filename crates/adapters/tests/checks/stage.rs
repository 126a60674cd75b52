//! Sessions in real and simulated sandboxes as checks see them: a base, an agent's turns, and a look ([`Staged`]).

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use adapters::{
    checks::SandboxChecks,
    clock::VirtualClock,
    sandboxes::{
        local::LocalSandboxes,
        simulated::{FaultPlan, SimulatedSandboxes},
    },
};
use domain::{
    acceptance::{Look, Reading, Truth, glob::Globs},
    evidence::{Manifest, Recorded},
    ids::{Hash, Turn},
    release::CheckKind,
};
use engine::ports::{
    check,
    clock::Clock,
    evidence::{Evidence, ForkOf, ForkedRun, StateAt},
    sandbox::{
        Base, BaseSpec, CommandSpec, FileEntry, FileNode, Finished, Image, Limits, Network,
        Recording, Sandbox, SandboxFault, Sandboxes,
    },
};

pub const LIMITS: Limits = Limits {
    memory_mb: None,
    processes_max: None,
    disk_mb: None,
    cpus: None,
    gpus: 0,
    network: Network::Off,
};

/// A repository with a module that is wrong and a test that does not notice.
const SETUP: &str = r#"
set -e
mkdir -p /app; cd /app
git init -q -b main .
git config user.name Base && git config user.email base@example.org
mkdir tests
printf 'def total(a, b):\n    return a - b\n' > till.py
printf 'import unittest, till\nclass T(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(till.total(0, 0), 0)\n' > tests/test_till.py
printf '__pycache__/\n.pytest_cache/\n*.pyc\n' > .gitignore
mkdir tests/__pycache__ tests/.pytest_cache
echo old | tee tests/old.pyc tests/__pycache__/old > tests/.pytest_cache/old
git config credential.username AKIA7Qzeb1LEAKED
printf 'KEY=AKIA7Qzeb1LEAKED\n' > .env
git add -A && git commit -q -m 'The till'
mkdir /data; cd /data
python3 -c '
import sqlite3
till = sqlite3.connect("till.db")
till.executescript("CREATE TABLE items (name TEXT PRIMARY KEY, cents INTEGER); CREATE INDEX by_cents ON items (cents);")
till.executemany("INSERT INTO items VALUES (?, ?)", [("tea", 120), ("bread", 350)])
till.commit()
'
printf 'no database\n' > note.db
"#;

/// A session's state after each of its turns, the last of which is looked at.
pub struct Staged {
    pub sandbox: Box<dyn Sandbox>,
    trees: Vec<Manifest>,
    pub recorded: Recorded,
    check_files: Vec<FileEntry>,
    pub look: Look,
}

/// One base that many sessions start from.
pub struct Stage {
    sandboxes: LocalSandboxes,
    base: Base,
    _state: tempfile::TempDir,
}

impl Stage {
    /// Its base is the same for every test.
    pub async fn new() -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let supervisor = Path::new(env!("CARGO_BIN_EXE_pcb-sandbox-supervisor"));
        let sandboxes = LocalSandboxes::new(supervisor, state.path()).expect("a state directory");
        let spec = spec(vec![FileEntry {
            path: "setup.sh".into(),
            node: FileNode::File(SETUP.as_bytes().to_vec()),
            mode: 0o755,
        }]);
        let base = sandboxes.materialise(&spec).await.expect("this host must make local sandboxes");
        Self { sandboxes, base, _state: state }
    }

    /// Runs one script of the agent's for each turn.
    pub async fn after(&self, turns: &[&str]) -> Staged {
        let (sandboxes, base) = (&self.sandboxes, &self.base);
        let sandbox =
            sandboxes.provision(base, &LIMITS, Recording::Nothing).await.expect("a sandbox");
        let mut trees = vec![Manifest::default()];
        for (turn, script) in (1..).zip(turns) {
            if turn > 1 {
                sandbox.thaw().await.expect("going on");
            }
            let finished = sandbox.exec(&shell(script)).await.expect("a run");
            assert!(finished.is_success(), "{script}: {finished:?}");
            sandbox.freeze().await.expect("still");
            trees.push(sandbox.capture(Turn(turn)).await.expect("a capture").manifest);
        }
        Staged::of(sandbox, trees)
    }

    /// As if the agent had written files below the working directory in one turn.
    pub async fn with_files(&self, files: &[(&str, &[u8])]) -> Staged {
        let sandbox = self.sandboxes.provision(&self.base, &LIMITS, Recording::Nothing).await;
        Staged::with_files(sandbox.expect("a sandbox"), files).await
    }
}

/// A simulated sandbox with an empty base, as if the agent had written files in one turn.
pub async fn simulated_with_files(files: &[(&str, &[u8])]) -> Staged {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::default());
    let sandboxes = SimulatedSandboxes::new(clock, FaultPlan::default());
    let base = sandboxes.materialise(&spec(vec![])).await.expect("a base");
    let sandbox = sandboxes.provision(&base, &LIMITS, Recording::Nothing).await;
    Staged::with_files(sandbox.expect("a sandbox"), files).await
}

fn spec(environment: Vec<FileEntry>) -> BaseSpec {
    BaseSpec {
        digest: Hash::new("0".repeat(64)),
        image: Image::None,
        environment,
        workdir: "/app".into(),
        env: BTreeMap::new(),
        toolchains: vec![],
        setup_timeout: Duration::from_secs(60),
        limits: LIMITS,
    }
}

impl Staged {
    fn of(sandbox: Box<dyn Sandbox>, trees: Vec<Manifest>) -> Self {
        let turns = u32::try_from(trees.len() - 1).expect("few turns");
        let recorded = Recorded { workdir: "/app".into(), ..Recorded::default() };
        let look = Look::Turn(Turn(turns));
        Self { sandbox, trees, recorded, check_files: vec![], look }
    }

    async fn with_files(sandbox: Box<dyn Sandbox>, files: &[(&str, &[u8])]) -> Self {
        let entry = |(path, bytes): &(&str, &[u8])| FileEntry {
            path: (*path).into(),
            node: FileNode::File(bytes.to_vec()),
            mode: 0o755,
        };
        let entries: Vec<FileEntry> = files.iter().map(entry).collect();
        sandbox.put("/app", &entries).await.expect("files");
        sandbox.freeze().await.expect("still");
        let captured = sandbox.capture(Turn(1)).await.expect("a capture");
        Self::of(sandbox, vec![Manifest::default(), captured.manifest])
    }

    /// As if the base had all that lies there.
    pub fn unchanged(mut self) -> Self {
        self.trees.fill(Manifest::default());
        self
    }

    pub fn with_script(mut self, text: &str) -> Self {
        let node = FileNode::File(text.as_bytes().to_vec());
        self.check_files = vec![FileEntry { path: "look.sh".into(), node, mode: 0o644 }];
        self
    }

    pub async fn read(&self, kind: &CheckKind, since: Option<Turn>) -> (Truth, String) {
        match check::read(&SandboxChecks, kind, since, self).await.expect("no fault") {
            Reading::State { truth, witness } => (truth, witness),
            other => panic!("a state, not {other:?}"),
        }
    }

    pub async fn check(&self, kind: CheckKind, expect: Truth) {
        let (found, witness) = self.read(&kind, None).await;
        let files = self.check_files.iter().map(|file| format!("{:?}", file.node.clone()));
        assert_eq!(found, expect, "{kind:?}: {witness} {:?}", files.collect::<Vec<_>>());
    }
}

fn shell(script: &str) -> CommandSpec {
    CommandSpec {
        argv: ["sh", "-ec", script].map(String::from).to_vec(),
        cwd: Some("/app".into()),
        env: BTreeMap::new(),
        user: None,
        stdin: vec![],
        timeout: Duration::from_secs(60),
        output_max: 10_000,
    }
}

#[async_trait::async_trait]
impl Evidence for Staged {
    fn look(&self) -> Look {
        self.look
    }

    fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    fn check_files(&self) -> &[FileEntry] {
        &self.check_files
    }

    fn tree(&self, at: StateAt) -> Option<&Manifest> {
        match at {
            StateAt::Base => self.trees.first(),
            StateAt::After(turn) => self.trees.get(turn.0 as usize),
            StateAt::Look => self.trees.last(),
        }
    }

    async fn list(&self, at: StateAt, globs: &Globs) -> Result<Vec<String>, SandboxFault> {
        let entries = match at {
            StateAt::Look => self.sandbox.get("/app").await?,
            _ => {
                let pristine = self.sandbox.restore(&[], &LIMITS).await?;
                let found = pristine.get("/app").await?;
                pristine.end().await?;
                found
            }
        };
        let mut found: Vec<String> = entries
            .unwrap_or_default()
            .into_iter()
            .filter(|entry| matches!(entry.node, FileNode::File(_) | FileNode::Link(_)))
            .map(|entry| format!("/app/{}", entry.path))
            .filter(|path| globs.matches(path))
            .collect();
        found.sort();
        Ok(found)
    }

    async fn read(&self, at: StateAt, path: &str) -> Result<Option<(FileNode, u32)>, SandboxFault> {
        let found = match at {
            StateAt::Look => {
                let entries = self.sandbox.get(path).await?.unwrap_or_default();
                entries.into_iter().find(|entry| entry.path.is_empty())
            }
            _ => self.sandbox.base(path).await?,
        };
        Ok(found.map(|entry| (entry.node, entry.mode)))
    }

    async fn run(&self, run: &ForkedRun) -> Result<Finished, SandboxFault> {
        let fork = match &run.of {
            ForkOf::Look => self.sandbox.fork(&LIMITS).await?,
            ForkOf::BaseWith(paths) => self.sandbox.restore(paths, &LIMITS).await?,
        };
        for placed in &run.placed {
            fork.put(&placed.directory, &placed.files).await?;
        }
        let mut command = run.command.clone();
        command.cwd.get_or_insert_with(|| "/app".into());
        let finished = fork.exec(&command).await?;
        fork.end().await?;
        Ok(finished)
    }
}
