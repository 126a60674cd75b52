//! Making sandboxes on this host: [`LocalSandboxes`] is the port, [`Maker`] what every sandbox needs to make others.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use domain::evidence::Channel;
use engine::ports::sandbox::{
    Base, BaseSpec, Capabilities, CommandSpec, Ended, FileEntry, FileNode, LimitKind, Limits,
    Network, Recording, Sandbox, SandboxFault, SandboxKind, Sandboxes,
};
use tokio::{sync::OnceCell, task::spawn_blocking};

use crate::{
    process::Variables,
    sandboxes::{layer::AgentLayer, making::Making},
};

use super::{
    cgroups::{Cgroup, Hierarchy},
    connection::{Beginning, Connection},
    explain::{Host, explain},
    protocol::{Rlimits, Setup},
    sandbox::{LocalSandbox, Parts, host_fault},
    state::{SessionDirectory, StateDirectory, remove_tree},
    toolchains::{self, Toolchains},
    view::{BaseView, Layers},
};
use crate::sandboxes::supervision::protocol::{Refusal, Step};

const MEMORY_MB: u64 = 4096;
const PROCESSES_MAX: u64 = 1024;
const DISK_MB: u64 = 10 * 1024;
/// Where a task's environment stands while it is set up.
const ENVIRONMENT: &str = "environment";
const SETUP_OUTPUT_MAX: usize = 16 * 1024;

/// Sandboxes made of namespaces of this host.
pub struct LocalSandboxes {
    maker: Arc<Maker>,
    capabilities: OnceCell<Result<Capabilities, SandboxFault>>,
    /// Bases being made, so that equal ones are made once.
    making: Making,
    variables: Variables,
}

/// What it takes to make a sandbox.
pub(super) struct Maker {
    supervisor: PathBuf,
    state: Arc<StateDirectory>,
    hierarchy: Hierarchy,
    is_root: bool,
}

impl LocalSandboxes {
    /// Sandboxes whose supervisor is this program (it must call `supervisor_main`) and whose layers live in this
    /// directory, which may be shared by processes.
    ///
    /// # Errors
    /// The state directory cannot be made or cleaned.
    pub fn new(supervisor: &Path, state_dir: &Path) -> io::Result<Self> {
        let maker = Maker {
            supervisor: supervisor.to_path_buf(),
            state: StateDirectory::open(state_dir)?,
            hierarchy: Hierarchy::find(),
            is_root: nix::unistd::geteuid().is_root(),
        };
        let (maker, making) = (Arc::new(maker), Making::default());
        let variables = Variables::new();
        Ok(Self { maker, capabilities: OnceCell::new(), making, variables })
    }

    /// Variables by which toolchains of the host are found, see [`crate::process::PASSED_ON`]; none reaches a
    /// sandbox.
    pub fn finding_toolchains_by(mut self, variables: Variables) -> Self {
        self.variables = variables;
        self
    }

    /// The same, with an agent's programs in every sandbox of a session.
    pub fn furnished(self: &Arc<Self>, agent: AgentLayer) -> Arc<dyn Sandboxes> {
        Arc::new(Furnished { sandboxes: self.clone(), agent })
    }

    async fn furnished_with(
        &self,
        agent: Option<&AgentLayer>,
        base: &Base,
        limits: &Limits,
        record: Recording,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        let digest = base.digest.as_str();
        let base = self
            .open_base(digest)
            .ok_or_else(|| SandboxFault::Lost(format!("base {digest} was not made")))?;
        let prepared = self.maker.prepare(Arc::new(base), Vec::new(), agent)?;
        Ok(Box::new(self.maker.begin(prepared, limits, record).await?))
    }

    /// Tries everything once in a sandbox that is thrown away.
    async fn probe(&self) -> Result<Capabilities, SandboxFault> {
        let made = self.new_base("probe", BTreeMap::new(), "/", Toolchains::default()).await?;
        let base = Arc::new(made);
        let mut shortfalls = Vec::new();
        let mut channels = vec![
            Channel::Manifest,
            Channel::Diff,
            Channel::Processes,
            Channel::Network,
            Channel::Git,
            Channel::Tests,
            Channel::Order,
            Channel::Resources,
            Channel::Artifacts,
        ];
        let limits = no_limits();
        for recording in [Recording::Processes, Recording::Nothing] {
            let prepared = self.maker.prepare(Arc::clone(&base), Vec::new(), None)?;
            match self.maker.try_begin(prepared, &limits, recording).await? {
                Ok(sandbox) => {
                    run_true(&sandbox).await?;
                    if let Err(fault) = sandbox.doorway(&[]).await {
                        channels.retain(|channel| *channel != Channel::Network);
                        shortfalls.push(format!("what the agent reaches for is not seen: {fault}"));
                    }
                    sandbox.end().await?;
                    break;
                }
                Err(refusal) if refusal.step == Step::ProcessLog => {
                    channels.retain(|channel| *channel != Channel::Processes);
                    shortfalls.push(explain(&refusal, &Host::read()));
                }
                Err(refusal) => {
                    return Err(SandboxFault::Unsupported(explain(&refusal, &Host::read())));
                }
            }
        }
        // A base that stays is taken away by the next run.
        let _ = remove_tree(&base.path);
        let mut enforced = self.maker.hierarchy.enforced();
        shortfalls.extend(self.maker.shortfalls(&enforced));
        if !enforced.contains(&LimitKind::Processes) && !self.maker.is_root {
            enforced.push(LimitKind::Processes);
        }
        enforced.push(LimitKind::Disk);
        enforced.sort();
        Ok(Capabilities { channels, enforced, shortfalls, is_root: self.maker.is_root })
    }

    async fn new_base(
        &self,
        what: &str,
        env: BTreeMap<String, String>,
        workdir: &str,
        toolchains: Toolchains,
    ) -> Result<BaseView, SandboxFault> {
        let fault = |error: io::Error| host_fault(&format!("base of {what}"), &error);
        let path = self.maker.state.new_base().map_err(fault)?;
        let workdir = workdir.to_owned();
        let made = spawn_blocking(move || BaseView::make(&path, env, workdir, toolchains)).await;
        made.map_err(|error| SandboxFault::Lost(error.to_string()))?.map_err(fault)
    }

    /// Makes a base and gives it its name.
    async fn make(&self, spec: &BaseSpec) -> Result<(), SandboxFault> {
        let toolchains = toolchains::find(&spec.toolchains, &self.variables).await?;
        let digest = spec.digest.as_str();
        let made = self.new_base(digest, spec.env.clone(), &spec.workdir, toolchains).await?;
        let base = Arc::new(made);
        let result = self.set_up(&base, spec).await;
        match result {
            Ok(()) => self
                .maker
                .state
                .publish(&base.path, digest)
                .map_err(|error| host_fault("base", &error)),
            Err(fault) => {
                // What stays is taken away by the next run.
                let _ = remove_tree(&base.path);
                Err(fault)
            }
        }
    }

    /// Runs the task's setup and keeps what it wrote.
    async fn set_up(&self, base: &Arc<BaseView>, spec: &BaseSpec) -> Result<(), SandboxFault> {
        let prepared = self.maker.prepare(Arc::clone(base), Vec::new(), None)?;
        let sandbox = self.maker.begin(prepared, &spec.limits, Recording::Nothing).await?;
        if let Some(script) = spec.environment.iter().find(|entry| entry.path == "setup.sh") {
            sandbox.put(&format!("/{ENVIRONMENT}"), &spec.environment).await?;
            let finished = sandbox.exec(&setup_command(script, spec.setup_timeout)).await?;
            if finished.ended != Ended::Exited(0) {
                let output = [finished.stdout, finished.stderr].concat();
                let output = String::from_utf8_lossy(&output);
                let ended = finished.ended;
                return Err(SandboxFault::Setup(format!("setup.sh {ended:?}: {}", output.trim())));
            }
            let (path, node) = (ENVIRONMENT.to_owned(), FileNode::Absent);
            sandbox.put("/", &[FileEntry { path, node, mode: 0 }]).await?;
        }
        sandbox.put(&spec.workdir, &[]).await?;
        sandbox.end().await?;
        base.take_layer(&sandbox.layers().session).map_err(|error| host_fault("base", &error))
    }

    fn open_base(&self, digest: &str) -> Option<BaseView> {
        BaseView::open(&self.maker.state.base(digest)).ok()
    }
}

fn setup_command(script: &FileEntry, timeout: Duration) -> CommandSpec {
    let path = format!("/{ENVIRONMENT}/setup.sh");
    let is_executable = script.mode & 0o111 != 0
        && matches!(&script.node, FileNode::File(bytes) if bytes.starts_with(b"#!"));
    let argv = if is_executable { vec![path] } else { vec!["/bin/sh".to_owned(), path] };
    CommandSpec {
        argv,
        cwd: Some(format!("/{ENVIRONMENT}")),
        env: BTreeMap::new(),
        user: None,
        stdin: Vec::new(),
        timeout,
        output_max: SETUP_OUTPUT_MAX,
    }
}

fn no_limits() -> Limits {
    Limits {
        memory_mb: None,
        processes_max: None,
        disk_mb: None,
        cpus: None,
        gpus: 0,
        network: Network::Off,
    }
}

async fn run_true(sandbox: &LocalSandbox) -> Result<(), SandboxFault> {
    let command = CommandSpec {
        argv: vec!["true".to_owned()],
        cwd: Some("/".to_owned()),
        env: BTreeMap::new(),
        user: None,
        stdin: Vec::new(),
        timeout: Duration::from_secs(20),
        output_max: 1024,
    };
    let finished = sandbox.exec(&command).await?;
    if finished.is_success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
    Err(SandboxFault::Unsupported(format!("programs do not run: {:?} {stderr}", finished.ended)))
}

#[async_trait::async_trait]
impl Sandboxes for LocalSandboxes {
    fn kind(&self) -> SandboxKind {
        SandboxKind::Local
    }

    async fn capabilities(&self) -> Result<Capabilities, SandboxFault> {
        self.capabilities.get_or_init(|| self.probe()).await.clone()
    }

    async fn materialise(&self, spec: &BaseSpec) -> Result<Base, SandboxFault> {
        let digest = spec.digest.as_str().to_owned();
        let _turn = self.making.turn(&digest).await;
        if self.open_base(&digest).is_none() {
            self.make(spec).await?;
        }
        let base = self
            .open_base(&digest)
            .ok_or_else(|| SandboxFault::Lost(format!("base {digest} cannot be read")))?;
        let toolchain_versions = base.description.toolchains.versions;
        let workdir = spec.workdir.clone();
        Ok(Base { digest: spec.digest.clone(), workdir, toolchain_versions })
    }

    async fn provision(
        &self,
        base: &Base,
        limits: &Limits,
        record: Recording,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.furnished_with(None, base, limits, record).await
    }
}

/// Sandboxes in which an agent's programs stand.
struct Furnished {
    sandboxes: Arc<LocalSandboxes>,
    agent: AgentLayer,
}

#[async_trait::async_trait]
impl Sandboxes for Furnished {
    fn kind(&self) -> SandboxKind {
        self.sandboxes.kind()
    }

    async fn capabilities(&self) -> Result<Capabilities, SandboxFault> {
        self.sandboxes.capabilities().await
    }

    async fn materialise(&self, spec: &BaseSpec) -> Result<Base, SandboxFault> {
        self.sandboxes.materialise(spec).await
    }

    async fn provision(
        &self,
        base: &Base,
        limits: &Limits,
        record: Recording,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        // What verifies has no agent in it.
        let agent = (record == Recording::Processes).then_some(&self.agent);
        self.sandboxes.furnished_with(agent, base, limits, record).await
    }
}

impl Maker {
    /// A new session directory with its layers.
    pub(super) fn prepare(
        &self,
        base: Arc<BaseView>,
        below: Vec<Arc<SessionDirectory>>,
        agent: Option<&AgentLayer>,
    ) -> Result<Layers, SandboxFault> {
        let prepare = || Layers::prepare(base, Arc::new(self.state.new_session()?), below, agent);
        prepare().map_err(|error| host_fault("session directory", &error))
    }

    /// Starts a sandbox on prepared layers; a refusal of the host is a fault that says what to change.
    pub(super) async fn begin(
        self: &Arc<Self>,
        layers: Layers,
        limits: &Limits,
        record: Recording,
    ) -> Result<LocalSandbox, SandboxFault> {
        let begun = self.try_begin(layers, limits, record).await?;
        begun.map_err(|refusal| SandboxFault::Unsupported(explain(&refusal, &Host::read())))
    }

    async fn try_begin(
        self: &Arc<Self>,
        layers: Layers,
        limits: &Limits,
        record: Recording,
    ) -> Result<Result<LocalSandbox, Refusal>, SandboxFault> {
        if limits.network != Network::Off {
            return Err(SandboxFault::Unsupported(
                "the local sandbox has no network, and the task asks for one: run it with --sandbox docker".to_owned(),
            ));
        }
        let limits = Limits {
            memory_mb: limits.memory_mb.or(Some(MEMORY_MB)),
            processes_max: limits.processes_max.or(Some(PROCESSES_MAX)),
            disk_mb: limits.disk_mb.or(Some(DISK_MB)),
            cpus: limits.cpus,
            gpus: 0,
            network: limits.network,
        };
        let cgroup = Cgroup::make(&self.hierarchy, layers.session.name(), &limits)
            .map_err(|error| host_fault("control group", &error))?;
        let setup = Setup {
            session: layers.session.path().to_path_buf(),
            overlays: layers.mounts(),
            memory: layers.memory(),
            cgroup_procs: cgroup.as_ref().map(Cgroup::procs_files).unwrap_or_default(),
            thaw: cgroup.as_ref().and_then(Cgroup::thaw_file),
            record: record == Recording::Processes,
            rlimits: self.rlimits(&limits),
        };
        match Connection::begin(&self.supervisor, &setup).await? {
            Beginning::Refused(refusal) => Ok(Err(refusal)),
            Beginning::Ready(connection) => {
                let maker = Arc::clone(self);
                Ok(Ok(LocalSandbox::new(Parts { connection, cgroup, layers, maker, limits })))
            }
        }
    }

    /// Limits of each process, for what no control group enforces for the tree.
    fn rlimits(&self, limits: &Limits) -> Rlimits {
        let enforced = self.hierarchy.enforced();
        let unless = |kind| !enforced.contains(&kind);
        Rlimits {
            data_bytes: limits.memory_mb.filter(|_| unless(LimitKind::Memory)).map(|mb| mb << 20),
            processes: limits.processes_max.filter(|_| unless(LimitKind::Processes)),
            file_bytes: limits.disk_mb.map(|mb| mb << 20),
        }
    }

    /// What this host cannot enforce, given what control groups do.
    fn shortfalls(&self, enforced: &[LimitKind]) -> Vec<String> {
        let mut texts = Vec::new();
        if !enforced.contains(&LimitKind::Memory) {
            texts.push(
                "memory is limited for each process and not for the tree; run as root or delegate a control group \
                 with the memory controller",
            );
        }
        if !enforced.contains(&LimitKind::Processes) && self.is_root {
            texts.push("the number of processes is not limited; mount the pids control group");
        }
        if !enforced.contains(&LimitKind::Cpu) {
            texts.push(
                "the share of processor is not limited; run as root or delegate a control group with the cpu controller",
            );
        }
        if !self.is_root {
            texts.push(
                "only one user exists inside and files of the host's system directories cannot be changed; run as root \
                 for packages to be installed",
            );
        }
        if self.hierarchy == Hierarchy::None {
            texts.push(
                "processes are frozen by a stop signal, which their parents can see; run as root or delegate a control \
                 group",
            );
        }
        texts.push(
            "the disk quota is measured twice a second: a sandbox can write past it for that long, and open files that \
             were deleted are not counted",
        );
        texts.into_iter().map(str::to_owned).collect()
    }
}
