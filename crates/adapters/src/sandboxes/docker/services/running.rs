//! The services of one session: [`Services`] are started in the network of its container, stopped with its processes,
//! and taken away with it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use bollard::{
    errors::Error,
    models::{
        ContainerCreateBody, ContainerState, HealthConfig, HealthStatusEnum, HostConfig,
        HostConfigLogConfig, RestartPolicy, RestartPolicyNameEnum, VolumeCreateRequest,
    },
    query_parameters::{
        CreateContainerOptions, InspectContainerOptions, KillContainerOptions, LogsOptionsBuilder,
        StartContainerOptions,
    },
};
use engine::ports::sandbox::SandboxFault;
use futures_util::{StreamExt, future::try_join_all};

use super::{
    place::{mounts, place, ulimits},
    project::{Condition, Health, Project, Restart, Service},
};
use crate::sandboxes::docker::{
    container::{Container, SandboxLabels},
    engine::{
        Engine, LABEL_ATTEMPT, LABEL_RUN, LABEL_SERVICE, LABEL_SESSION, fault, is_host_limit,
    },
    link::Launch,
    remover::{Doomed, Remover},
};

/// Between two looks at a service that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Last lines of a service that are told.
const LINES_TOLD: &str = "50";

/// Processes of a service at once where the file says nothing.
const PROCESSES_MAX: i64 = 4096;

/// What the engine keeps of a service's output.
const LOG_MAX: &str = "1m";

/// What Compose waits between two tests of main's health, and how often it asks, where the file says nothing.
const HEALTH_EVERY: Duration = Duration::from_secs(30);
const HEALTH_RETRIES: i64 = 3;

/// Services that a base has, with their images.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Plan {
    pub(in super::super) project: Project,
    /// Ids of the images of all but main.
    pub(in super::super) images: BTreeMap<String, String>,
    /// All of them must be up in this time.
    pub(in super::super) timeout: Duration,
}

/// Names of volumes on the engine by their names in the file.
pub(in super::super) type Volumes = BTreeMap<String, String>;

/// Running services; dropping them takes them away.
pub(in super::super) struct Services {
    engine: Engine,
    remover: Arc<Remover>,
    plan: Arc<Plan>,
    labels: Arc<SandboxLabels>,
    volumes: Volumes,
    /// Ids of containers by the names of their services.
    running: BTreeMap<String, String>,
    deadline: Instant,
    cpus_max: f64,
}

impl Drop for Services {
    fn drop(&mut self) {
        let containers = std::mem::take(&mut self.running).into_values().map(Doomed::Container);
        let volumes = std::mem::take(&mut self.volumes).into_values().map(Doomed::Volume);
        containers.chain(volumes).for_each(|doomed| self.remover.take(doomed));
    }
}

impl Services {
    /// Makes their volumes; nothing runs yet.
    pub(in super::super) async fn prepare(
        engine: &Engine,
        remover: &Arc<Remover>,
        plan: &Arc<Plan>,
        labels: &Arc<SandboxLabels>,
        cpus_max: f64,
    ) -> Result<Self, SandboxFault> {
        let mut services = Self {
            engine: engine.clone(),
            remover: remover.clone(),
            plan: plan.clone(),
            labels: labels.clone(),
            volumes: Volumes::new(),
            running: BTreeMap::new(),
            deadline: Instant::now() + plan.timeout,
            cpus_max,
        };
        for name in plan.project.volumes() {
            let labels = Some(services.labels_of(name));
            let request = VolumeCreateRequest { labels, ..Default::default() };
            let made = services.engine.docker.create_volume(request).await;
            let made = made.map_err(|error| fault("make a volume", &error))?;
            services.volumes.insert(name.to_owned(), made.name);
        }
        Ok(services)
    }

    /// Volumes that the session's container shares with them.
    pub(in super::super) fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// Starts those that main waits for, or that wait for nobody, in the network of a container.
    pub(in super::super) async fn start_before(&mut self, main: &str) -> Result<(), SandboxFault> {
        let plan = self.plan.clone();
        for service in &plan.project.others[..plan.project.before_main] {
            self.start(service, main).await?;
        }
        for need in &plan.project.main.needs {
            self.wait_for(&need.service, need.condition).await?;
        }
        Ok(())
    }

    /// Starts the rest beside a container that is open, and waits until all are up and healthy.
    /// `launch` says who runs a test of main's own health, and where.
    pub(in super::super) async fn start_after(
        &mut self,
        main: &Container,
        launch: &Launch,
    ) -> Result<(), SandboxFault> {
        let plan = self.plan.clone();
        let others = &plan.project.others[plan.project.before_main..];
        let mut is_main_well = false;
        for service in others {
            let is_asked = service.needs.iter().any(|need| {
                need.service == plan.project.main.name && need.condition == Condition::Healthy
            });
            if is_asked && !is_main_well {
                self.wait_for_main(main, launch).await?;
                is_main_well = true;
            }
            self.start(service, &main.id).await?;
        }
        if !is_main_well {
            self.wait_for_main(main, launch).await?;
        }
        for service in &plan.project.others {
            self.settle(service).await?;
        }
        Ok(())
    }

    async fn start(&mut self, service: &Service, main: &str) -> Result<(), SandboxFault> {
        for need in &service.needs {
            if need.service != self.plan.project.main.name {
                self.wait_for(&need.service, need.condition).await?;
            }
        }
        let body = self.body(service, main);
        let made = self.engine.docker.create_container(None::<CreateContainerOptions>, body).await;
        let made = made.map_err(|error| fault("make a service", &error))?;
        self.running.insert(service.name.clone(), made.id.clone());
        place(&self.engine, &made.id, &service.copied).await?;
        let started = self.engine.docker.start_container(&made.id, None::<StartContainerOptions>);
        started.await.map_err(|error| match error {
            // What the image lacks is no fault of the engine.
            Error::DockerResponseServerError { status_code: 400, message } => {
                self.failed(&service.name, &message)
            }
            error => fault("start a service", &error),
        })
    }

    fn body(&self, service: &Service, main: &str) -> ContainerCreateBody {
        let env = service.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let policy =
            |name, maximum_retry_count| RestartPolicy { name: Some(name), maximum_retry_count };
        ContainerCreateBody {
            image: self.plan.images.get(&service.name).cloned(),
            entrypoint: service.entrypoint.clone(),
            cmd: service.command.clone(),
            env: Some(env),
            user: service.user.clone(),
            working_dir: service.workdir.clone(),
            tty: Some(service.has_terminal),
            open_stdin: Some(service.is_stdin_open),
            healthcheck: health(&service.health),
            labels: Some(self.labels_of(&service.name)),
            host_config: Some(HostConfig {
                network_mode: Some(format!("container:{main}")),
                mounts: Some(mounts(service, &self.volumes)),
                memory: service.memory_bytes,
                memory_swap: service.memory_bytes,
                nano_cpus: service.cpus.map(|cpus| (cpus.min(self.cpus_max) * 1e9) as i64),
                pids_limit: Some(service.processes_max.unwrap_or(PROCESSES_MAX)),
                shm_size: service.shm_bytes,
                ulimits: Some(ulimits(service)),
                cap_drop: Some(service.cap_drop.clone()),
                readonly_rootfs: Some(service.is_root_read_only),
                init: Some(service.has_init),
                restart_policy: match service.restart {
                    Restart::No => None,
                    Restart::Always => Some(policy(RestartPolicyNameEnum::ALWAYS, None)),
                    Restart::OnFailure(times) => {
                        Some(policy(RestartPolicyNameEnum::ON_FAILURE, Some(times)))
                    }
                },
                log_config: Some(HostConfigLogConfig {
                    typ: Some("json-file".to_owned()),
                    config: Some(HashMap::from([("max-size".to_owned(), LOG_MAX.to_owned())])),
                }),
                ..Default::default()
            }),
            ..Default::default()
        }
    }

    fn labels_of(&self, name: &str) -> HashMap<String, String> {
        self.engine.labels([
            (LABEL_RUN, self.labels.run.as_str()),
            (LABEL_SESSION, self.labels.session.as_str()),
            (LABEL_ATTEMPT, self.labels.attempt.as_str()),
            (LABEL_SERVICE, name),
        ])
    }

    /// Waits until a service that was started is as it must be.
    async fn wait_for(&self, name: &str, condition: Condition) -> Result<(), SandboxFault> {
        loop {
            let state = self.state(name).await?;
            let is_running = state.running == Some(true);
            let code = state.exit_code.unwrap_or_default();
            match condition {
                Condition::Started => return Ok(()),
                Condition::Completed if !is_running && code == 0 => return Ok(()),
                Condition::Completed => {}
                Condition::Healthy => match health_of(&state) {
                    Some(HealthStatusEnum::HEALTHY) => return Ok(()),
                    Some(HealthStatusEnum::UNHEALTHY) => {
                        return Err(self.with_last_lines(name, "is unhealthy").await);
                    }
                    Some(HealthStatusEnum::STARTING) => {}
                    _ if is_running => {
                        let why =
                            "is to be healthy and has no healthcheck: add `healthcheck` to it";
                        return Err(self.failed(name, why));
                    }
                    _ => {}
                },
            }
            let is_over = !is_running && state.restarting != Some(true);
            if is_over {
                let told = format!("ended with {code}{}", memory(&state));
                return Err(self.with_last_lines(name, &told).await);
            }
            self.pause_for(name).await?;
        }
    }

    /// Waits until a service is up: healthy if it can be asked, else running or done.
    async fn settle(&self, service: &Service) -> Result<(), SandboxFault> {
        let state = self.state(&service.name).await?;
        let is_asked = health_of(&state).is_some();
        let is_done = state.running != Some(true) && state.exit_code == Some(0);
        match (is_done, is_asked) {
            (true, _) => Ok(()),
            (false, true) => self.wait_for(&service.name, Condition::Healthy).await,
            (false, false) if state.running == Some(true) => Ok(()),
            (false, false) => self.wait_for(&service.name, Condition::Completed).await,
        }
    }

    /// Waits until main's own test passes, if it has one.
    async fn wait_for_main(&self, main: &Container, launch: &Launch) -> Result<(), SandboxFault> {
        let own = &self.plan.project.main;
        let Health::Test(test) = &own.health else { return Ok(()) };
        let argv: Vec<String> = match test.test.split_first() {
            Some((word, rest)) if word == "CMD" => rest.to_vec(),
            Some((_, rest)) => [vec!["sh".to_owned(), "-c".to_owned()], rest.to_vec()].concat(),
            None => return Ok(()),
        };
        let launch = Launch { argv, ..launch.clone() };
        let begun = Instant::now();
        let mut failed = 0;
        loop {
            let timeout = test.timeout.unwrap_or(HEALTH_EVERY);
            let asked = main.link.exec(&launch, Vec::new(), timeout, 4096).await?;
            if asked.is_success() {
                return Ok(());
            }
            if begun.elapsed() >= test.start_period.unwrap_or_default() {
                failed += 1;
            }
            if failed >= test.retries.unwrap_or(HEALTH_RETRIES) || Instant::now() > self.deadline {
                let said = String::from_utf8_lossy(&asked.stderr).trim().to_owned();
                return Err(self.failed(&own.name, &format!("is unhealthy: {said}")));
            }
            tokio::time::sleep(test.interval.unwrap_or(HEALTH_EVERY)).await;
        }
    }

    async fn pause_for(&self, name: &str) -> Result<(), SandboxFault> {
        if Instant::now() > self.deadline {
            let told = format!("is not up within {} s", self.plan.timeout.as_secs());
            return Err(self.with_last_lines(name, &told).await);
        }
        tokio::time::sleep(LOOK_EVERY).await;
        Ok(())
    }

    async fn state(&self, name: &str) -> Result<ContainerState, SandboxFault> {
        let lost = || SandboxFault::Lost(format!("service `{name}` was not started"));
        let id = self.running.get(name).ok_or_else(lost)?;
        let found = self.engine.docker.inspect_container(id, None::<InspectContainerOptions>).await;
        found.map_err(|error| fault("look at a service", &error))?.state.ok_or_else(lost)
    }

    fn failed(&self, name: &str, why: &str) -> SandboxFault {
        let text = format!("service `{name}` of docker-compose.yaml {why}");
        if is_host_limit(&text) { SandboxFault::HostLimit(text) } else { SandboxFault::Setup(text) }
    }

    async fn with_last_lines(&self, name: &str, why: &str) -> SandboxFault {
        let Some(id) = self.running.get(name) else { return self.failed(name, why) };
        let options =
            LogsOptionsBuilder::default().stdout(true).stderr(true).tail(LINES_TOLD).build();
        let mut pieces = Box::pin(self.engine.docker.logs(id, Some(options)));
        let mut said = Vec::new();
        while let Some(Ok(piece)) = pieces.next().await {
            said.extend_from_slice(&piece.into_bytes());
        }
        let said = String::from_utf8_lossy(&said).trim_end().to_owned();
        let told = if said.is_empty() { why.to_owned() } else { format!("{why}:\n{said}") };
        self.failed(name, &told)
    }

    /// Stops every process of theirs.
    pub(in super::super) async fn freeze(&self) -> Result<(), SandboxFault> {
        try_join_all(self.running.values().map(|id| async move {
            settled("stop a service", self.engine.docker.pause_container(id).await)
        }))
        .await
        .map(drop)
    }

    /// Lets them go on.
    pub(in super::super) async fn thaw(&self) -> Result<(), SandboxFault> {
        try_join_all(self.running.values().map(|id| async move {
            settled("continue a service", self.engine.docker.unpause_container(id).await)
        }))
        .await
        .map(drop)
    }

    /// Kills them; on return they are dead.
    pub(in super::super) async fn end(&self) -> Result<(), SandboxFault> {
        try_join_all(self.running.values().map(|id| async move {
            let options = KillContainerOptions { signal: "KILL".to_owned() };
            // A stopped process is not dead until it goes on.
            settled("continue a service", self.engine.docker.unpause_container(id).await)?;
            settled("end a service", self.engine.docker.kill_container(id, Some(options)).await)?;
            Container::wait_for_end(&self.engine, id).await
        }))
        .await
        .map(drop)
    }
}

/// What is so already is no error.
fn settled(what: &str, done: Result<(), Error>) -> Result<(), SandboxFault> {
    match done {
        Ok(()) => Ok(()),
        Err(Error::DockerResponseServerError { status_code: 404 | 409, .. }) => Ok(()),
        // Older engines answer so for a container that is not paused.
        Err(Error::DockerResponseServerError { status_code: 500, message })
            if message.contains("not paused") || message.contains("not running") =>
        {
            Ok(())
        }
        Err(error) => Err(fault(what, &error)),
    }
}

fn health_of(state: &ContainerState) -> Option<HealthStatusEnum> {
    let status = state.health.as_ref()?.status?;
    let is_asked = !matches!(status, HealthStatusEnum::EMPTY | HealthStatusEnum::NONE);
    is_asked.then_some(status)
}

fn memory(state: &ContainerState) -> &'static str {
    if state.oom_killed == Some(true) { ", out of memory" } else { "" }
}

fn health(health: &Health) -> Option<HealthConfig> {
    let nanoseconds =
        |time: Option<Duration>| time.and_then(|time| i64::try_from(time.as_nanos()).ok());
    match health {
        Health::OfImage => None,
        Health::Off => {
            Some(HealthConfig { test: Some(vec!["NONE".to_owned()]), ..Default::default() })
        }
        Health::Test(test) => Some(HealthConfig {
            test: (!test.test.is_empty()).then(|| test.test.clone()),
            interval: nanoseconds(test.interval),
            timeout: nanoseconds(test.timeout),
            start_period: nanoseconds(test.start_period),
            retries: test.retries,
            start_interval: None,
        }),
    }
}
