//! A session made of a bundled release: [`Staged`] holds the parts, tests change what they ask about.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

use adapters::{
    agents::{ScriptedAgent, Solution},
    checks::SandboxChecks,
    users::TemplateUser,
};
use domain::{
    evidence::{Channel, ChannelSet},
    ids::{Attempt, Hash, PairId, Repeat},
    plan::{Arm, BenchmarkSide, SessionSpec, UserKind, limits},
    release::{Healthcheck, Policy},
    session::{Answer, CompletionOutcome, Entry, Event, Scenario, Session, replay},
};
use engine::{
    cancel::Canceller,
    completion::{SeparateBase, Verifier, VerifierHome},
    drive::{SessionOutcome, session},
    materialise::{base_spec, materialise, task_limits},
    ports::{
        agent::Agent,
        clock::Clock,
        gateway::Gateways,
        record::{Blob, Record, RecordError},
        sandbox::{FileEntry, FileNode, Sandboxes},
        watch::{SessionKey, Unwatched},
    },
    setup::{SessionPorts, Setup, StepParts},
};
use store::release_files::{LoadedRelease, TreeFile, open_release};

/// A session that is about to start.
pub struct Staged {
    pub pair: PairId,
    pub release: LoadedRelease,
    pub scenario: Scenario,
    pub verifier: Verifier,
    pub steps: Vec<StepParts>,
    pub agent: ScriptedAgent,
    /// What its sandbox may reach.
    pub reach: Policy,
    /// Who works in its place, with a model behind a gateway.
    pub with_model: Option<(Arc<dyn Agent>, Arc<dyn Gateways>)>,
    pub healthcheck: Option<Healthcheck>,
    /// The tests have a sandbox of their own, made as the agent's was.
    pub is_separate: bool,
    pub check_files: Vec<FileEntry>,
}

/// A session that has ended.
pub struct Ended {
    pub outcome: SessionOutcome,
    pub entries: Vec<Entry>,
    pub session: Session,
    pub blobs: BTreeMap<Hash, String>,
}

impl Staged {
    /// One pair of a bundled release with its oracle.
    pub fn of(release: &str, pair: &str, arm: Arm) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../releases").join(release);
        let release = open_release(&folder).unwrap_or_else(|problems| panic!("{problems:?}"));
        let pair = PairId::new(pair);
        let typed = &release.release.pairs[&pair];
        let task = &release.release.tasks[&typed.task];
        let side = BenchmarkSide {
            user: UserKind::Template,
            sandbox: "local".to_owned(),
            budget_multiplier: 1,
            interaction_limit_sec: None,
            jobs: 1,
        };
        let limits = limits(typed, task, &side);
        let spec = SessionSpec {
            pair: pair.clone(),
            repeat: Repeat(1),
            draw: 7,
            limits,
            steps_agent_ms: Vec::new(),
        };
        let channels: ChannelSet =
            Channel::ALL.into_iter().filter(|channel| *channel != Channel::Network).collect();
        let scenario =
            Scenario::compile(&release.release, &spec, arm, UserKind::Template, &channels)
                .expect("a bundled release is whole");
        let files = &release.tasks[&typed.task];
        let env = task.verifier.env.resolve(|_| None).expect("no variable of the host");
        let told = (env, entries(&files.tests));
        let verifier = Verifier::new(task, None, &task.environment.workdir, told, None);
        let solution = Solution {
            files: entries(&files.solution),
            env: task.solution_env.resolve(|_| None).expect("no variable of the host"),
        };
        let oracle = release.pairs[&pair].oracle.clone().expect("a bundled pair has an oracle");
        let agent = ScriptedAgent::of_pair("oracle", oracle, solution);
        let check_files = entries(&release.pairs[&pair].checks);
        Self {
            pair,
            scenario,
            verifier,
            steps: Vec::new(),
            agent,
            reach: Policy::default(),
            with_model: None,
            healthcheck: None,
            is_separate: false,
            check_files,
            release,
        }
    }

    /// The reference solution of its task.
    pub fn solution(&self) -> Solution {
        let task = &self.release.release.pairs[&self.pair].task;
        let env = self.release.release.tasks[task]
            .solution_env
            .resolve(|_| None)
            .expect("no variable of the host");
        Solution { files: entries(&self.release.tasks[task].solution), env }
    }

    /// Runs it.
    pub async fn run(self, sandboxes: Arc<dyn Sandboxes>, clock: Arc<dyn Clock>) -> Ended {
        self.run_until(sandboxes, clock, Canceller::default()).await
    }

    /// Runs it while somebody can stop it.
    pub async fn run_until(
        self,
        sandboxes: Arc<dyn Sandboxes>,
        clock: Arc<dyn Clock>,
        canceller: Canceller,
    ) -> Ended {
        let typed = &self.release.release.pairs[&self.pair];
        let task = &self.release.release.tasks[&typed.task];
        let environment = entries(&self.release.tasks[&typed.task].environment);
        let none = engine::ports::sandbox::Image::None;
        let spec = base_spec(
            &task.environment,
            task_limits(task),
            &typed.environment,
            BTreeMap::new(),
            environment,
            none,
        );
        let digest = spec.digest.clone();
        let mut bases = materialise(sandboxes.clone(), [spec], 1).await;
        let base = bases.remove(&digest).expect("it was asked for");
        let mut verifier = self.verifier;
        if self.is_separate {
            let own = SeparateBase { base: base.clone(), holds_tests: false };
            verifier.home = VerifierHome::Separate(own);
        }
        let record = Arc::new(Kept::default());
        let scenario = Arc::new(self.scenario);
        let setup = Setup {
            key: SessionKey { pair: self.pair.clone(), repeat: Repeat(1), attempt: Attempt(1) },
            scenario: scenario.clone(),
            base,
            limits: task_limits(task),
            reach: self.reach,
            healthcheck: self.healthcheck,
            agent_user: None,
            skills_dir: None,
            tool_servers: Vec::new(),
            verifier: Arc::new(verifier),
            steps: self.steps.into(),
            check_files: self.check_files.into(),
        };
        let (agent, gateways): (Arc<dyn Agent>, _) = match self.with_model {
            Some((agent, gateways)) => (agent, Some(gateways)),
            None => (Arc::new(self.agent), None),
        };
        let ports = SessionPorts {
            sandboxes,
            agent,
            user: Arc::new(TemplateUser),
            checks: Arc::new(SandboxChecks),
            clock,
            wires: Arc::new(adapters::wire::Egress),
            gateways,
            record: record.clone(),
            watch: Arc::new(Unwatched),
        };
        let outcome = session(setup, ports, canceller.listen()).await;
        let entries = record.entries.lock().expect("no holder panics").clone();
        let session = replay(scenario, &entries).expect("its own log replays");
        let blobs = record.blobs.lock().expect("no holder panics").clone();
        Ended { outcome, entries, session, blobs }
    }
}

impl Ended {
    /// The answers of the session in order.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Answered(_, answer) => Some(answer),
            _ => None,
        })
    }

    /// What the native verifier left.
    pub fn completion(&self) -> Option<&CompletionOutcome> {
        self.session.completion().map(|report| &report.outcome)
    }

    /// The whole conversation and what went wrong, for a failing test.
    pub fn story(&self) -> String {
        let lines = self.session.dialogue().map(|line| format!("{line:?}\n"));
        let verifier = self.session.completion().and_then(|report| report.output.as_ref());
        let output = verifier.and_then(|hash| self.blobs.get(hash)).cloned().unwrap_or_default();
        format!(
            "{:?} {:?}\n{}verifier: {:?}\n{output}",
            self.outcome,
            self.session.flags(),
            lines.collect::<String>(),
            self.completion(),
        )
    }
}

/// Files of a release as a sandbox takes them.
pub fn entries(files: &[TreeFile]) -> Vec<FileEntry> {
    let entry = |file: &TreeFile| FileEntry {
        path: file.path.clone(),
        node: FileNode::File(file.content.clone()),
        mode: file.mode,
    };
    files.iter().map(entry).collect()
}

/// One file with its text.
pub fn file(path: &str, text: &str) -> FileEntry {
    let node = FileNode::File(text.as_bytes().to_vec());
    FileEntry { path: path.to_owned(), node, mode: 0o755 }
}

/// A journal and blobs in memory.
#[derive(Default)]
struct Kept {
    entries: Mutex<Vec<Entry>>,
    blobs: Mutex<BTreeMap<Hash, String>>,
}

impl Record for Kept {
    fn append(&self, entry: &Entry) -> Result<(), RecordError> {
        self.entries.lock().expect("no holder panics").push(entry.clone());
        Ok(())
    }

    fn sync(&self) -> Result<(), RecordError> {
        Ok(())
    }

    fn put(&self, blob: Blob<'_>) -> Result<Hash, RecordError> {
        let (hash, shown) = match blob {
            Blob::Bytes(bytes) => {
                (blake3::hash(bytes), String::from_utf8_lossy(bytes).into_owned())
            }
            other => {
                let shown = format!("{other:?}");
                (blake3::hash(shown.as_bytes()), shown)
            }
        };
        let hash = Hash::new(hash.to_hex().as_str());
        self.blobs.lock().expect("no holder panics").insert(hash.clone(), shown);
        Ok(hash)
    }
}
