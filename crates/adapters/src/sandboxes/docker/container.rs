//! One container with our program in it: [`Container`] is made, attached to and started; dropping it takes it away.

use std::{collections::HashMap, pin::Pin, sync::Arc, time::Duration};

use bollard::{
    container::LogOutput,
    errors::Error,
    models::{
        ContainerCreateBody, DeviceRequest, HealthConfig, HostConfig, HostConfigLogConfig,
        NetworkDisconnectRequest,
    },
    query_parameters::{
        AttachContainerOptionsBuilder, CreateContainerOptions, KillContainerOptions,
        StartContainerOptions, WaitContainerOptions,
    },
};
use engine::ports::sandbox::{Limits, Network, Recording, SandboxFault};
use futures_util::StreamExt;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, DuplexStream, duplex},
    sync::watch,
};

use super::{
    engine::{
        Engine, LABEL_ATTEMPT, LABEL_BASE, LABEL_RUN, LABEL_SESSION, fault, is_absent,
        is_host_limit,
    },
    images::Root,
    link::{INSIDE_ARGUMENT, Link, Setup},
    remover::{Doomed, Remover},
    services::{Volumes, mounts, place, ulimits},
};
use crate::sandboxes::{
    layer::{AGENT_HOME, HOME_MAX_MB},
    supervision::capabilities,
};

/// The program in a container that has not answered by then does not run.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

/// A killed container that has not ended by then is given up.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// The engine's name of the network that holds nothing.
const NO_NETWORK: &str = "none";

/// Bytes of the container's output on their way.
const IN_FLIGHT: usize = 256 * 1024;

/// Processes at once where a task says nothing.
const PROCESSES_MAX: u64 = 4096;

/// Which session a container is made for, as its labels say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxLabels {
    /// The run.
    pub run: String,
    /// Pair and repeat.
    pub session: String,
    /// Number of the attempt.
    pub attempt: String,
}

/// What a container is made with.
pub(super) struct Wanted<'a> {
    pub(super) root: &'a Root,
    pub(super) limits: &'a Limits,
    pub(super) record: Recording,
    pub(super) labels: &'a SandboxLabels,
    /// How the program is mounted and started.
    pub(super) bind: String,
    pub(super) entrypoint: Vec<String>,
    /// Processors of the engine's host: it refuses more.
    pub(super) cpus_max: f64,
    /// Volumes that it shares with services.
    pub(super) volumes: &'a Volumes,
    /// How an agent's layer is mounted; none without one.
    pub(super) agent: Option<String>,
}

/// A running container.
pub(super) struct Container {
    pub(super) id: String,
    pub(super) link: Link,
    pub(super) engine: Engine,
    remover: Arc<Remover>,
}

impl Drop for Container {
    fn drop(&mut self) {
        self.remover.take(Doomed::Container(std::mem::take(&mut self.id)));
    }
}

/// A container that has been started, whose first process still waits to be told what it is.
pub(super) struct Begun {
    running: Running,
    setup: Setup,
}

/// A container that was made; dropping it takes it away.
struct Made {
    id: String,
    remover: Arc<Remover>,
}

impl Made {
    async fn new(
        engine: &Engine,
        remover: &Arc<Remover>,
        body: ContainerCreateBody,
    ) -> Result<Self, SandboxFault> {
        let made = engine.docker.create_container(None::<CreateContainerOptions>, body).await;
        let id = made.map_err(|error| fault("make a container", &error))?.id;
        Ok(Self { id, remover: remover.clone() })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if !self.id.is_empty() {
            self.remover.take(Doomed::Container(std::mem::take(&mut self.id)));
        }
    }
}

/// What the program in a container says and hears.
type Streams = (DuplexStream, Pin<Box<dyn AsyncWrite + Send>>);

/// A container that was attached to and started; dropping it takes it away.
pub(super) struct Running {
    made: Made,
    engine: Engine,
    streams: Option<Streams>,
    stderr: watch::Receiver<String>,
}

impl Running {
    /// Makes, attaches and starts.
    pub(super) async fn start(
        engine: &Engine,
        remover: &Arc<Remover>,
        body: ContainerCreateBody,
    ) -> Result<Self, SandboxFault> {
        Self::run(engine, Made::new(engine, remover, body).await?).await
    }

    async fn run(engine: &Engine, made: Made) -> Result<Self, SandboxFault> {
        let said = |what: &'static str| move |error| fault(what, &error);
        let options = AttachContainerOptionsBuilder::default()
            .stream(true)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .build();
        let attached = engine.docker.attach_container(&made.id, Some(options)).await;
        let attached = attached.map_err(said("attach to a container"))?;
        let started = engine.docker.start_container(&made.id, None::<StartContainerOptions>).await;
        started.map_err(said("start a container"))?;
        let (reader, mut pump) = duplex(IN_FLIGHT);
        let mut output = attached.output;
        let (told, stderr) = watch::channel(String::new());
        tokio::spawn(async move {
            while let Some(Ok(piece)) = output.next().await {
                match piece {
                    LogOutput::StdOut { message } => {
                        if pump.write_all(&message).await.is_err() {
                            return;
                        }
                    }
                    // Nothing is written there but why the program could not run at all.
                    LogOutput::StdErr { message } => told.send_modify(|text| {
                        if text.len() < 4096 {
                            text.push_str(&String::from_utf8_lossy(&message));
                        }
                    }),
                    LogOutput::StdIn { .. } | LogOutput::Console { .. } => {}
                }
            }
        });
        let streams = Some((reader, attached.input));
        Ok(Self { made, engine: engine.clone(), streams, stderr })
    }

    /// Its streams, for the one who speaks with it; none a second time.
    pub(super) fn take_streams(&mut self) -> Option<Streams> {
        self.streams.take()
    }

    /// A fault with what engine and program say of it.
    pub(super) async fn explain(&mut self, fault: SandboxFault) -> SandboxFault {
        let said = self.stderr.borrow().trim().to_owned();
        with_reason(&self.engine, &self.made.id, fault, &said).await
    }
}

impl Begun {
    /// The engine's id.
    pub(super) fn id(&self) -> &str {
        &self.running.made.id
    }

    /// Tells the first process what it is, and waits until it answers.
    pub(super) async fn open(mut self) -> Result<Container, SandboxFault> {
        let gone = || SandboxFault::Lost("somebody else speaks with the container".into());
        let (reader, writer) = self.running.take_streams().ok_or_else(gone)?;
        let opening = Link::open(reader, writer, &self.setup);
        let opened = match tokio::time::timeout(OPEN_TIMEOUT, opening).await {
            Ok(opened) => opened,
            Err(_) => {
                Err(SandboxFault::TimedOut("the program in the container does not answer".into()))
            }
        };
        match opened {
            Ok(link) => {
                let remover = self.running.made.remover.clone();
                let id = std::mem::take(&mut self.running.made.id);
                Ok(Container { id, link, engine: self.running.engine, remover })
            }
            Err(fault) => Err(self.running.explain(fault).await),
        }
    }
}

impl Container {
    /// Makes, attaches, starts and waits until the program inside answers.
    pub(super) async fn start(
        engine: &Engine,
        remover: &Arc<Remover>,
        wanted: &Wanted<'_>,
    ) -> Result<Self, SandboxFault> {
        Self::begin(engine, remover, wanted).await?.open().await
    }

    /// Makes, attaches and starts; nothing of the image runs yet.
    pub(super) async fn begin(
        engine: &Engine,
        remover: &Arc<Remover>,
        wanted: &Wanted<'_>,
    ) -> Result<Begun, SandboxFault> {
        let made = Made::new(engine, remover, body(engine, wanted)).await?;
        if let Some(plan) = &wanted.root.plan {
            place(engine, &made.id, &plan.project.main.copied).await?;
        }
        let running = Running::run(engine, made).await?;
        let setup = Setup {
            record: wanted.record == Recording::Processes,
            keep_capabilities: capabilities::DEFAULT.to_vec(),
            user: wanted.root.user.clone(),
            cwd: wanted.root.image_workdir.clone(),
            env: wanted.root.env.clone(),
        };
        Ok(Begun { running, setup })
    }

    /// Why the container is not there any more, if it is not.
    pub(super) async fn why_lost(&self) -> Option<String> {
        state(&self.engine, &self.id).await
    }

    /// Kills the container; on return the engine has seen it end.
    pub(super) async fn kill(&self) -> Result<(), SandboxFault> {
        let options = KillContainerOptions { signal: "KILL".to_owned() };
        match self.engine.docker.kill_container(&self.id, Some(options)).await {
            Ok(()) => {}
            // It has ended by itself.
            Err(Error::DockerResponseServerError { status_code: 404 | 409, .. }) => {}
            Err(error) => return Err(fault("kill a container", &error)),
        }
        Self::wait_for_end(&self.engine, &self.id).await
    }

    /// Waits until a container that was killed has ended.
    pub(super) async fn wait_for_end(engine: &Engine, id: &str) -> Result<(), SandboxFault> {
        let mut ends = engine.docker.wait_container(id, None::<WaitContainerOptions>);
        match tokio::time::timeout(KILL_TIMEOUT, ends.next()).await {
            // An exit code is no error here.
            Ok(Some(Ok(_) | Err(Error::DockerContainerWaitError { .. })) | None) => Ok(()),
            Ok(Some(Err(error))) if is_absent(&error) => Ok(()),
            Ok(Some(Err(error))) => Err(fault("wait for a container", &error)),
            Err(_) => Err(SandboxFault::TimedOut("a killed container does not end".into())),
        }
    }

    /// Takes the container out of every network that it is in.
    pub(super) async fn cut_network(&self) -> Result<(), SandboxFault> {
        let docker = &self.engine.docker;
        let found = self.engine.inspect(&self.id).await;
        let settings = found.map_err(|error| fault("ask for networks", &error))?.network_settings;
        let networks = settings.and_then(|settings| settings.networks).unwrap_or_default();
        for name in networks.keys().filter(|name| *name != NO_NETWORK) {
            let wanted = NetworkDisconnectRequest { container: self.id.clone(), force: Some(true) };
            let cut = docker.disconnect_network(name, wanted).await;
            cut.map_err(|error| fault("take a container out of its network", &error))?;
        }
        Ok(())
    }

    /// Paths that differ from the image, as the engine tells them.
    pub(super) async fn changes(
        &self,
    ) -> Result<Vec<bollard::models::FilesystemChange>, SandboxFault> {
        let changes = self.engine.docker.container_changes(&self.id).await;
        Ok(changes.map_err(|error| fault("ask for changes", &error))?.unwrap_or_default())
    }
}

/// What the engine says of a container's state; none while it runs.
async fn state(engine: &Engine, id: &str) -> Option<String> {
    match engine.inspect(id).await {
        Ok(found) => {
            let state = found.state?;
            if state.running == Some(true) {
                return None;
            }
            let error = state.error.unwrap_or_default();
            let code = state.exit_code.unwrap_or_default();
            let oom = if state.oom_killed == Some(true) { ", out of memory" } else { "" };
            Some(format!("the container has exited with {code}{oom} {error}").trim().to_owned())
        }
        Err(error) => Some(format!("the engine: {error}")),
    }
}

async fn with_reason(engine: &Engine, id: &str, fault: SandboxFault, said: &str) -> SandboxFault {
    let mut text = fault.to_string();
    if let Some(why) = state(engine, id).await {
        text = format!("{text}; {why}");
    }
    if !said.is_empty() {
        text = format!("{text}; {said}");
    }
    match fault {
        SandboxFault::Setup(_) => SandboxFault::Setup(text),
        _ if is_host_limit(&text) => SandboxFault::HostLimit(text),
        SandboxFault::TimedOut(_) => SandboxFault::TimedOut(text),
        _ => SandboxFault::Lost(text),
    }
}

fn body(engine: &Engine, wanted: &Wanted<'_>) -> ContainerCreateBody {
    let Wanted { root, limits, labels, .. } = wanted;
    let mut entrypoint = wanted.entrypoint.clone();
    entrypoint.push(INSIDE_ARGUMENT.to_owned());
    if let Some(first) = &root.first {
        entrypoint.push("--".to_owned());
        entrypoint.extend(first.iter().cloned());
    }
    let project = root.plan.as_ref().map(|plan| &plan.project);
    // As Harbor lays files over each other, what the compose file says goes first.
    let main = project.map(|project| &project.main);
    let memory = main
        .and_then(|main| main.memory_bytes)
        .or_else(|| limits.memory_mb.and_then(|mb| i64::try_from(mb << 20).ok()));
    let cpus = main.and_then(|main| main.cpus).or(limits.cpus);
    let cpus = cpus.map(|cpus| cpus.min(wanted.cpus_max));
    let processes_max = main
        .and_then(|main| main.processes_max)
        .or_else(|| i64::try_from(limits.processes_max.unwrap_or(PROCESSES_MAX)).ok());
    let hostname = main.and_then(|main| main.hostname.as_deref()).unwrap_or("sandbox");
    let network = match limits.network {
        Network::Off => NO_NETWORK,
        Network::Public => "bridge",
    };
    let records = wanted.record == Recording::Processes;
    let more: &[&str] = if records { &["SYS_ADMIN", "SYS_PTRACE"] } else { &[] };
    ContainerCreateBody {
        image: Some(root.image.clone()),
        entrypoint: Some(entrypoint),
        cmd: Some(Vec::new()),
        user: Some("0".to_owned()),
        // The engine makes it where the image lacks it, in the base's own container too.
        working_dir: Some(root.workdir.clone()),
        hostname: Some(hostname.to_owned()),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        tty: Some(false),
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".to_owned()]),
            ..Default::default()
        }),
        labels: Some(engine.labels([
            (LABEL_RUN, labels.run.as_str()),
            (LABEL_SESSION, labels.session.as_str()),
            (LABEL_ATTEMPT, labels.attempt.as_str()),
            (LABEL_BASE, root.digest.as_str()),
        ])),
        host_config: Some(HostConfig {
            binds: Some([wanted.bind.clone()].into_iter().chain(wanted.agent.clone()).collect()),
            tmpfs: wanted.agent.is_some().then(|| {
                let options = format!("rw,exec,nosuid,nodev,mode=1777,size={HOME_MAX_MB}m");
                HashMap::from([(AGENT_HOME.to_owned(), options)])
            }),
            network_mode: Some(network.to_owned()),
            memory,
            memory_swap: memory,
            nano_cpus: cpus.map(|cpus| (cpus * 1e9) as i64),
            pids_limit: processes_max,
            device_requests: (limits.gpus > 0).then(|| vec![gpus(limits.gpus)]),
            mounts: main.map(|main| mounts(main, wanted.volumes)),
            extra_hosts: project.map(|project| project.hosts()),
            shm_size: main.and_then(|main| main.shm_bytes),
            ulimits: main.map(ulimits),
            cap_add: Some(more.iter().map(|&name| name.to_owned()).collect()),
            log_config: Some(HostConfigLogConfig {
                typ: Some("none".to_owned()),
                ..Default::default()
            }),
            init: Some(false),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// So many graphics processors, as the one driver gives them that engines know.
fn gpus(count: u32) -> DeviceRequest {
    DeviceRequest {
        driver: Some("nvidia".to_owned()),
        count: Some(i64::from(count)),
        capabilities: Some(vec![vec!["gpu".to_owned()]]),
        ..Default::default()
    }
}
