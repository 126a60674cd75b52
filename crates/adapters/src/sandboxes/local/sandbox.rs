//! One running sandbox: [`LocalSandbox`] is the port's verbs over a supervisor, its layers and its control group.

use std::{
    collections::BTreeMap,
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use domain::ids::Turn;
use engine::ports::sandbox::{
    Capture, CommandSpec, Doorway, Ended, FileEntry, Finished, LimitKind, Limits, Recording,
    Sandbox, SandboxFault, Started,
};
use tokio::{
    io::{AsyncWriteExt, empty},
    sync::oneshot,
    task::{JoinHandle, spawn_blocking},
};

use super::{
    capture::Recorder,
    cgroups::{Breaches, Cgroup},
    connection::{Connection, StartedCommand, numbers},
    disk, host,
    streams::{Outputs, Waited, pipe_from, pipe_to},
    toolchains::SYSTEM_PATH,
    transfer::{read_one, read_tree},
    view::Layers,
};
use crate::sandboxes::{
    doorway::FdDoorway,
    supervision::{
        channel,
        protocol::{Count, Launch, Placement, Reply, Request, ended_by, realtime_ns},
    },
};

/// A killed command that is not reaped by then is given up.
const REAP_TIMEOUT: Duration = Duration::from_secs(10);

/// A sandbox made of namespaces.
pub(super) struct LocalSandbox {
    connection: Arc<Connection>,
    watcher: Option<JoinHandle<()>>,
    cgroup: Option<Arc<Cgroup>>,
    layers: Arc<Layers>,
    maker: Arc<host::Maker>,
    limits: Limits,
    recorder: Arc<Mutex<Recorder>>,
    is_disk_breached: Arc<AtomicBool>,
    progress: Mutex<Progress>,
    /// What takes place one after the other: freeze, thaw, capture, end.
    order: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Progress {
    state: State,
    breaches: Breaches,
    /// The last count of processes and processor time.
    count: Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Frozen,
    Ended,
}

/// What a sandbox is put together from.
pub(super) struct Parts {
    pub connection: Connection,
    pub cgroup: Option<Cgroup>,
    pub layers: Layers,
    pub maker: Arc<host::Maker>,
    pub limits: Limits,
}

fn broken(error: &dyn std::fmt::Display) -> SandboxFault {
    SandboxFault::Lost(error.to_string())
}

/// Disk and memory of the host are told apart from everything else.
pub(super) fn host_fault(what: &str, error: &io::Error) -> SandboxFault {
    let text = format!("{what}: {error}");
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::ENOMEM | libc::EMFILE | libc::ENFILE) => {
            SandboxFault::HostLimit(text)
        }
        _ => SandboxFault::Lost(text),
    }
}

impl LocalSandbox {
    /// Takes over a sandbox that stands.
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { connection, cgroup, layers, maker, limits } = parts;
        let connection = Arc::new(connection);
        let is_disk_breached = Arc::new(AtomicBool::new(false));
        let watcher = limits.disk_mb.map(|disk_mb| {
            let (own, flag) = (layers.own(), Arc::clone(&is_disk_breached));
            tokio::spawn(disk::watch(Arc::downgrade(&connection), own, disk_mb << 20, flag))
        });
        let breaches = cgroup.as_ref().map(Cgroup::breaches).unwrap_or_default();
        let state = State::Running;
        Self {
            recorder: Arc::new(Mutex::new(Recorder::new(connection.origin_ns))),
            connection,
            watcher,
            cgroup: cgroup.map(Arc::new),
            layers: Arc::new(layers),
            maker,
            limits,
            is_disk_breached,
            progress: Mutex::new(Progress { state, breaches, count: Count::default() }),
            order: tokio::sync::Mutex::new(()),
        }
    }

    /// The layers, for a maker of bases.
    pub(super) fn layers(&self) -> &Layers {
        &self.layers
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        // Every critical section leaves whole values.
        self.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn state(&self) -> State {
        self.progress().state
    }

    /// The tree must be quiet or dead.
    fn expect_still(&self, verb: &str) -> Result<(), SandboxFault> {
        match self.state() {
            State::Frozen | State::Ended => Ok(()),
            State::Running => Err(SandboxFault::Lost(format!("{verb} of a sandbox that runs"))),
        }
    }

    async fn done(
        &self,
        request: impl FnOnce(u64) -> Request,
        descriptors: &[i32],
    ) -> Result<Count, SandboxFault> {
        match self.connection.ask(request, descriptors).await? {
            Reply::Done { count, .. } => Ok(count),
            Reply::Failed { reason, .. } => Err(SandboxFault::Lost(reason)),
            other => Err(SandboxFault::Lost(format!("unexpected reply {other:?}"))),
        }
    }

    fn launch(&self, command: &CommandSpec) -> Launch {
        let description = &self.layers.base.description;
        let mut env = BTreeMap::from([
            ("HOME".to_owned(), "/root".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ]);
        let mut path = description.toolchains.path.clone();
        path.push(SYSTEM_PATH.to_owned());
        env.insert("PATH".to_owned(), path.join(":"));
        for variables in [&description.env, &command.env] {
            env.extend(variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let cwd = command.cwd.clone().unwrap_or_else(|| description.workdir.clone());
        Launch { argv: command.argv.clone(), cwd, env, user: None }
    }

    async fn start_with(
        &self,
        command: &CommandSpec,
        stdin: &OwnedFd,
        stdout: OwnedFd,
        stderr: OwnedFd,
    ) -> Result<Result<StartedCommand, String>, SandboxFault> {
        if self.state() == State::Ended {
            return Err(SandboxFault::Lost("the sandbox has ended".into()));
        }
        let payload = channel::memory_file(&self.launch(command), &[])
            .map_err(|error| host_fault("memory file", &error))?;
        self.connection.start(&numbers([&payload, stdin, &stdout, &stderr])).await
    }

    /// How often the memory limit has killed.
    fn memory_kills(&self) -> u64 {
        self.cgroup.as_ref().map_or(0, |cgroup| cgroup.breaches().memory)
    }
}

/// The end of a command from the status of `waitpid`, given how often memory ran out before and after.
fn ended(status: i32, kills_before: u64, kills_after: u64) -> Ended {
    match ended_by(status) {
        Ended::Signalled(libc::SIGKILL) if kills_after > kills_before => Ended::OutOfMemory,
        ended => ended,
    }
}

#[async_trait::async_trait]
impl Sandbox for LocalSandbox {
    fn now_ms(&self) -> i64 {
        (realtime_ns() - self.connection.origin_ns).div_euclid(1_000_000)
    }

    async fn exec(&self, command: &CommandSpec) -> Result<Finished, SandboxFault> {
        let pipes = || Ok((pipe_to()?, pipe_from()?, pipe_from()?));
        let (stdin, stdout, stderr) =
            pipes().map_err(|error: io::Error| host_fault("pipe", &error))?;
        let begun = Instant::now();
        let kills = self.memory_kills();
        let started = self.start_with(command, &stdin.1, stdout.1, stderr.1).await?;
        drop(stdin.1);
        let mut started = match started {
            Ok(started) => started,
            Err(reason) => {
                let stderr = format!("{reason}\n").into_bytes();
                let (ended, stdout) = (Ended::NotStarted, Vec::new());
                return Ok(Finished { ended, stdout, stderr, took: begun.elapsed() });
            }
        };
        let (mut input, bytes) = (stdin.0, command.stdin.clone());
        // A command that does not read its input closes it; that is its affair.
        tokio::spawn(async move { input.write_all(&bytes).await });
        let mut outputs = Outputs::new(stdout.0, stderr.0, command.output_max);
        let mut waited = outputs.wait(&mut started.ended, command.timeout).await;
        let is_late = waited == Waited::TimedOut;
        if is_late {
            self.kill(started.pid).await?;
            waited = outputs.wait(&mut started.ended, REAP_TIMEOUT).await;
        }
        let took = begun.elapsed();
        let (stdout, stderr) = outputs.finish();
        let ended = match waited {
            _ if is_late && waited != Waited::Lost => Ended::TimedOut,
            Waited::Ended(status) => ended(status, kills, self.memory_kills()),
            Waited::TimedOut => Ended::TimedOut,
            Waited::Lost => return Err(SandboxFault::Lost("the supervisor is gone".into())),
        };
        Ok(Finished { ended, stdout, stderr, took })
    }

    async fn start(&self, command: &CommandSpec) -> Result<Started, SandboxFault> {
        let pipes = || Ok((pipe_to()?, pipe_from()?, pipe_from()?));
        let (stdin, stdout, stderr) =
            pipes().map_err(|error: io::Error| host_fault("pipe", &error))?;
        let kills = self.memory_kills();
        let (sender, receiver) = oneshot::channel();
        let started = match self.start_with(command, &stdin.1, stdout.1, stderr.1).await? {
            Ok(started) => started,
            Err(reason) => {
                // Told like a shell tells it: on standard error, with an end.
                let _ = sender.send(Ended::NotStarted);
                let stderr = io::Cursor::new(format!("{reason}\n").into_bytes());
                return Ok(Started {
                    stdin: Box::new(tokio::io::sink()),
                    stdout: Box::new(empty()),
                    stderr: Box::new(stderr),
                    ended: receiver,
                    pid: 0,
                });
            }
        };
        let cgroup = self.cgroup.clone();
        tokio::spawn(async move {
            // Without a status the sender is dropped, which says that the sandbox is lost.
            if let Ok(status) = started.ended.await {
                let kills_now = cgroup.as_ref().map_or(0, |cgroup| cgroup.breaches().memory);
                let _ = sender.send(ended(status, kills, kills_now));
            }
        });
        Ok(Started {
            stdin: Box::new(stdin.0),
            stdout: Box::new(stdout.0),
            stderr: Box::new(stderr.0),
            ended: receiver,
            pid: started.pid,
        })
    }

    async fn kill(&self, pid: u32) -> Result<(), SandboxFault> {
        match self.state() {
            State::Ended => Ok(()),
            _ => self.done(|id| Request::Kill { id, pid }, &[]).await.map(drop),
        }
    }

    async fn put(&self, directory: &str, files: &[FileEntry]) -> Result<(), SandboxFault> {
        let (placement, bodies) = Placement::of(directory, files);
        let payload = channel::memory_file(&placement, &bodies)
            .map_err(|error| host_fault("memory file", &error))?;
        self.done(|id| Request::Put { id }, &numbers([&payload])).await.map(drop)
    }

    async fn get(&self, path: &str) -> Result<Option<Vec<FileEntry>>, SandboxFault> {
        let (layers, path) = (Arc::clone(&self.layers), path.to_owned());
        let read = spawn_blocking(move || read_tree(&layers.tree()?, &path)).await;
        read.map_err(|error| broken(&error))?.map_err(|error| host_fault("read", &error))
    }

    async fn base(&self, path: &str) -> Result<Option<FileEntry>, SandboxFault> {
        let (base, path) = (Arc::clone(&self.layers.base), path.to_owned());
        let read = spawn_blocking(move || read_one(&base.tree()?, &path)).await;
        read.map_err(|error| broken(&error))?.map_err(|error| host_fault("read", &error))
    }

    async fn base_written(&self) -> Result<Vec<FileEntry>, SandboxFault> {
        let base = Arc::clone(&self.layers.base);
        let read = spawn_blocking(move || base.written()).await;
        read.map_err(|error| broken(&error))?.map_err(|error| host_fault("read", &error))
    }

    async fn freeze(&self) -> Result<(), SandboxFault> {
        let _turn = self.order.lock().await;
        match self.state() {
            State::Frozen => return Ok(()),
            State::Ended => return Err(SandboxFault::Lost("the sandbox has ended".into())),
            State::Running => {}
        }
        match self.cgroup.clone().filter(|cgroup| cgroup.can_freeze()) {
            Some(cgroup) => {
                let frozen = spawn_blocking(move || cgroup.freeze()).await;
                frozen.map_err(|error| broken(&error))?.map_err(|error| match error.kind() {
                    io::ErrorKind::TimedOut => {
                        SandboxFault::TimedOut("the tree does not freeze".into())
                    }
                    _ => host_fault("freeze", &error),
                })?;
            }
            None => drop(self.done(|id| Request::Stop { id }, &[]).await?),
        }
        self.progress().state = State::Frozen;
        Ok(())
    }

    async fn thaw(&self) -> Result<(), SandboxFault> {
        let _turn = self.order.lock().await;
        match self.state() {
            State::Running => return Ok(()),
            State::Ended => return Err(SandboxFault::Lost("the sandbox has ended".into())),
            State::Frozen => {}
        }
        match self.cgroup.as_ref().filter(|cgroup| cgroup.can_freeze()) {
            Some(cgroup) => cgroup.thaw().map_err(|error| host_fault("thaw", &error))?,
            None => drop(self.done(|id| Request::Continue { id }, &[]).await?),
        }
        self.progress().state = State::Running;
        Ok(())
    }

    async fn capture(&self, turn: Turn) -> Result<Capture, SandboxFault> {
        let _turn = self.order.lock().await;
        self.expect_still("capture")?;
        let mut count = self.progress().count;
        if self.state() == State::Frozen {
            self.connection.sync().await?;
            count = self.done(|id| Request::Count { id }, &[]).await?;
        } else {
            count.alive = 0;
        }
        let taken = self.connection.log().take(turn, self.connection.origin_ns);
        let (recorder, layers) = (Arc::clone(&self.recorder), Arc::clone(&self.layers));
        let look = move || {
            let mut recorder = recorder.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            recorder.look(&layers.looked()?)
        };
        let found = spawn_blocking(look).await.map_err(|error| broken(&error))?;
        let found = found.map_err(|error| host_fault("capture", &error))?;
        if let Some(cpu_ms) = self.cgroup.as_ref().and_then(|cgroup| cgroup.cpu_ms()) {
            count.cpu_ms = cpu_ms;
        }
        let breaches = self.cgroup.as_ref().map(|cgroup| cgroup.breaches()).unwrap_or_default();
        let before = {
            let mut progress = self.progress();
            progress.count = count;
            std::mem::replace(&mut progress.breaches, breaches)
        };
        let is_over = self.limits.disk_mb.is_some_and(|disk_mb| found.disk_bytes > disk_mb << 20);
        let is_disk_hit = self.is_disk_breached.swap(false, Ordering::Relaxed) || is_over;
        let hits = [
            (LimitKind::Memory, breaches.memory > before.memory),
            (LimitKind::Processes, breaches.processes > before.processes),
            (LimitKind::Disk, is_disk_hit),
        ];
        Ok(Capture {
            manifest: found.manifest,
            processes: taken.processes,
            ended: taken.ended,
            overflow: taken.is_overflown,
            cpu_ms: Some(count.cpu_ms),
            alive: count.alive,
            disk_bytes: found.disk_bytes,
            limits_hit: hits.into_iter().filter(|(_, hit)| *hit).map(|(kind, _)| kind).collect(),
        })
    }

    async fn fork(&self, limits: &Limits) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.expect_still("fork")?;
        let mut below = vec![Arc::clone(&self.layers.session)];
        below.extend(self.layers.below.iter().cloned());
        let base = Arc::clone(&self.layers.base);
        let maker = Arc::clone(&self.maker);
        let prepared = maker.prepare(base, below, None)?;
        Ok(Box::new(maker.begin(prepared, limits, Recording::Nothing).await?))
    }

    async fn restore(
        &self,
        paths: &[String],
        limits: &Limits,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.expect_still("restore")?;
        let maker = Arc::clone(&self.maker);
        let prepared = maker.prepare(Arc::clone(&self.layers.base), Vec::new(), None)?;
        let (layers, paths) = (Arc::clone(&self.layers), paths.to_vec());
        let copy = move || layers.copy_changes(&prepared, &paths).map(|()| prepared);
        let prepared = spawn_blocking(copy).await.map_err(|error| broken(&error))?;
        let prepared = prepared.map_err(|error| host_fault("restore", &error))?;
        Ok(Box::new(maker.begin(prepared, limits, Recording::Nothing).await?))
    }

    async fn cut_network(&self) -> Result<(), SandboxFault> {
        // It has a network namespace with nothing but itself in it from the start.
        Ok(())
    }

    async fn doorway(&self, ports: &[u16]) -> Result<Box<dyn Doorway>, SandboxFault> {
        let sockets = self.connection.open_doorway(ports.to_vec()).await?;
        let doorway = FdDoorway::new(sockets, self.connection.origin_ns);
        Ok(Box::new(doorway.map_err(|error| host_fault("doorway", &error))?))
    }

    async fn end(&self) -> Result<(), SandboxFault> {
        let _turn = self.order.lock().await;
        if self.state() == State::Ended {
            return Ok(());
        }
        // Asked before the death, for nobody can tell afterwards; a sandbox that is lost counts what was known.
        if let Ok(count) = self.done(|id| Request::Count { id }, &[]).await {
            self.progress().count = count;
        }
        self.connection.end().await?;
        self.progress().state = State::Ended;
        Ok(())
    }
}

impl Drop for LocalSandbox {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
        self.connection.kill();
    }
}
