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
        ContainerCreateBody, ContainerState, HealthConfig, HostConfig, HostConfigLogConfig,
        RestartPolicy, RestartPolicyNameEnum, VolumeCreateRequest,
    },
    query_parameters::{
        CreateContainerOptions, KillContainerOptions, LogsOptionsBuilder, StartContainerOptions,
    },
};
use engine::ports::sandbox::SandboxFault;
use futures_util::{StreamExt, future::try_join_all};

use super::{
    health::Test,
    place::{mounts, place, ulimits},
    project::{Condition, Project, Restart, Service},
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

/// Between two questions for the health of one at the most.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Bytes of what a test says that are told.
const SAID_MAX: usize = 4096;

/// Last lines of a service that are told.
const LINES_TOLD: &str = "50";

/// Processes of a service at once where the file says nothing.
const PROCESSES_MAX: i64 = 4096;

/// What the engine keeps of a service's output.
const LOG_MAX: &str = "1m";

/// Services that a base has, with their images.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Plan {
    pub(in super::super) project: Project,
    /// Ids of the images of all but main.
    pub(in super::super) images: BTreeMap<String, String>,
    /// How each that can be asked is asked for its health.
    pub(in super::super) tests: BTreeMap<String, Test>,
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
            Error::DockerResponseServerError { status_code, message }
                if status_code == 400 || message.contains("not found") =>
            {
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
            // It is asked by us, as long as somebody waits for it.
            healthcheck: Some(HealthConfig {
                test: Some(vec!["NONE".to_owned()]),
                ..Default::default()
            }),
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
        match condition {
            Condition::Started => Ok(()),
            Condition::Healthy => match self.plan.tests.get(name) {
                Some(test) => self.wait_for_health(name, test, None).await,
                None => {
                    let why = "is to be healthy and has no healthcheck: add `healthcheck` to it";
                    Err(self.failed(name, why))
                }
            },
            Condition::Completed => loop {
                let state = self.state(name).await?;
                if self.is_over(name, &state).await? {
                    return Ok(());
                }
                self.pause_for(name, LOOK_EVERY).await?;
            },
        }
    }

    /// Waits until a service is up: healthy if it can be asked, else running or done.
    async fn settle(&self, service: &Service) -> Result<(), SandboxFault> {
        let state = self.state(&service.name).await?;
        if self.is_over(&service.name, &state).await? {
            return Ok(());
        }
        match self.plan.tests.contains_key(&service.name) {
            true => self.wait_for(&service.name, Condition::Healthy).await,
            false => Ok(()),
        }
    }

    /// Whether a service has done its work and ended; one that failed is an error.
    async fn is_over(&self, name: &str, state: &ContainerState) -> Result<bool, SandboxFault> {
        if state.running == Some(true) || state.restarting == Some(true) {
            return Ok(false);
        }
        match state.exit_code.unwrap_or_default() {
            0 => Ok(true),
            code => {
                let memory = if state.oom_killed == Some(true) { ", out of memory" } else { "" };
                Err(self.with_last_lines(name, &format!("ended with {code}{memory}")).await)
            }
        }
    }

    /// Waits until main's own test passes, if it has one.
    async fn wait_for_main(&self, main: &Container, launch: &Launch) -> Result<(), SandboxFault> {
        let name = &self.plan.project.main.name;
        match self.plan.tests.get(name) {
            Some(test) => self.wait_for_health(name, test, Some((main, launch))).await,
            None => Ok(()),
        }
    }

    /// Asks until the answer is good. A service is asked sooner than its test says, so that nobody waits for long, but
    /// only what failed when it was due counts.
    async fn wait_for_health(
        &self,
        name: &str,
        test: &Test,
        main: Option<(&Container, &Launch)>,
    ) -> Result<(), SandboxFault> {
        let begun = Instant::now();
        let (mut due, mut failed) = (begun + test.interval, 0);
        loop {
            let asked = match main {
                Some((container, launch)) => {
                    let launch = Launch { argv: test.argv.clone(), ..launch.clone() };
                    let run = container.link.exec(&launch, Vec::new(), test.timeout, SAID_MAX);
                    let finished = run.await?;
                    let said = String::from_utf8_lossy(&finished.stderr).into_owned();
                    if finished.is_success() { Ok(()) } else { Err(said) }
                }
                None => {
                    let state = self.state(name).await?;
                    if self.is_over(name, &state).await? {
                        return Err(self
                            .with_last_lines(name, "ended before it was healthy")
                            .await);
                    }
                    test.ask(&self.engine, &self.running[name]).await?
                }
            };
            let Err(said) = asked else { return Ok(()) };
            if Instant::now() >= due {
                due += test.interval;
                failed += u32::from(begun.elapsed() >= test.start_period);
            }
            if failed >= test.retries {
                let told = format!("is unhealthy: {}", said.trim());
                return Err(self.with_last_lines(name, &told).await);
            }
            self.pause_for(name, test.interval.min(ASK_EVERY)).await?;
        }
    }

    async fn pause_for(&self, name: &str, pause: Duration) -> Result<(), SandboxFault> {
        if Instant::now() > self.deadline {
            let told = format!("is not up within {} s", self.plan.timeout.as_secs());
            return Err(self.with_last_lines(name, &told).await);
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }

    async fn state(&self, name: &str) -> Result<ContainerState, SandboxFault> {
        let lost = || SandboxFault::Lost(format!("service `{name}` was not started"));
        let id = self.running.get(name).ok_or_else(lost)?;
        let found = self.engine.inspect(id).await;
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
        Err(Error::DockerResponseServerError { message, .. }) if is_so_already(&message) => Ok(()),
        Err(error) => Err(fault(what, &error)),
    }
}

/// What Docker and Podman say of a container that is not paused, or does not run any more.
fn is_so_already(message: &str) -> bool {
    ["not paused", "not running", "state improper"].iter().any(|sign| message.contains(sign))
}
