//! Whole sessions over simulated parts, three turns and four requirements, each with its log in a file.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use adapters::{
    agents::Solution,
    catalog::AgentMake,
    checks::SandboxChecks,
    clock::VirtualClock,
    sandboxes::simulated::{FaultPlan, SimulatedSandboxes},
    users::TemplateUser,
};
use domain::{
    evidence::{Channel, ChannelSet},
    fault::Ending,
    ids::{AgentName, Attempt, Hash, Repeat},
    plan::{Arm, BenchmarkSide, Configuration, Plan, PlanRequest, UserKind, expand},
    session::{Entry, Scenario},
};
use engine::{
    cancel::Canceller,
    completion::Verifier,
    drive::session,
    materialise::{base_spec, task_limits},
    ports::{
        record::{Blob, Record, RecordError},
        sandbox::{Base, FileEntry, FileNode, Sandboxes},
        watch::{SessionKey, Unwatched},
    },
    setup::{SessionPorts, Setup},
};
use store::{
    payload::Payload,
    release_files::{LoadedRelease, TreeFile, open_release},
    run::{AttemptHead, HostRecord, RunRecord},
    seal::Seal,
    utc,
    writer::{RunWriter, SessionWriter},
};

use super::{Figure, resident_mb};

/// Sessions of the two measurements of memory.
const FEW: u32 = 100;
const MANY: u32 = 100_000;

/// Sessions of the measurement of speed.
const TIMED: u32 = 20_000;

pub(super) fn measure() -> Vec<Figure> {
    run(FEW);
    let few_mb = resident_mb();
    let took = run(TIMED);
    run(MANY - TIMED);
    let many_mb = resident_mb();
    vec![
        Figure {
            name: "sessions a second (simulated, logs in files)",
            measured: format!("{:.0}/s", f64::from(TIMED) / took.as_secs_f64()),
            promised: "≥ 3,000/s on two cores",
        },
        Figure {
            name: "memory after 100 and after 100,000 sessions",
            measured: format!("{few_mb:.0} and {many_mb:.0} MiB"),
            promised: "flat",
        },
    ]
}

/// The release that is measured on.
pub(super) fn release() -> LoadedRelease {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench-release");
    open_release(&folder).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Channels of the simulated sandbox and a script together.
pub(super) fn channels() -> ChannelSet {
    Channel::ALL.into_iter().filter(|channel| *channel != Channel::Network).collect()
}

/// A plan of so many repeats of the one pair.
pub(super) fn plan(release: &LoadedRelease, repeats: u32) -> Plan {
    let request = PlanRequest {
        configuration: Configuration {
            agent: AgentName::new("oracle"),
            model: None,
            effort: None,
            settings: Vec::new(),
        },
        arm: Arm::Progressive,
        side: BenchmarkSide {
            user: UserKind::Template,
            sandbox: "simulated".to_owned(),
            budget_multiplier: 1,
            interaction_limit_sec: None,
            jobs: 2,
        },
        seed: 1,
        repeats,
        pairs: Vec::new(),
        limit: None,
        channels: channels(),
    };
    expand(&release.release, &request).expect("the bench release fits the simulated sandbox")
}

/// Runs so many sessions on two threads, logs in files of a memory file system; the time that it took.
fn run(sessions: u32) -> Duration {
    let folder = tempfile::tempdir_in(memory_folder()).expect("a folder");
    run_in(folder.path(), sessions)
}

/// Where synced files cost no disk.
fn memory_folder() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() }
}

/// Runs so many sessions into a run directory.
pub(super) fn run_in(folder: &Path, sessions: u32) -> Duration {
    let release = Arc::new(release());
    let plan = Arc::new(plan(&release, sessions));
    let path = folder.join("run");
    let writer = RunWriter::create(&path, &record(), &plan, &release).expect("the run is written");
    let began = Instant::now();
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (release, plan, writer) = (release.clone(), plan.clone(), writer.clone());
            scope.spawn(move || one_thread(&release, &plan, &writer, half));
        }
    });
    began.elapsed()
}

/// What the sessions of a thread share.
struct Shared {
    sandboxes: SimulatedSandboxes,
    base: Base,
}

fn one_thread(release: &LoadedRelease, plan: &Plan, writer: &RunWriter, half: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime needs nothing of the host");
    runtime.block_on(async {
        // As in a run, what sessions share is made once.
        let clock = Arc::new(VirtualClock::default());
        let sandboxes = SimulatedSandboxes::new(clock, FaultPlan::default());
        let pair = &release.release.pairs[&plan.specs[0].pair];
        let task = &release.release.tasks[&pair.task];
        let base = base(&sandboxes, task, pair, &release.tasks[&task.id]).await;
        let shared = Shared { sandboxes, base };
        for spec in plan.specs.iter().skip(half).step_by(2) {
            one(release, spec, writer, &shared).await;
        }
    });
}

async fn one(
    release: &LoadedRelease,
    spec: &domain::plan::SessionSpec,
    writer: &RunWriter,
    shared: &Shared,
) {
    let pair = &release.release.pairs[&spec.pair];
    let task = &release.release.tasks[&pair.task];
    let files = &release.tasks[&task.id];
    let clock = Arc::new(VirtualClock::default());
    let sandboxes = Arc::new(shared.sandboxes.on_clock(clock.clone()));
    let arm = Arm::Progressive;
    let scenario = Scenario::compile(&release.release, spec, arm, UserKind::Template, &channels())
        .expect("the bench release is whole");
    let key = SessionKey { pair: pair.id.clone(), repeat: spec.repeat, attempt: Attempt(1) };
    let solution = Solution {
        files: entries(&files.solution),
        env: task.solution_env.resolve(|_| None).expect("no variable of the host"),
    };
    let script = release.pairs[&pair.id].oracle.clone().expect("an oracle");
    let setup = Setup {
        key,
        scenario: Arc::new(scenario),
        base: Ok(shared.base.clone()),
        limits: task_limits(task),
        reach: domain::release::Policy::default(),
        healthcheck: None,
        agent_user: None,
        skills_dir: None,
        tool_servers: Vec::new(),
        verifier: Arc::new(Verifier::new(
            task,
            None,
            &task.environment.workdir,
            (
                task.verifier.env.resolve(|_| None).expect("no variable of the host"),
                entries(&files.tests),
            ),
            None,
        )),
        steps: Arc::default(),
        check_files: Arc::from(Vec::<FileEntry>::new()),
    };
    let ports = SessionPorts {
        sandboxes,
        agent: AgentMake::Oracle { script, solution }.agent(),
        user: Arc::new(TemplateUser),
        checks: Arc::new(SandboxChecks),
        clock,
        wires: Arc::new(adapters::wire::Egress),
        gateways: None,
        record: Arc::new(FileRecord(open(writer, spec.repeat, &pair.id))),
        watch: Arc::new(Unwatched),
    };
    let outcome = session(setup, ports, Canceller::default().listen()).await;
    assert_eq!(outcome.ending, Ending::Accepted, "a measured session must be a whole one");
}

async fn base(
    sandboxes: &SimulatedSandboxes,
    task: &domain::release::Task,
    pair: &domain::release::Pair,
    files: &store::release_files::TaskFiles,
) -> Base {
    let spec = base_spec(
        &task.environment,
        task_limits(task),
        &pair.environment,
        std::collections::BTreeMap::new(),
        entries(&files.environment),
        engine::ports::sandbox::Image::None,
    );
    sandboxes.materialise(&spec).await.expect("a base is made")
}

fn open(writer: &RunWriter, repeat: Repeat, pair: &domain::ids::PairId) -> SessionWriter {
    let head = AttemptHead {
        pair: pair.clone(),
        repeat,
        attempt: Attempt(1),
        user: UserKind::Template,
        channels: channels(),
        started_utc: utc::text(SystemTime::UNIX_EPOCH),
    };
    writer.open_attempt(&head).expect("the attempt is free")
}

fn entries(files: &[TreeFile]) -> Vec<FileEntry> {
    files
        .iter()
        .map(|file| FileEntry {
            path: file.path.clone(),
            node: FileNode::File(file.content.clone()),
            mode: file.mode,
        })
        .collect()
}

fn record() -> RunRecord {
    RunRecord {
        tool: "xtask bench".to_owned(),
        protocol: domain::plan::PROTOCOL,
        started_utc: utc::text(SystemTime::UNIX_EPOCH),
        host: HostRecord {
            sandbox: "simulated".to_owned(),
            channels: channels(),
            enforced: Vec::new(),
            shortfalls: Vec::new(),
            is_root: false,
            cpus: 2,
            memory_mb: None,
            kernel: String::new(),
            toolchains: Default::default(),
        },
        models: None,
    }
}

/// A session's record in files; syncing is left out, as the promise says.
struct FileRecord(SessionWriter);

impl Record for FileRecord {
    fn append(&self, entry: &Entry) -> Result<(), RecordError> {
        self.0.append(entry).map_err(|error| RecordError(error.to_string()))
    }

    fn sync(&self) -> Result<(), RecordError> {
        Ok(())
    }

    fn put(&self, blob: Blob<'_>) -> Result<Hash, RecordError> {
        let payload = match blob {
            Blob::Manifest(manifest) => Payload::Manifest(manifest),
            Blob::Changes(changes) => Payload::Changes(changes),
            Blob::Diffs(diffs) => Payload::Diffs(diffs),
            Blob::Processes(processes) => Payload::Processes(processes),
            Blob::Network(attempts) => Payload::Network(attempts),
            Blob::Calls(calls) => Payload::Calls(calls),
            Blob::Messages(messages) => Payload::Messages(messages),
            Blob::UserWords(words) => Payload::UserWords(words),
            Blob::Artifacts(collected) => Payload::Artifacts(collected),
            Blob::Bytes(bytes) => Payload::Bytes(bytes),
            Blob::Seal(seal) => {
                let seal = Seal {
                    base: seal.base.clone(),
                    manifest: seal.manifest.clone(),
                    unkept: seal.unkept.clone(),
                };
                return self.0.put_seal(&seal).map_err(|error| RecordError(error.to_string()));
            }
        };
        self.0.put(payload).map_err(|error| RecordError(error.to_string()))
    }
}
