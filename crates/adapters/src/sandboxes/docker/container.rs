//! One container with our program in it: [`Container`] is made, attached to and started; dropping it takes it away.

use std::{sync::Arc, time::Duration};

use bollard::{
    container::LogOutput,
    errors::Error,
    models::{ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig},
    query_parameters::{
        AttachContainerOptionsBuilder, CreateContainerOptions, InspectContainerOptions,
        KillContainerOptions, StartContainerOptions, WaitContainerOptions,
    },
};
use engine::ports::sandbox::{Limits, Network, Recording, SandboxFault};
use futures_util::StreamExt;
use tokio::io::{AsyncWriteExt, duplex};

use super::{
    engine::{
        Engine, LABEL_ATTEMPT, LABEL_BASE, LABEL_RUN, LABEL_SESSION, fault, is_absent,
        is_host_limit,
    },
    images::Root,
    link::{INSIDE_ARGUMENT, Link, Setup},
    remover::Remover,
};
use crate::sandboxes::supervision::capabilities;

/// The program in a container that has not answered by then does not run.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

/// A killed container that has not ended by then is given up.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

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
}

/// A running container.
pub(super) struct Container {
    pub(super) id: String,
    pub(super) link: Link,
    engine: Engine,
    remover: Arc<Remover>,
}

impl Drop for Container {
    fn drop(&mut self) {
        self.remover.take(std::mem::take(&mut self.id));
    }
}

/// Removes a container whose making stops half-way.
struct Unfinished {
    id: String,
    remover: Arc<Remover>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.id.is_empty() {
            self.remover.take(std::mem::take(&mut self.id));
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
        let said = |what: &'static str| move |error| fault(what, &error);
        let made = engine
            .docker
            .create_container(None::<CreateContainerOptions>, body(engine, wanted))
            .await
            .map_err(said("make a container"))?;
        let mut unfinished = Unfinished { id: made.id.clone(), remover: remover.clone() };
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
        let (told, stderr) = tokio::sync::watch::channel(String::new());
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
        let setup = Setup {
            record: wanted.record == Recording::Processes,
            keep_capabilities: capabilities::DEFAULT.to_vec(),
            user: wanted.root.user.clone(),
            cwd: wanted.root.image_workdir.clone(),
            env: wanted.root.env.clone(),
        };
        let opening = Link::open(reader, attached.input, &setup);
        let opened = match tokio::time::timeout(OPEN_TIMEOUT, opening).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(fault)) => Err(fault),
            Err(_) => {
                Err(SandboxFault::TimedOut("the program in the container does not answer".into()))
            }
        };
        match opened {
            Ok(link) => {
                let id = std::mem::take(&mut unfinished.id);
                Ok(Self { id, link, engine: engine.clone(), remover: remover.clone() })
            }
            Err(fault) => {
                let said = stderr.borrow().trim().to_owned();
                Err(with_reason(engine, &made.id, fault, &said).await)
            }
        }
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
        let mut ends = self.engine.docker.wait_container(&self.id, None::<WaitContainerOptions>);
        match tokio::time::timeout(KILL_TIMEOUT, ends.next()).await {
            // An exit code is no error here.
            Ok(Some(Ok(_) | Err(Error::DockerContainerWaitError { .. })) | None) => Ok(()),
            Ok(Some(Err(error))) if is_absent(&error) => Ok(()),
            Ok(Some(Err(error))) => Err(fault("wait for a container", &error)),
            Err(_) => Err(SandboxFault::TimedOut("a killed container does not end".into())),
        }
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
    match engine.docker.inspect_container(id, None::<InspectContainerOptions>).await {
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
    // As Harbor does: the image's entrypoint stays in front, its command gives way to one that waits.
    if let Some(own) = &root.entrypoint {
        entrypoint.push("--".to_owned());
        entrypoint.extend(own.iter().cloned());
        entrypoint.extend(["sh", "-c", "sleep infinity"].map(str::to_owned));
    }
    let memory = limits.memory_mb.and_then(|mb| i64::try_from(mb << 20).ok());
    let cpus = limits.cpus.map(|cpus| cpus.min(wanted.cpus_max));
    let network = match limits.network {
        Network::Off => "none",
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
        hostname: Some("sandbox".to_owned()),
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
            binds: Some(vec![wanted.bind.clone()]),
            network_mode: Some(network.to_owned()),
            memory,
            memory_swap: memory,
            nano_cpus: cpus.map(|cpus| (cpus * 1e9) as i64),
            pids_limit: i64::try_from(limits.processes_max.unwrap_or(PROCESSES_MAX)).ok(),
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
