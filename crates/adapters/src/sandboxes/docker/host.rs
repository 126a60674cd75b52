//! Making sandboxes on an engine: [`DockerSandboxes`] is the port, [`Maker`] what every sandbox needs to make others.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use domain::evidence::{Channel, FileKind};
use engine::ports::sandbox::{
    Base as MadeBase, BaseSpec, Capabilities, Ended, FileEntry, FileNode, LimitKind, Limits,
    Network, Recording, Sandbox, SandboxFault, SandboxKind, Sandboxes,
};
use tokio::sync::OnceCell;

use super::{
    changes::{Base, Finding},
    clean::{Swept, sweep_engine},
    container::{Container, SandboxLabels, Wanted},
    doorway::EdgePlacement,
    engine::{Engine, fault},
    images::{self, Root},
    link::{Cargo, INSIDE_ARGUMENT, Launch, Looked},
    owner::Owner,
    program::{self, Program},
    remover::Remover,
    sandbox::DockerSandbox,
    services::{COMPOSE_FILE, Compose, ComposeError, Project, Services, Volumes},
    volume,
};
use crate::{
    process::Variables,
    sandboxes::{layer::AgentLayer, making::Making},
};

const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// One of these is there in a container that has graphics processors.
const GPU_DEVICES: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];

/// Sandboxes in containers. A clone with other labels, or with an agent's layer, shares everything else.
#[derive(Clone)]
pub struct DockerSandboxes {
    shared: Arc<Shared>,
    labels: Arc<SandboxLabels>,
    agent: Option<Arc<AgentLayer>>,
}

struct Shared {
    address: String,
    program: PathBuf,
    /// The host's, which compose files may name.
    variables: Variables,
    maker: OnceCell<Result<Arc<Maker>, SandboxFault>>,
    capabilities: OnceCell<Result<Capabilities, SandboxFault>>,
    bases: Mutex<HashMap<String, Arc<Base>>>,
    /// Bases being made, so that equal ones are made once.
    making: Making,
    /// From where edges are to be opened, if only that will do.
    edge: Option<EdgePlacement>,
}

/// What it takes to make a container.
pub(super) struct Maker {
    engine: Engine,
    remover: Arc<Remover>,
    program: Program,
    /// Where this program lies on the host.
    own_path: PathBuf,
    bind: OnceCell<String>,
    cpus_max: f64,
    /// Limits that the engine's host holds.
    enforced: Vec<LimitKind>,
    is_rootless: bool,
    is_podman: bool,
    /// From where edges are opened, as asked for or found.
    edge: OnceLock<EdgePlacement>,
    finding: Finding,
}

impl DockerSandboxes {
    /// Sandboxes on the engine of an address, whose program inside is this one (its main must call `inside_main`).
    /// Nothing is connected before it is needed.
    pub fn new(address: &str, program: &Path) -> Self {
        Self::with_variables(address, program, Variables::new())
    }

    /// The same with variables of the host: by `PATH`, `HOME` and `DOCKER_CONFIG` Compose is found, and the others may
    /// be named in compose files.
    pub fn with_variables(address: &str, program: &Path, variables: Variables) -> Self {
        Self::over(address, program, variables, None)
    }

    /// The same as [`DockerSandboxes::new`], with edges opened from here alone.
    pub fn with_edge(address: &str, program: &Path, edge: EdgePlacement) -> Self {
        Self::over(address, program, Variables::new(), Some(edge))
    }

    fn over(
        address: &str,
        program: &Path,
        variables: Variables,
        edge: Option<EdgePlacement>,
    ) -> Self {
        let shared = Shared {
            address: address.to_owned(),
            program: program.to_path_buf(),
            variables,
            maker: OnceCell::new(),
            capabilities: OnceCell::new(),
            bases: Mutex::default(),
            making: Making::default(),
            edge,
        };
        Self { shared: Arc::new(shared), labels: Arc::default(), agent: None }
    }

    /// From where the edges of containers are opened, once one was.
    pub fn edge(&self) -> Option<EdgePlacement> {
        match self.shared.maker.get() {
            Some(Ok(maker)) => maker.edge(),
            _ => None,
        }
    }

    /// The same, with everything that is made from now on labelled so.
    pub fn labelled(&self, labels: SandboxLabels) -> Self {
        Self { labels: Arc::new(labels), ..self.clone() }
    }

    /// The same, with an agent's programs in every container of a session.
    pub fn furnished(&self, agent: AgentLayer) -> Self {
        Self { agent: Some(Arc::new(agent)), ..self.clone() }
    }

    /// Containers that could not be taken away, with why.
    pub fn left_behind(&self) -> Vec<String> {
        match self.shared.maker.get() {
            Some(Ok(maker)) => maker.remover.failed(),
            _ => Vec::new(),
        }
    }

    async fn maker(&self) -> Result<Arc<Maker>, SandboxFault> {
        self.shared.maker.get_or_init(|| self.connect()).await.clone()
    }

    async fn connect(&self) -> Result<Arc<Maker>, SandboxFault> {
        let engine = Engine::connect(&self.shared.address, Owner::current()).await?;
        let info = engine.docker.info().await.map_err(|error| fault("ask the engine", &error))?;
        let version = engine.docker.version().await;
        let version = version.map_err(|error| fault("ask the engine", &error))?;
        let components = version.components.unwrap_or_default();
        sweep_engine(&engine, Swept::Dead).await?;
        let program = Program::find(&self.shared.program).await;
        let program = program.map_err(|error| SandboxFault::Unsupported(error.to_string()))?;
        let remover = Remover::start(self.shared.address.clone(), &engine)
            .map_err(|error| SandboxFault::HostLimit(error.to_string()))?;
        let mut enforced = Vec::new();
        let mut holds = |kind, has: Option<bool>| {
            if has == Some(true) {
                enforced.push(kind);
            }
        };
        holds(LimitKind::Memory, info.memory_limit);
        holds(LimitKind::Processes, info.pids_limit);
        holds(LimitKind::Cpu, info.cpu_cfs_quota);
        let options = info.security_options.unwrap_or_default();
        Ok(Arc::new(Maker {
            engine,
            remover: Arc::new(remover),
            program,
            own_path: self.shared.program.clone(),
            bind: OnceCell::new(),
            cpus_max: info.ncpu.map_or(f64::MAX, |cpus| cpus as f64),
            enforced,
            is_rootless: options.iter().any(|option| option.contains("rootless")),
            is_podman: components.iter().any(|component| component.name.contains("Podman")),
            edge: self.shared.edge.map(OnceLock::from).unwrap_or_default(),
            finding: match info.driver.as_deref() {
                Some("overlay2" | "overlay" | "overlayfs") => Finding::Comparing,
                _ => Finding::Asking,
            },
        }))
    }

    /// Tries everything once in a container without an image.
    async fn probe(&self) -> Result<Capabilities, SandboxFault> {
        let maker = self.maker().await?;
        let root = Root::empty(volume::EMPTY_IMAGE);
        let container =
            maker.start(&root, &no_limits(), Recording::Processes, &self.labels).await?;
        let mut channels = vec![
            Channel::Manifest,
            Channel::Diff,
            Channel::Git,
            Channel::Tests,
            Channel::Order,
            Channel::Resources,
            Channel::Artifacts,
        ];
        let mut shortfalls = Vec::new();
        if container.link.is_recording() {
            channels.push(Channel::Processes);
        } else {
            shortfalls.push(
                "programs are not recorded: the engine gives containers neither SYS_ADMIN nor a listener for seccomp"
                    .to_owned(),
            );
        }
        match maker.doorway(&container, &self.labels, &[]).await {
            Ok(_) => channels.push(Channel::Network),
            Err(fault) => {
                shortfalls.push(format!("what the agent reaches for is not seen: {fault}"))
            }
        }
        channels.sort();
        let limits = [
            (
                LimitKind::Memory,
                "memory is not limited: the engine's host lacks the memory controller",
            ),
            (
                LimitKind::Processes,
                "the number of processes is not limited: the engine's host lacks pids",
            ),
            (
                LimitKind::Cpu,
                "the share of processor is not limited: the engine's host lacks the cpu controller",
            ),
        ];
        let missing = limits.iter().filter(|(kind, _)| !maker.enforced.contains(kind));
        shortfalls.extend(missing.map(|(_, text)| (*text).to_owned()));
        shortfalls.push(
            "the disk quota is measured at the end of each turn: a container can write past it until then".to_owned(),
        );
        shortfalls.push(
            "processes are stopped by a stop signal at the end of a turn, which their parents can see".to_owned(),
        );
        if maker.is_podman {
            shortfalls.push(
                "services of a compose file find each other at 127.0.0.1 alone: Podman gives their names to main only"
                    .to_owned(),
            );
        }
        let mut enforced = maker.enforced.clone();
        enforced.push(LimitKind::Disk);
        enforced.sort();
        Ok(Capabilities { channels, enforced, shortfalls, is_root: !maker.is_rootless })
    }

    /// Looks at a base that is to be made, before anything is: what its compose file asks for must be given here.
    ///
    /// # Errors
    /// What keeps every session on it from running as it is meant.
    pub async fn examine(&self, spec: &BaseSpec) -> Result<(), SandboxFault> {
        self.project(spec).await?;
        if spec.limits.gpus > 0 {
            self.try_gpus(spec.limits.gpus).await?;
        }
        Ok(())
    }

    /// Starts a container with so many graphics processors, in which nothing else is.
    async fn try_gpus(&self, gpus: u32) -> Result<(), SandboxFault> {
        let maker = self.maker().await?;
        let root = Root::empty(volume::EMPTY_IMAGE);
        let limits = Limits { gpus, ..no_limits() };
        let tried = async {
            let container = maker.start(&root, &limits, Recording::Nothing, &self.labels).await?;
            let looked = container.link.look(&GPU_DEVICES.map(str::to_owned)).await?;
            // Podman takes the request and does nothing.
            let is_given = looked.iter().any(Option::is_some);
            let none = || SandboxFault::Lost("it takes the request and gives none".to_owned());
            is_given.then_some(()).ok_or_else(none)
        };
        tried.await.map_err(|fault| {
            SandboxFault::Unsupported(format!(
                "`environment.gpus = {gpus}`: the engine gives no graphics processors: {fault}; install NVIDIA's \
                 container toolkit on its host, or run the task on an engine that has it"
            ))
        })
    }

    /// The services of an environment, if it names any.
    async fn project(&self, spec: &BaseSpec) -> Result<Option<Project>, SandboxFault> {
        if !spec.environment.iter().any(|file| file.path == COMPOSE_FILE) {
            return Ok(None);
        }
        let variables = &self.shared.variables;
        let reading = async { Compose::find(variables).await?.read(spec, variables).await };
        let read: Result<Project, ComposeError> = reading.await;
        read.map(Some).map_err(|error| match error {
            ComposeError::Absent(_) => SandboxFault::Unsupported(error.to_string()),
            ComposeError::Refused(_) => SandboxFault::Setup(error.to_string()),
            ComposeError::Io(_) => SandboxFault::HostLimit(error.to_string()),
        })
    }

    async fn make(&self, spec: &BaseSpec) -> Result<Base, SandboxFault> {
        let maker = self.maker().await?;
        let root = match self.project(spec).await? {
            Some(project) => images::make_project(&maker.engine, spec, project).await?,
            None => images::make(&maker.engine, spec).await?,
        };
        let reader = self.reader(&maker, &root).await?;
        let versions = versions(&reader, &root, &spec.toolchains).await?;
        Ok(Base::new(root, reader, versions, maker.finding))
    }

    /// The container in which a base is looked at.
    async fn reader(&self, maker: &Maker, root: &Root) -> Result<Container, SandboxFault> {
        let mut still = root.clone();
        if still.plan.is_some() {
            // Its own command counts on services, which the base has none of.
            still.first = None;
        }
        maker.start(&still, &no_limits(), Recording::Nothing, &self.labels).await
    }

    /// A base that was made, with its container anew if an engine that went away has taken it along.
    async fn readable(&self, digest: &str) -> Result<Arc<Base>, SandboxFault> {
        let _turn = self.shared.making.turn(digest).await;
        let lost = || SandboxFault::Lost(format!("base {digest} was not made"));
        let base = self.kept(digest).ok_or_else(lost)?;
        if !base.reader.link.is_lost() {
            return Ok(base);
        }
        let maker = self.maker().await?;
        let reader = self.reader(&maker, &base.root).await?;
        let (root, versions) = (base.root.clone(), base.versions.clone());
        Ok(self.keep(digest, Base::new(root, reader, versions, maker.finding)))
    }

    fn keep(&self, digest: &str, base: Base) -> Arc<Base> {
        let base = Arc::new(base);
        let mut bases = self.shared.bases.lock().unwrap_or_else(PoisonError::into_inner);
        bases.insert(digest.to_owned(), base.clone());
        base
    }

    fn kept(&self, digest: &str) -> Option<Arc<Base>> {
        self.shared.bases.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }
}

/// What the image says of the programs that a pair needs.
async fn versions(
    reader: &Container,
    root: &Root,
    programs: &[String],
) -> Result<BTreeMap<String, String>, SandboxFault> {
    let mut versions = BTreeMap::new();
    for program in programs {
        let argv = vec![program.clone(), "--version".to_owned()];
        let launch = Launch { cwd: "/".to_owned(), ..root.launch(argv) };
        let said = reader.link.exec(&launch, Vec::new(), VERSION_TIMEOUT, 4096).await?;
        if said.ended == Ended::NotStarted {
            return Err(SandboxFault::Setup(format!(
                "the image has no program `{program}`, which the pair's `host` asks for: add it in the Dockerfile"
            )));
        }
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let line = text.lines().next().unwrap_or("present").trim().to_owned();
        versions.insert(program.clone(), line);
    }
    Ok(versions)
}

impl Maker {
    /// The engine.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Who takes away what is dropped.
    pub(super) fn remover(&self) -> &Arc<Remover> {
        &self.remover
    }

    /// Whether the engine is Podman's.
    pub(super) fn is_podman(&self) -> bool {
        self.is_podman
    }

    /// From where edges are opened, as far as it is known.
    pub(super) fn edge(&self) -> Option<EdgePlacement> {
        self.edge.get().copied()
    }

    /// An edge was opened from there.
    pub(super) fn found_edge(&self, edge: EdgePlacement) {
        // Whoever found one before found the same.
        let _ = self.edge.set(edge);
    }

    /// How this program is mounted.
    pub(super) async fn bind(&self) -> Result<String, SandboxFault> {
        self.bind.get_or_try_init(|| self.program.bind(&self.engine)).await.cloned()
    }

    /// How this program is started in a container with an argument.
    pub(super) fn entrypoint(&self, argument: &str) -> Vec<String> {
        self.program.entrypoint(argument)
    }

    /// This program on the host, to be run again.
    pub(super) fn own_path(&self) -> &Path {
        &self.own_path
    }

    /// What the build of an image wrote: everything that the image it began with does not hold alike. Of an image
    /// whose beginning is not known, everything in the working directory.
    pub(super) async fn written(
        &self,
        base: &Base,
        labels: &SandboxLabels,
    ) -> Result<Vec<FileEntry>, SandboxFault> {
        let link = &base.reader.link;
        let (top, before) = match &base.root.from {
            Some(image) => {
                let root = Root { image: image.clone(), ..Root::empty(image) };
                let first = self.start(&root, &no_limits(), Recording::Nothing, labels).await?;
                ("/", first.link.walk("/").await?.into_iter().collect())
            }
            None => (base.root.workdir.as_str(), BTreeMap::new()),
        };
        let mut written = Vec::new();
        for (path, looked) in link.walk(top).await? {
            let is_same = before.get(&path).is_some_and(|before| is_alike(before, &looked));
            if is_same {
                continue;
            }
            let node = match looked.kind {
                FileKind::Directory => FileNode::Directory,
                FileKind::Link => FileNode::Link(looked.link_target.unwrap_or_default()),
                FileKind::File => match link.read(&path).await?.and_then(|mut read| read.pop()) {
                    Some(FileEntry { node, .. }) => node,
                    None => continue,
                },
                FileKind::Special | FileKind::Gone => continue,
            };
            written.push(FileEntry { path, node, mode: looked.mode });
        }
        Ok(written)
    }

    /// A running container, without the services beside it.
    pub(super) async fn start(
        &self,
        root: &Root,
        limits: &Limits,
        record: Recording,
        labels: &SandboxLabels,
    ) -> Result<Container, SandboxFault> {
        let volumes = Volumes::new();
        let wanted = self.wanted(root, limits, record, labels, &volumes, None).await?;
        Container::start(&self.engine, &self.remover, &wanted).await
    }

    /// A running container whose services run too: those that it waits for before anything of its image does.
    pub(super) async fn start_with_services(
        &self,
        root: &Root,
        limits: &Limits,
        record: Recording,
        labels: &Arc<SandboxLabels>,
        agent: Option<&AgentLayer>,
    ) -> Result<(Container, Option<Services>), SandboxFault> {
        let Some(mut services) = self.services(root, labels).await? else {
            let volumes = Volumes::new();
            let wanted = self.wanted(root, limits, record, labels, &volumes, agent).await?;
            let container = Container::start(&self.engine, &self.remover, &wanted).await?;
            return Ok((container, None));
        };
        let wanted = self.wanted(root, limits, record, labels, services.volumes(), agent).await?;
        let begun = Container::begin(&self.engine, &self.remover, &wanted).await?;
        services.start_before(begun.id()).await?;
        let container = begun.open().await?;
        services.start_after(&container, &root.launch(Vec::new())).await?;
        Ok((container, Some(services)))
    }

    /// As [`Maker::start_with_services`], with changes laid into the container before any of the services runs.
    pub(super) async fn start_changed(
        &self,
        root: &Root,
        limits: &Limits,
        labels: &Arc<SandboxLabels>,
        absent: &[String],
        cargo: &Cargo,
    ) -> Result<(Container, Option<Services>), SandboxFault> {
        let Some(mut services) = self.services(root, labels).await? else {
            let container = self.start(root, limits, Recording::Nothing, labels).await?;
            container.link.unload(absent, cargo).await?;
            return Ok((container, None));
        };
        let wanted =
            self.wanted(root, limits, Recording::Nothing, labels, services.volumes(), None).await?;
        let container = Container::start(&self.engine, &self.remover, &wanted).await?;
        container.link.unload(absent, cargo).await?;
        services.start_before(&container.id).await?;
        services.start_after(&container, &root.launch(Vec::new())).await?;
        Ok((container, Some(services)))
    }

    async fn services(
        &self,
        root: &Root,
        labels: &Arc<SandboxLabels>,
    ) -> Result<Option<Services>, SandboxFault> {
        let Some(plan) = &root.plan else { return Ok(None) };
        Services::prepare(&self.engine, &self.remover, plan, labels, self.cpus_max).await.map(Some)
    }

    async fn wanted<'a>(
        &self,
        root: &'a Root,
        limits: &'a Limits,
        record: Recording,
        labels: &'a SandboxLabels,
        volumes: &'a Volumes,
        agent: Option<&AgentLayer>,
    ) -> Result<Wanted<'a>, SandboxFault> {
        let agent = match agent {
            Some(agent) => Some(program::bind_agent(&self.engine, agent).await?),
            None => None,
        };
        Ok(Wanted {
            root,
            limits,
            record,
            labels,
            bind: self.bind().await?,
            entrypoint: self.entrypoint(INSIDE_ARGUMENT),
            cpus_max: self.cpus_max,
            volumes,
            agent,
        })
    }
}

fn is_alike(before: &Looked, now: &Looked) -> bool {
    before.kind == now.kind && before.hash == now.hash && before.link_target == now.link_target
}

pub(super) fn no_limits() -> Limits {
    Limits {
        memory_mb: None,
        processes_max: None,
        disk_mb: None,
        cpus: None,
        gpus: 0,
        network: Network::Off,
    }
}

impl Root {
    /// A command as the base's own user runs it.
    pub(super) fn launch(&self, argv: Vec<String>) -> Launch {
        let (cwd, env, user) = (self.workdir.clone(), self.env.clone(), self.user.clone());
        Launch { argv, cwd, env, user }
    }

    /// An image with nothing in it.
    fn empty(image: &str) -> Self {
        Self {
            digest: "empty".to_owned(),
            image: image.to_owned(),
            user: None,
            image_workdir: "/".to_owned(),
            workdir: "/".to_owned(),
            env: BTreeMap::new(),
            first: None,
            volumes: Vec::new(),
            from: None,
            plan: None,
        }
    }
}

#[async_trait::async_trait]
impl Sandboxes for DockerSandboxes {
    fn kind(&self) -> SandboxKind {
        SandboxKind::Docker
    }

    async fn capabilities(&self) -> Result<Capabilities, SandboxFault> {
        self.shared.capabilities.get_or_init(|| self.probe()).await.clone()
    }

    async fn materialise(&self, spec: &BaseSpec) -> Result<MadeBase, SandboxFault> {
        let digest = spec.digest.as_str().to_owned();
        let _turn = self.shared.making.turn(&digest).await;
        let base = match self.kept(&digest) {
            Some(base) => base,
            None => self.keep(&digest, self.make(spec).await?),
        };
        Ok(MadeBase {
            digest: spec.digest.clone(),
            workdir: base.root.workdir.clone(),
            toolchain_versions: base.versions.clone(),
        })
    }

    async fn provision(
        &self,
        base: &MadeBase,
        limits: &Limits,
        record: Recording,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        let base = self.readable(base.digest.as_str()).await?;
        let maker = self.maker().await?;
        // What verifies has no agent in it.
        let agent = self.agent.as_deref().filter(|_| record == Recording::Processes);
        let labels = &self.labels;
        let made = maker.start_with_services(&base.root, limits, record, labels, agent).await?;
        Ok(Box::new(DockerSandbox::new(maker, base, made, limits, self.labels.clone())))
    }
}
