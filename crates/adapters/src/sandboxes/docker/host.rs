//! Making sandboxes on an engine: [`DockerSandboxes`] is the port, [`Maker`] what every sandbox needs to make others.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::evidence::{Channel, FileKind};
use engine::ports::sandbox::{
    Base as MadeBase, BaseSpec, Capabilities, Ended, FileEntry, FileNode, LimitKind, Limits,
    Network, Recording, Sandbox, SandboxFault, SandboxKind, Sandboxes,
};
use tokio::sync::OnceCell;

use super::{
    changes::Base,
    clean::{Swept, sweep_engine},
    container::{Container, SandboxLabels, Wanted},
    engine::{Engine, fault},
    images::{self, Root},
    link::{INSIDE_ARGUMENT, Launch, Looked},
    owner::Owner,
    program::{self, Program},
    remover::Remover,
    sandbox::DockerSandbox,
};
use crate::sandboxes::making::Making;

const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Sandboxes in containers. A clone with other labels shares everything else.
#[derive(Clone)]
pub struct DockerSandboxes {
    shared: Arc<Shared>,
    labels: Arc<SandboxLabels>,
}

struct Shared {
    address: String,
    program: PathBuf,
    maker: OnceCell<Result<Arc<Maker>, SandboxFault>>,
    capabilities: OnceCell<Result<Capabilities, SandboxFault>>,
    bases: Mutex<HashMap<String, Arc<Base>>>,
    /// Bases being made, so that equal ones are made once.
    making: Making,
}

/// What it takes to make a container.
pub(super) struct Maker {
    engine: Engine,
    remover: Arc<Remover>,
    program: Program,
    bind: OnceCell<String>,
    cpus_max: f64,
    /// Limits that the engine's host holds.
    enforced: Vec<LimitKind>,
    is_rootless: bool,
}

impl DockerSandboxes {
    /// Sandboxes on the engine of an address, whose program inside is this one (its main must call `inside_main`).
    /// Nothing is connected before it is needed.
    pub fn new(address: &str, program: &Path) -> Self {
        let shared = Shared {
            address: address.to_owned(),
            program: program.to_path_buf(),
            maker: OnceCell::new(),
            capabilities: OnceCell::new(),
            bases: Mutex::default(),
            making: Making::default(),
        };
        Self { shared: Arc::new(shared), labels: Arc::default() }
    }

    /// The same, with everything that is made from now on labelled so.
    pub fn labelled(&self, labels: SandboxLabels) -> Self {
        Self { shared: self.shared.clone(), labels: Arc::new(labels) }
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
            bind: OnceCell::new(),
            cpus_max: info.ncpu.map_or(f64::MAX, |cpus| cpus as f64),
            enforced,
            is_rootless: options.iter().any(|option| option.contains("rootless")),
        }))
    }

    /// Tries everything once in a container without an image.
    async fn probe(&self) -> Result<Capabilities, SandboxFault> {
        let maker = self.maker().await?;
        let root = Root::empty(program::EMPTY_IMAGE);
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
        let mut enforced = maker.enforced.clone();
        enforced.push(LimitKind::Disk);
        enforced.sort();
        Ok(Capabilities { channels, enforced, shortfalls, is_root: !maker.is_rootless })
    }

    async fn make(&self, spec: &BaseSpec) -> Result<Arc<Base>, SandboxFault> {
        let maker = self.maker().await?;
        let root = images::make(&maker.engine, spec).await?;
        let reader = maker.start(&root, &no_limits(), Recording::Nothing, &self.labels).await?;
        let versions = versions(&reader, &root, &spec.toolchains).await?;
        Ok(Arc::new(Base::new(root, reader, versions)))
    }

    fn made(&self, digest: &str) -> Option<Arc<Base>> {
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
        let launch = Launch {
            argv: vec![program.clone(), "--version".to_owned()],
            cwd: "/".to_owned(),
            env: root.env.clone(),
            user: root.user.clone(),
        };
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

    /// A running container.
    pub(super) async fn start(
        &self,
        root: &Root,
        limits: &Limits,
        record: Recording,
        labels: &SandboxLabels,
    ) -> Result<Container, SandboxFault> {
        let bind = self.bind.get_or_try_init(|| self.program.bind(&self.engine)).await?;
        let wanted = Wanted {
            root,
            limits,
            record,
            labels,
            bind: bind.clone(),
            entrypoint: self.program.entrypoint(INSIDE_ARGUMENT),
            cpus_max: self.cpus_max,
        };
        Container::start(&self.engine, &self.remover, &wanted).await
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
        network: Network::Off,
    }
}

impl Root {
    /// An image with nothing in it.
    fn empty(image: &str) -> Self {
        Self {
            digest: "empty".to_owned(),
            image: image.to_owned(),
            user: None,
            image_workdir: "/".to_owned(),
            workdir: "/".to_owned(),
            env: BTreeMap::new(),
            entrypoint: None,
            volumes: Vec::new(),
            from: None,
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
        let base = match self.made(&digest) {
            Some(base) => base,
            None => {
                let made = self.make(spec).await?;
                let mut bases = self.shared.bases.lock().unwrap_or_else(PoisonError::into_inner);
                bases.insert(digest, made.clone());
                made
            }
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
        let digest = base.digest.as_str();
        let base = self
            .made(digest)
            .ok_or_else(|| SandboxFault::Lost(format!("base {digest} was not made")))?;
        let maker = self.maker().await?;
        let container = maker.start(&base.root, limits, record, &self.labels).await?;
        Ok(Box::new(DockerSandbox::new(maker, base, container, limits, self.labels.clone())))
    }
}
