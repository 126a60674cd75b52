//! The host as sessions see it: its sandboxes, what they can enforce, and the record of it ([`Host`]).

use std::{collections::BTreeMap, path::Path, sync::Arc};

use adapters::sandboxes::{
    docker::{DockerSandboxes, EdgePlacement, SandboxLabels},
    layer::AgentLayer,
    local::LocalSandboxes,
};
use domain::{
    evidence::ChannelSet,
    release::{Environment, Task},
};
use engine::ports::{
    sandbox::{BaseSpec, Capabilities, Image, LimitKind, Sandboxes},
    watch::SessionKey,
};
use store::run::HostRecord;

use crate::{commands::run::SandboxArg, failure::Failure, options};

/// This program, as a sandbox starts it again.
const PROGRAM: &str = "/proc/self/exe";

/// Sandboxes with what they can do.
#[derive(Clone)]
pub struct Host {
    /// Where agents work.
    pub sandboxes: Arc<dyn Sandboxes>,
    /// What the host can enforce and see.
    pub capabilities: Capabilities,
    /// Name of the sandbox kind in plans and reports.
    pub name: &'static str,
    /// Set if they are containers, which are labelled by session.
    docker: Option<DockerSandboxes>,
    /// Set if they are namespaces of this host.
    local: Option<Arc<LocalSandboxes>>,
}

impl Host {
    /// Finds out what this host can do.
    ///
    /// # Errors
    /// The host cannot make sandboxes; the message says what to change.
    pub async fn probe(sandbox: SandboxArg) -> Result<Self, Failure> {
        match sandbox {
            SandboxArg::Local => Self::local().await,
            SandboxArg::Docker => Self::docker().await,
        }
    }

    /// From where the edges of containers are opened, where sandboxes are containers and any can be.
    pub fn edge(&self) -> Option<EdgePlacement> {
        self.docker.as_ref()?.edge()
    }

    async fn docker() -> Result<Self, Failure> {
        let docker = DockerSandboxes::with_variables(
            &options::docker_address(),
            Path::new(PROGRAM),
            options::host_variables(),
        );
        let capabilities = docker.capabilities().await.map_err(advised)?;
        let sandboxes = Arc::new(docker.clone());
        Ok(Self { sandboxes, capabilities, name: "docker", docker: Some(docker), local: None })
    }

    async fn local() -> Result<Self, Failure> {
        let state = options::state_folder()?;
        let sandboxes = LocalSandboxes::new(Path::new(PROGRAM), &state).map_err(|error| {
            Failure::input(format!(
                "the state folder {} cannot be used: {error}; set PCB_STATE_DIR to a folder on a local disk",
                state.display()
            ))
        })?;
        let sandboxes = sandboxes.finding_toolchains_by(options::toolchain_variables());
        let capabilities = sandboxes.capabilities().await.map_err(advised)?;
        let local = Arc::new(sandboxes);
        Ok(Self {
            sandboxes: local.clone(),
            capabilities,
            name: "local",
            docker: None,
            local: Some(local),
        })
    }

    /// Looks at what bases are to be made of, before anything is.
    ///
    /// # Errors
    /// What keeps every session on one of them from running as it is meant.
    pub async fn examine(&self, task: &Task, spec: &BaseSpec) -> Result<(), Failure> {
        let Some(docker) = &self.docker else { return Ok(()) };
        let examined = docker.examine(spec).await;
        examined.map_err(|fault| Failure::input(format!("task {}: {fault}", task.id)))
    }

    /// Sandboxes for one session of a run.
    pub fn sandboxes_of(
        &self,
        run: &str,
        key: &SessionKey,
        agent: Option<&AgentLayer>,
    ) -> Arc<dyn Sandboxes> {
        let labelled = self.labelled(run, key);
        agent.map_or(labelled.sandboxes.clone(), |agent| labelled.furnished(agent.clone()))
    }

    /// The same host, whose containers are labelled by a session.
    fn labelled(&self, run: &str, key: &SessionKey) -> Self {
        let Some(docker) = &self.docker else { return self.clone() };
        let docker = docker.labelled(SandboxLabels {
            run: run.to_owned(),
            session: format!("{}/repeat-{}", key.pair, key.repeat),
            attempt: key.attempt.to_string(),
        });
        Self { sandboxes: Arc::new(docker.clone()), docker: Some(docker), ..self.clone() }
    }

    /// Sandboxes with an agent's programs in those of sessions.
    pub fn furnished(&self, agent: AgentLayer) -> Arc<dyn Sandboxes> {
        match (&self.docker, &self.local) {
            (Some(docker), _) => Arc::new(docker.furnished(agent)),
            (None, Some(local)) => local.furnished(agent),
            (None, None) => self.sandboxes.clone(),
        }
    }

    /// Where the root of an environment's base comes from; a prebuilt image goes before one that could be built.
    pub fn image(&self, environment: &Environment, dockerfile: Option<&[u8]>) -> Image {
        match (&self.docker, &environment.image, dockerfile) {
            (None, ..) | (Some(_), None, None) => Image::None,
            (Some(_), Some(name), _) => Image::Named(name.clone()),
            (Some(_), None, Some(dockerfile)) => Image::Dockerfile(dockerfile.to_vec()),
        }
    }

    /// Channels of the sandbox.
    pub fn channels(&self) -> ChannelSet {
        self.capabilities.channels.iter().copied().collect()
    }

    /// What stands in the run.
    pub fn record(&self, toolchains: BTreeMap<String, String>) -> HostRecord {
        HostRecord {
            sandbox: self.name.to_owned(),
            channels: self.channels(),
            enforced: self
                .capabilities
                .enforced
                .iter()
                .map(|kind| limit(*kind).to_owned())
                .collect(),
            shortfalls: self.capabilities.shortfalls.clone(),
            is_root: self.capabilities.is_root,
            cpus: options::processors(),
            memory_mb: memory_mb(),
            kernel: kernel(),
            toolchains,
        }
    }
}

fn advised(fault: engine::ports::sandbox::SandboxFault) -> Failure {
    Failure::input(format!("{fault}\n`pcb doctor` says more"))
}

/// The name of a limit.
pub fn limit(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Memory => "memory",
        LimitKind::Processes => "processes",
        LimitKind::Disk => "disk",
        LimitKind::Cpu => "cpu",
    }
}

fn memory_mb() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok().map(|kib| kib / 1024)
}

fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {} {}", release.trim(), std::env::consts::ARCH)
}
