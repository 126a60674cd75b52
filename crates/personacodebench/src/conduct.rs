//! Executes what remains of a run: bases, sessions in parallel, re-runs after faults ([`conduct`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, SystemTime},
};

use adapters::{
    checks::SandboxChecks, clock::RealClock, executors::LocalExecutor, users::TemplateUser,
    wire::Egress,
};
use domain::{
    controller::reach,
    evidence::{Channel, ChannelSet},
    ids::{Attempt, Hash, PairId, Repeat},
    plan::{AttemptState, UserKind, Work, WorkKind, remaining},
    release::{
        Home, HomeOrigin, McpServer, McpTransport, Pair, Policy, SeparateHome, Step, Task,
        WorkdirSource,
    },
    result::up_to_seal,
    session::{Answer, Entry, Event, Scenario},
};
use engine::{
    cancel::Canceller,
    completion::Verifier,
    materialise::{base_spec, environment_limits, materialise, new_enough, reached, task_limits},
    ports::{
        agent::{Agent, ToolServer, ToolTransport},
        record::{Record, Seal},
        sandbox::{Base, BaseSpec, FileEntry, FileNode, Limits, Network, SandboxFault},
        watch::{SessionKey, Watch},
    },
    regrade::{Past, regrade},
    run::{Assignment, Outfitter, RunOutcome, run},
    setup::{SessionPorts, Setup, StepParts},
};
use report::live::Live;
use store::{
    reader::{AttemptFound, RunReader},
    release_files::{LoadedRelease, TaskFiles, TreeFile},
    run::AttemptHead,
    utc,
    writer::RunWriter,
};

use crate::{
    agents::Agents,
    attempts::{Attempts, read_failure, refusal},
    failure::Failure,
    host::Host,
    models::AgentModel,
    options,
    record::{Kept, Recorder},
};

/// A repeat is tried so often in one invocation at the most; `pcb resume` tries on.
const ROUNDS_MAX: u32 = 2;

/// Processors that a session is taken to use whose task sets no limit.
const CPUS: f64 = 1.0;

/// Bases by the pair that they are for.
pub type Bases = BTreeMap<PairId, PairBases>;

/// The bases of one pair.
#[derive(Clone, Debug)]
pub struct PairBases {
    /// Where its agent works.
    pub agent: Result<Base, SandboxFault>,
    /// What the verifier of the task, or of each step, has for itself; none where it has nothing.
    pub verifiers: Vec<Option<Result<Base, SandboxFault>>>,
}

impl PairBases {
    /// Those that were made.
    pub fn made(&self) -> impl Iterator<Item = &Base> {
        self.agent.iter().chain(self.verifiers.iter().flatten().flatten())
    }
}

/// Everything that sessions of one run share.
pub struct Conduct<'a> {
    /// The run on disk.
    pub run: &'a RunReader,
    /// Its release.
    pub release: &'a LoadedRelease,
    /// The host.
    pub host: &'a Host,
    /// Bases of the release's pairs.
    pub bases: &'a Bases,
    /// What agent the configuration names.
    pub agents: Arc<Agents>,
    /// Who spreads sessions over the processors.
    pub executor: LocalExecutor,
    /// Who shows progress.
    pub live: Arc<Live>,
    /// Stops sessions.
    pub canceller: Canceller,
}

impl Conduct<'_> {
    /// Channels that sandbox and driver give together.
    fn channels(&self) -> ChannelSet {
        self.host.channels().union(&self.agents.channels()).copied().collect()
    }
}

/// Makes the base of every pair, each once.
///
/// # Errors
/// A variable of the host that a task wants is not set, or a task asks for something that this host cannot give.
pub async fn bases(
    release: &LoadedRelease,
    pairs: impl IntoIterator<Item = &PairId>,
    host: &Host,
    parallel: u32,
) -> Result<Bases, Failure> {
    let pairs: BTreeSet<&PairId> = pairs.into_iter().collect();
    let mut specs = Vec::new();
    let mut wanted = Vec::new();
    for id in pairs {
        let Some((pair, task)) = pair_and_task(release, id) else { continue };
        let files = release.tasks.get(&task.id);
        let agent = agent_spec(pair, task, files, host)?;
        let mut verifiers = Vec::new();
        for (at, step) in task.verifications().into_iter().enumerate() {
            verifiers.push(match task.verifier_home(step) {
                Home::Shared => None,
                Home::Separate(home) => {
                    let files = files.map(|files| (files, at));
                    Some(verifier_spec(pair, task, step, &home, files, host)?)
                }
            });
        }
        for spec in [&agent].into_iter().chain(verifiers.iter().flatten()) {
            if specs.iter().all(|other: &BaseSpec| other.digest != spec.digest) {
                host.examine(task, spec).await?;
            }
        }
        let digests: Vec<Option<Hash>> =
            verifiers.iter().map(|spec| spec.as_ref().map(|spec| spec.digest.clone())).collect();
        wanted.push((pair, agent.digest.clone(), digests));
        specs.push(agent);
        specs.extend(verifiers.into_iter().flatten());
    }
    let made = materialise(host.sandboxes.clone(), specs, parallel as usize).await;
    let unmade = || Err(SandboxFault::Lost("its base was not made".to_owned()));
    let base = |digest: &Hash| made.get(digest).cloned().unwrap_or_else(unmade);
    let of_pair = |(pair, agent, verifiers): (&Pair, Hash, Vec<Option<Hash>>)| {
        let agent =
            base(&agent).and_then(|base| new_enough(&base, &pair.environment).map(|()| base));
        let verifiers = verifiers.iter().map(|digest| digest.as_ref().map(base)).collect();
        (pair.id.clone(), PairBases { agent, verifiers })
    };
    Ok(wanted.into_iter().map(of_pair).collect())
}

fn agent_spec(
    pair: &Pair,
    task: &Task,
    files: Option<&TaskFiles>,
    host: &Host,
) -> Result<BaseSpec, Failure> {
    let own = files.map_or(&[][..], |files| &files.environment);
    let dockerfile = files.and_then(|files| files.dockerfile.as_deref());
    Ok(base_spec(
        &task.environment,
        task_limits(task),
        &pair.environment,
        options::resolve(&task.environment.env)?,
        entries(own),
        host.image(&task.environment, dockerfile),
    ))
}

/// What the base is made of that the verifier of a task, or of the step at a place, has for itself.
fn verifier_spec(
    pair: &Pair,
    task: &Task,
    step: Option<&Step>,
    home: &SeparateHome,
    files: Option<(&TaskFiles, usize)>,
    host: &Host,
) -> Result<BaseSpec, Failure> {
    let (folder, dockerfile) = match (&home.origin, files) {
        (HomeOrigin::Image(_), _) | (_, None) => (Vec::new(), None),
        (HomeOrigin::Pristine, Some((files, _))) => {
            (files.environment.clone(), files.dockerfile.clone())
        }
        (HomeOrigin::Tests, Some((files, _))) => with_dockerfile(&files.tests),
        (HomeOrigin::StepTests, Some((files, at))) => {
            with_dockerfile(files.steps.get(at).map_or(&[][..], |step| &step.tests))
        }
    };
    let network = reached(&task.verifier_network(step));
    Ok(base_spec(
        &home.environment,
        Limits { network, ..environment_limits(&home.environment) },
        &pair.environment,
        options::resolve(&home.environment.env)?,
        entries(&folder),
        host.image(&home.environment, dockerfile.as_deref()),
    ))
}

/// A folder as a build context, and the text of its Dockerfile.
fn with_dockerfile(folder: &[TreeFile]) -> (Vec<TreeFile>, Option<Vec<u8>>) {
    let (dockerfile, rest): (Vec<TreeFile>, Vec<TreeFile>) =
        folder.iter().cloned().partition(|file| file.path == "Dockerfile");
    (rest, dockerfile.into_iter().next().map(|file| file.content))
}

/// Runs what remains; what the operator or a fault leaves undone stays for a resume.
pub async fn conduct(conduct: &Conduct<'_>) -> Result<(), Failure> {
    for round_number in 1..=ROUNDS_MAX {
        let attempts = Attempts::read(conduct.run, &conduct.release.release)?;
        let work = remaining(&conduct.run.plan, &attempts.records);
        if work.is_empty() || conduct.canceller.listen().is_cancelled() {
            return Ok(());
        }
        if round_number > 1 {
            conduct.live.expect(work.len() as u64);
        }
        verify_again(conduct, &work).await?;
        let outcomes = round(conduct, work).await?;
        // Only what ended on the record with a fault, or cannot be graded, is tried again at once.
        let again = Attempts::read(conduct.run, &conduct.release.release)?;
        let is_settled = again.records.iter().all(|record| match record.state {
            AttemptState::Ended { remedy, .. } => !remedy.is_rerun(),
            AttemptState::Lost => record.regrades == 0,
            AttemptState::Running => true,
        });
        if is_settled || outcomes.iter().any(is_unrecorded) {
            return Ok(());
        }
    }
    Ok(())
}

/// Repeats the verification of attempts that were sealed; the agent is not run again. An attempt that cannot be
/// graded from its seal gets a grading that says so, and is run anew by the next round.
async fn verify_again(conduct: &Conduct<'_>, work: &[Work]) -> Result<(), Failure> {
    for work in work.iter().filter(|work| work.kind == WorkKind::Verify) {
        if conduct.canceller.listen().is_cancelled() {
            return Ok(());
        }
        let found = conduct.run.attempts().map_err(read_failure)?.into_iter().find(|found| {
            (&found.pair, found.repeat, found.attempt)
                == (&work.spec.pair, work.spec.repeat, work.attempt)
        });
        let Some(found) = found else { continue };
        let Some(log) = found.log().map_err(read_failure)? else { continue };
        let entries: Vec<Entry> = log.entries().collect::<Result<_, _>>().map_err(read_failure)?;
        let Some(sealed) = up_to_seal(&entries) else { continue };
        let wardrobe = Wardrobe::of(conduct);
        let recorder = match wardrobe.writer.open_regrade(&log.head) {
            Ok(session) => Recorder::new(session),
            Err(error) => {
                let why = shown(&error);
                conduct.live.say(&format!("a grading of {} cannot be written: {why}", found.pair));
                continue;
            }
        };
        let recorder = Arc::new(recorder);
        let user = log.head.user;
        if let Err(why) = verify(conduct, work, user, &found, sealed, recorder.clone()).await? {
            conduct.live.say(&format!("{} cannot be graded from its seal: {why}", found.pair));
            if let Err(error) = recorder.append(&refusal(sealed, &why)) {
                conduct.live.say(&format!("that cannot be written: {error}"));
            }
        }
    }
    Ok(())
}

/// One verification again, or why there can be none.
async fn verify(
    conduct: &Conduct<'_>,
    work: &Work,
    user: UserKind,
    found: &AttemptFound,
    sealed: &[Entry],
    recorder: Arc<Recorder>,
) -> Result<Result<(), String>, Failure> {
    let setup = assignment(conduct, work, user)?.setup;
    let seal = match digest_of(sealed).map(|digest| found.seal_of(digest)) {
        Some(Ok(Some(seal))) => seal,
        Some(Err(error)) => return Ok(Err(shown(&error))),
        Some(Ok(None)) | None => return Ok(Err("its seal is gone".to_owned())),
    };
    let agent = conduct.agents.agent(&found.pair).map_err(Failure::input)?;
    let ports = Wardrobe::of(conduct).ports(&setup.key, agent, recorder);
    let past = Past {
        entries: sealed,
        seal: Seal { base: seal.base, manifest: seal.manifest, unkept: seal.unkept },
        archive: &Kept(conduct.run.payloads()),
    };
    let graded = regrade(setup, ports, past, conduct.canceller.listen()).await;
    Ok(graded.map(drop).map_err(|error| error.to_string()))
}

/// The digest of the seal with which the entries end.
pub fn digest_of(sealed: &[Entry]) -> Option<&Hash> {
    match &sealed.last()?.event {
        Event::Answered(_, Answer::Sealed { digest, .. }) => Some(digest),
        _ => None,
    }
}

/// The name of a run's folder: unlike an agent's it is the run's own within a group.
pub fn run_name(run: &RunReader) -> String {
    let folder = run.layout().root();
    folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn is_unrecorded(outcome: &RunOutcome) -> bool {
    match outcome {
        RunOutcome::Ended(ended) => !ended.is_recorded,
        RunOutcome::NotStarted { .. } => true,
    }
}

async fn round(conduct: &Conduct<'_>, work: Vec<Work>) -> Result<Vec<RunOutcome>, Failure> {
    let mut assignments = Vec::new();
    for work in &work {
        if let WorkKind::Run { user } = work.kind {
            assignments.push(assignment(conduct, work, user)?);
        }
    }
    let outfitter = Arc::new(Wardrobe::of(conduct));
    let outcomes = run(assignments, outfitter, &conduct.executor, &conduct.canceller).await;
    for outcome in &outcomes {
        if let RunOutcome::NotStarted { key, why } = outcome {
            conduct.live.say(&format!("{} repeat {} did not start: {why}", key.pair, key.repeat));
        }
    }
    Ok(outcomes)
}

fn assignment(conduct: &Conduct<'_>, work: &Work, user: UserKind) -> Result<Assignment, Failure> {
    let release = &conduct.release;
    let lost = || Failure::input(format!("the release has no pair {}", work.spec.pair));
    let (_, task) = pair_and_task(release, &work.spec.pair).ok_or_else(lost)?;
    let mut channels = conduct.channels();
    if reached(task.agent_network()) == Network::Public {
        // A network of the sandbox's own has no wire at which it could be seen.
        channels.remove(&Channel::Network);
    }
    let channels = &channels;
    let scenario =
        Scenario::compile(&release.release, &work.spec, conduct.run.plan.arm, user, channels)
            .map_err(Failure::input)?;
    let setup = setup(release, conduct.bases, scenario, work.attempt)?;
    Ok(Assignment { setup, cpus: task.environment.cpus.unwrap_or(CPUS) })
}

/// What an attempt on a pair of the release is made of.
///
/// # Errors
/// The release lacks the pair, no base was made for it, or a variable of the host is not set.
pub fn setup(
    release: &LoadedRelease,
    bases: &Bases,
    mut scenario: Scenario,
    attempt: Attempt,
) -> Result<Setup, Failure> {
    let spec = scenario.spec.clone();
    let lost = || Failure::input(format!("the release has no pair {}", spec.pair));
    let (pair, task) = pair_and_task(release, &spec.pair).ok_or_else(lost)?;
    let files = release.tasks.get(&task.id);
    let checks = release.pairs.get(&pair.id).map_or(&[][..], |files| &files.checks);
    let PairBases { agent: base, verifiers } = bases.get(&pair.id).cloned().ok_or_else(lost)?;
    if let (Ok(base), WorkdirSource::Image) = (&base, task.environment.workdir_said_by) {
        scenario.workdir.clone_from(&base.workdir);
    }
    let workdir = scenario.workdir.as_str();
    let own = |at: usize| verifiers.get(at).cloned().flatten();
    let told = verifier_told(task, None, files)?;
    let verifier = match task.steps.is_empty() {
        true => Verifier::new(task, None, workdir, told, own(0)),
        false => Verifier::new(task, task.steps.last(), workdir, told, own(task.steps.len() - 1)),
    };
    let mut steps = Vec::new();
    for (at, step) in task.steps.iter().enumerate() {
        let told = verifier_told(task, Some((at, step)), files)?;
        let brought = files.and_then(|files| files.steps.get(at));
        steps.push(StepParts {
            verifier: Verifier::new(task, Some(step), workdir, told, own(at)),
            files: brought.map_or_else(Vec::new, |brought| entries(&brought.workdir)),
            setup_timeout: Duration::from_secs_f64(task.environment.build_timeout_sec),
        });
    }
    let reach = reach(task.agent_network(), &scenario.permissions, &scenario.requirements);
    Ok(Setup {
        key: SessionKey { pair: pair.id.clone(), repeat: spec.repeat, attempt },
        base,
        limits: Limits { network: own_network(&reach), ..task_limits(task) },
        reach,
        healthcheck: task.environment.healthcheck.clone(),
        agent_user: task.agent.user.clone(),
        skills_dir: task.environment.skills_dir.clone(),
        tool_servers: tool_servers(task)?,
        steps: steps.into(),
        verifier: Arc::new(verifier),
        check_files: entries(checks).into(),
        scenario: Arc::new(scenario),
    })
}

/// The servers of tools that a task names, with what variables of this host their headers stand for.
fn tool_servers(task: &Task) -> Result<Vec<ToolServer>, Failure> {
    let reached = |server: &McpServer| {
        let transport = match &server.transport {
            McpTransport::Sse { url, headers } => {
                ToolTransport::Sse { url: url.clone(), headers: options::resolve(headers)? }
            }
            McpTransport::Http { url, headers } => {
                ToolTransport::Http { url: url.clone(), headers: options::resolve(headers)? }
            }
            McpTransport::Stdio { command, args } => {
                ToolTransport::Stdio { command: command.clone(), args: args.clone() }
            }
        };
        Ok(ToolServer { name: server.name.clone(), transport })
    };
    task.environment.mcp_servers.iter().map(reached).collect()
}

/// What network of its own a sandbox has: only everything is reached without a wire.
fn own_network(policy: &Policy) -> Network {
    match policy {
        Policy::Open => Network::Public,
        Policy::Nothing | Policy::Listed(_) => Network::Off,
    }
}

/// Variables and tests of a verifier, those of a step laid over the task's; nothing where a folder was not read.
fn verifier_told(
    task: &Task,
    step: Option<(usize, &Step)>,
    files: Option<&TaskFiles>,
) -> Result<(BTreeMap<String, String>, Vec<FileEntry>), Failure> {
    let mut env = options::resolve(&task.verifier.env)?;
    let mut tests = files.map_or_else(Vec::new, |files| entries(&files.tests));
    if let Some((at, step)) = step {
        env.extend(options::resolve(&step.verifier.env)?);
        let own = files.and_then(|files| files.steps.get(at));
        let own = own.map_or_else(Vec::new, |own| entries(&own.tests));
        tests.retain(|file| !own.iter().any(|over| over.path == file.path));
        tests.extend(own);
    }
    Ok((env, tests))
}

/// Ports of a grading that nobody watches.
pub fn quiet_ports(host: &Host, agent: Arc<dyn Agent>, record: Arc<dyn Record>) -> SessionPorts {
    SessionPorts {
        sandboxes: host.sandboxes.clone(),
        agent,
        user: Arc::new(TemplateUser),
        checks: Arc::new(SandboxChecks),
        wires: Arc::new(Egress),
        gateways: None,
        clock: Arc::new(RealClock::begin()),
        record,
        watch: Arc::new(Nobody),
    }
}

/// Nobody watches.
struct Nobody;

impl Watch for Nobody {
    fn heard(&self, _: &SessionKey, _: &Entry) {}
}

/// A pair of the release with its task.
pub fn pair_and_task<'a>(release: &'a LoadedRelease, id: &PairId) -> Option<(&'a Pair, &'a Task)> {
    let pair = release.release.pairs.get(id)?;
    Some((pair, release.release.tasks.get(&pair.task)?))
}

/// Files of a release as a sandbox takes them.
pub fn entries(files: &[TreeFile]) -> Vec<FileEntry> {
    files
        .iter()
        .map(|file| FileEntry {
            path: file.path.clone(),
            node: FileNode::File(file.content.clone()),
            mode: file.mode,
        })
        .collect()
}

/// An error with its sources.
fn shown(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    text
}

/// Gives each session its ports.
struct Wardrobe {
    writer: RunWriter,
    host: Host,
    channels: ChannelSet,
    agents: Arc<Agents>,
    live: Arc<Live>,
    label: String,
}

impl Outfitter for Wardrobe {
    fn outfit(&self, setup: &Setup) -> Result<SessionPorts, String> {
        let agent = self.agents.agent(&setup.key.pair)?;
        let head = AttemptHead {
            pair: setup.key.pair.clone(),
            repeat: setup.key.repeat,
            attempt: setup.key.attempt,
            user: setup.scenario.user,
            channels: self.channels.clone(),
            started_utc: utc::text(SystemTime::now()),
        };
        let writer = self.writer.open_attempt(&head).map_err(|error| shown(&error))?;
        Ok(self.ports(&setup.key, agent, Arc::new(Recorder::new(writer))))
    }
}

impl Wardrobe {
    fn of(conduct: &Conduct<'_>) -> Self {
        Self {
            writer: RunWriter::resume(conduct.run.layout().root()),
            host: conduct.host.clone(),
            channels: conduct.channels(),
            agents: conduct.agents.clone(),
            live: conduct.live.clone(),
            label: run_name(conduct.run),
        }
    }

    fn ports(
        &self,
        key: &SessionKey,
        agent: Arc<dyn Agent>,
        recorder: Arc<Recorder>,
    ) -> SessionPorts {
        SessionPorts {
            sandboxes: self.host.sandboxes_of(&self.label, key, self.agents.layer()),
            agent,
            user: Arc::new(TemplateUser),
            checks: Arc::new(SandboxChecks),
            wires: Arc::new(Egress),
            gateways: self.agents.model().map(AgentModel::gateways),
            clock: Arc::new(RealClock::begin()),
            record: recorder,
            watch: Arc::new(Watcher { live: self.live.clone(), label: self.label.clone() }),
        }
    }
}

/// Shows a session's progress.
struct Watcher {
    live: Arc<Live>,
    label: String,
}

impl Watch for Watcher {
    fn heard(&self, session: &SessionKey, entry: &Entry) {
        let name = session_name(&self.label, &session.pair, session.repeat, session.attempt);
        self.live.heard(&name, entry);
    }
}

fn session_name(label: &str, pair: &PairId, repeat: Repeat, attempt: Attempt) -> String {
    let again = if attempt.0 > 1 { format!(" (attempt {attempt})") } else { String::new() };
    format!("{label} {pair} #{repeat}{again}")
}
