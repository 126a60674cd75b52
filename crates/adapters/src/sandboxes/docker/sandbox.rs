//! One sandbox in a container: [`DockerSandbox`] is the port's verbs over a link and the pristine base.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use domain::{
    evidence::{FileKind, Manifest},
    ids::Turn,
};
use engine::ports::sandbox::{
    Capture, CommandSpec, Doorway, Ended, FileEntry, FileNode, Finished, LimitKind, Limits,
    Network, Sandbox, SandboxFault, Started,
};
use tokio::sync::oneshot;

use super::{
    changes::{Base, Found},
    container::{Container, SandboxLabels},
    host::Maker,
    link::{Cargo, Launch, Taken},
    services::Services,
};

/// A sandbox made of a container.
pub(super) struct DockerSandbox {
    maker: Arc<Maker>,
    base: Arc<Base>,
    container: Arc<Container>,
    /// What runs beside it.
    services: Option<Services>,
    meter: Arc<Meter>,
    limits: Limits,
    labels: Arc<SandboxLabels>,
    progress: Mutex<Progress>,
    /// What takes place one after the other: freeze, thaw, capture, end.
    order: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Progress {
    state: State,
    breaches: Breaches,
    /// What differs from the base, while nothing can change it.
    found: Option<Found>,
    /// What a container held that had to go to be dead.
    kept: Option<Arc<Kept>>,
    cpu_ms: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Running,
    Frozen,
    Ended,
}

/// What is left of a container that is gone.
#[derive(Debug)]
struct Kept {
    cargo: Cargo,
    /// The process log since the last capture, until the next one takes it.
    taken: Mutex<Taken>,
}

/// How often the kernel refused or killed for a limit since the container began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Breaches {
    memory: u64,
    processes: u64,
}

/// Reads what the kernel counts of a container.
struct Meter {
    container: Arc<Container>,
    /// Kills for memory that an end of a command has been told with.
    kills_told: AtomicU64,
}

impl DockerSandbox {
    /// Takes over a container that runs, with its services.
    pub(super) fn new(
        maker: Arc<Maker>,
        base: Arc<Base>,
        (container, services): (Container, Option<Services>),
        limits: &Limits,
        labels: Arc<SandboxLabels>,
    ) -> Self {
        let container = Arc::new(container);
        let meter = Meter { container: container.clone(), kills_told: AtomicU64::new(0) };
        Self {
            maker,
            base,
            container,
            services,
            meter: Arc::new(meter),
            limits: limits.clone(),
            labels,
            progress: Mutex::default(),
            order: tokio::sync::Mutex::default(),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        // Every critical section leaves whole values.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> State {
        self.progress().state
    }

    fn expect_running(&self) -> Result<(), SandboxFault> {
        match self.state() {
            State::Ended => Err(SandboxFault::Lost("the sandbox has ended".into())),
            State::Running | State::Frozen => Ok(()),
        }
    }

    /// The tree must be quiet or dead.
    fn expect_still(&self, verb: &str) -> Result<(), SandboxFault> {
        match self.state() {
            State::Frozen | State::Ended => Ok(()),
            State::Running => Err(SandboxFault::Lost(format!("{verb} of a sandbox that runs"))),
        }
    }

    fn launch(&self, command: &CommandSpec) -> Launch {
        let mut launch = self.base.root.launch(command.argv.clone());
        launch.env.extend(command.env.clone());
        if let Some(cwd) = &command.cwd {
            launch.cwd.clone_from(cwd);
        }
        launch.user = command.user.clone().or(launch.user);
        launch
    }

    /// What differs from the base; kept as long as nothing can change it.
    async fn found(&self) -> Result<Found, SandboxFault> {
        if let Some(found) = &self.progress().found {
            return Ok(found.clone());
        }
        let found = self.base.manifest(&self.container).await?;
        let mut progress = self.progress();
        if progress.state != State::Running {
            progress.found = Some(found.clone());
        }
        Ok(found)
    }

    /// A new container on the base with this one's changes below the paths laid over it.
    async fn another(
        &self,
        paths: &[String],
        limits: &Limits,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        let manifest = self.found().await?.manifest;
        let (absent, present) = moved(&manifest, paths);
        let cargo = match self.kept() {
            Some(kept) => kept.cargo.only(&present),
            None => self.container.link.carry(&present).await?,
        };
        let root = &self.base.root;
        let making = self.maker.start_changed(root, limits, &self.labels, &absent, &cargo);
        let made = making.await?;
        let (maker, base) = (self.maker.clone(), self.base.clone());
        Ok(Box::new(Self::new(maker, base, made, limits, self.labels.clone())))
    }

    /// What was kept of a container that had to go.
    fn kept(&self) -> Option<Arc<Kept>> {
        self.progress().kept.clone()
    }

    /// Takes out what was changed, then ends the container: only without it is the tree dead.
    async fn end_with_container(&self) -> Result<(), SandboxFault> {
        let link = &self.container.link;
        link.stop().await?;
        self.progress().state = State::Frozen;
        // The turn is known when it is captured.
        let taken = Mutex::new(link.taken(Turn(0)).await?);
        let found = self.found().await?;
        let (_, present) = moved(&found.manifest, &["/".to_owned()]);
        let cargo = link.carry(&present).await?;
        self.container.kill().await?;
        let mut progress = self.progress();
        progress.kept = Some(Arc::new(Kept { cargo, taken }));
        progress.found = Some(found);
        Ok(())
    }

    /// The capture of a container that is gone.
    async fn capture_kept(&self, kept: &Kept, turn: Turn) -> Result<Capture, SandboxFault> {
        let found = self.found().await?;
        let mut taken = kept.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = std::mem::take(&mut *taken);
        for program in &mut taken.processes {
            program.turn = turn;
        }
        Ok(Capture {
            manifest: found.manifest,
            processes: taken.processes,
            ended: taken.ended,
            overflow: taken.is_overflown,
            cpu_ms: Some(self.progress().cpu_ms),
            disk_bytes: found.bytes,
            ..Capture::default()
        })
    }

    /// A fault of the link with what the engine says of the container.
    async fn explain(&self, fault: SandboxFault) -> SandboxFault {
        match fault {
            SandboxFault::Lost(text) => match self.container.why_lost().await {
                Some(why) => SandboxFault::Lost(format!("{text}; {why}")),
                None => SandboxFault::Lost(text),
            },
            other => other,
        }
    }
}

impl Meter {
    async fn breaches(&self) -> Breaches {
        let memory = [
            ("/sys/fs/cgroup/memory.events", "oom_kill"),
            ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill"),
        ];
        let processes =
            [("/sys/fs/cgroup/pids.events", "max"), ("/sys/fs/cgroup/pids/pids.events", "max")];
        Breaches {
            memory: self.counter(&memory).await.unwrap_or(0),
            processes: self.counter(&processes).await.unwrap_or(0),
        }
    }

    /// A counter of the container's control group, wherever this version keeps it.
    async fn counter(&self, places: &[(&str, &str)]) -> Option<u64> {
        for (path, name) in places {
            let Ok(Some(read)) = self.container.link.read(path).await else { continue };
            let Some(FileNode::File(bytes)) = read.into_iter().next().map(|found| found.node)
            else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let found = text.lines().find_map(|line| {
                let (key, value) = line.split_once(' ')?;
                (key == *name).then(|| value.trim().parse().ok()).flatten()
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// A kill that came with the memory limit is that limit's.
    async fn explained(&self, ended: Ended) -> Ended {
        if ended != Ended::Signalled(libc::SIGKILL) {
            return ended;
        }
        let kills = self.breaches().await.memory;
        // Each kill explains one end: a later one may have another cause.
        if kills > self.kills_told.fetch_max(kills, Ordering::Relaxed) {
            Ended::OutOfMemory
        } else {
            ended
        }
    }
}

/// The changes below the paths: what is gone, and what is there.
fn moved(manifest: &Manifest, paths: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut absent, mut present) = (Vec::new(), Vec::new());
    for (path, entry) in &manifest.entries {
        if !paths.iter().any(|wanted| is_below(path, wanted)) {
            continue;
        }
        match entry.kind {
            FileKind::Gone if is_buried(manifest, path) => {}
            FileKind::Gone => absent.push(path.clone()),
            // Pipes, sockets and devices hold nothing that outlives their processes.
            FileKind::Special => {}
            FileKind::File | FileKind::Directory | FileKind::Link => present.push(path.clone()),
        }
    }
    (absent, present)
}

/// Whether a path goes with one above it that is gone or is no directory any more.
fn is_buried(manifest: &Manifest, path: &str) -> bool {
    let mut above = path;
    while let Some((parent, _)) = above.rsplit_once('/') {
        above = parent;
        let kind = manifest.entries.get(parent).map(|entry| entry.kind);
        if kind.is_some_and(|kind| kind != FileKind::Directory) {
            return true;
        }
    }
    false
}

fn is_below(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A tree of the base with the changes of a container that is gone.
fn laid_over(
    path: &str,
    before: Option<Vec<FileEntry>>,
    manifest: &Manifest,
    kept: &Cargo,
) -> Option<Vec<FileEntry>> {
    let path = format!("/{}", path.trim_matches('/'));
    let absolute = |relative: &str| match relative {
        "" => path.clone(),
        _ => format!("{}/{relative}", path.trim_end_matches('/')),
    };
    let is_there = match manifest.entries.get(&path) {
        Some(entry) => entry.kind != FileKind::Gone,
        None => before.is_some() && !is_buried(manifest, &path),
    };
    if !is_there {
        return None;
    }
    let is_as_before = |entry: &FileEntry| {
        let whole = absolute(&entry.path);
        !manifest.entries.contains_key(&whole) && !is_buried(manifest, &whole)
    };
    let mut tree: Vec<FileEntry> = before.into_iter().flatten().filter(is_as_before).collect();
    for mut entry in kept.entries() {
        let whole = format!("/{}", entry.path);
        if whole == path && entry.node == FileNode::Directory || !is_below(&whole, &path) {
            continue;
        }
        entry.path = whole[path.trim_end_matches('/').len()..].trim_start_matches('/').to_owned();
        tree.push(entry);
    }
    tree.sort_by(|one, other| one.path.cmp(&other.path));
    Some(tree)
}

#[async_trait::async_trait]
impl Sandbox for DockerSandbox {
    fn now_ms(&self) -> i64 {
        self.container.link.now_ms()
    }

    async fn exec(&self, command: &CommandSpec) -> Result<Finished, SandboxFault> {
        self.expect_running()?;
        self.progress().found = None;
        let launch = self.launch(command);
        let link = &self.container.link;
        let run = link.exec(&launch, command.stdin.clone(), command.timeout, command.output_max);
        match run.await {
            Ok(mut finished) => {
                finished.ended = self.meter.explained(finished.ended).await;
                Ok(finished)
            }
            Err(fault) => Err(self.explain(fault).await),
        }
    }

    async fn start(&self, command: &CommandSpec) -> Result<Started, SandboxFault> {
        self.expect_running()?;
        self.progress().found = None;
        let mut started = match self.container.link.start(&self.launch(command)).await {
            Ok(started) => started,
            Err(fault) => return Err(self.explain(fault).await),
        };
        let (sender, receiver) = oneshot::channel();
        let ended = std::mem::replace(&mut started.ended, receiver);
        let meter = self.meter.clone();
        tokio::spawn(async move {
            // Without an end the sender is dropped, which says that the sandbox is lost.
            if let Ok(ended) = ended.await {
                let _ = sender.send(meter.explained(ended).await);
            }
        });
        Ok(started)
    }

    async fn kill(&self, pid: u32) -> Result<(), SandboxFault> {
        match self.state() {
            State::Ended => Ok(()),
            _ => self.container.link.kill(pid).await,
        }
    }

    async fn put(&self, directory: &str, files: &[FileEntry]) -> Result<(), SandboxFault> {
        self.progress().found = None;
        self.container.link.put(directory, files).await
    }

    async fn get(&self, path: &str) -> Result<Option<Vec<FileEntry>>, SandboxFault> {
        match self.kept() {
            None => self.container.link.read(path).await,
            Some(kept) => {
                let manifest = self.found().await?.manifest;
                let before = self.base.reader.link.read(path).await?;
                Ok(laid_over(path, before, &manifest, &kept.cargo))
            }
        }
    }

    async fn base(&self, path: &str) -> Result<Option<FileEntry>, SandboxFault> {
        let looked = self.base.reader.link.look(&[path.to_owned()]).await?;
        let Some(looked) = looked.into_iter().next().flatten() else { return Ok(None) };
        let entry = |node| FileEntry { path: String::new(), node, mode: looked.mode };
        match looked.kind {
            FileKind::Directory => Ok(Some(entry(FileNode::Directory))),
            FileKind::Link => {
                Ok(Some(entry(FileNode::Link(looked.link_target.unwrap_or_default()))))
            }
            FileKind::File => {
                let read = self.base.reader.link.read(path).await?;
                Ok(read.and_then(|entries| entries.into_iter().next()))
            }
            FileKind::Special | FileKind::Gone => Ok(None),
        }
    }

    async fn base_written(&self) -> Result<Vec<FileEntry>, SandboxFault> {
        self.maker.written(&self.base, &self.labels).await
    }

    async fn freeze(&self) -> Result<(), SandboxFault> {
        let _turn = self.order.lock().await;
        match self.state() {
            State::Frozen => return Ok(()),
            State::Ended => return Err(SandboxFault::Lost("the sandbox has ended".into())),
            State::Running => {}
        }
        match self.container.link.stop().await {
            Ok(_) => {
                if let Some(services) = &self.services {
                    services.freeze().await?;
                }
                self.progress().state = State::Frozen;
                Ok(())
            }
            Err(fault) => Err(self.explain(fault).await),
        }
    }

    async fn thaw(&self) -> Result<(), SandboxFault> {
        let _turn = self.order.lock().await;
        match self.state() {
            State::Running => return Ok(()),
            State::Ended => return Err(SandboxFault::Lost("the sandbox has ended".into())),
            State::Frozen => {}
        }
        if let Some(services) = &self.services {
            services.thaw().await?;
        }
        self.container.link.go_on().await?;
        let mut progress = self.progress();
        progress.found = None;
        progress.state = State::Running;
        Ok(())
    }

    async fn capture(&self, turn: Turn) -> Result<Capture, SandboxFault> {
        let _turn = self.order.lock().await;
        self.expect_still("capture")?;
        if let Some(kept) = self.kept() {
            return self.capture_kept(&kept, turn).await;
        }
        let link = &self.container.link;
        let is_alive = self.state() == State::Frozen;
        let count = if is_alive { Some(link.count().await?) } else { None };
        let taken = link.taken(turn).await?;
        let found = self.found().await?;
        let breaches = self.meter.breaches().await;
        let mut progress = self.progress();
        if let Some(count) = count {
            progress.cpu_ms = count.cpu_ms;
        }
        let mut limits_hit = Vec::new();
        let mut hit = |kind, is_hit: bool| {
            if is_hit {
                limits_hit.push(kind);
            }
        };
        hit(LimitKind::Memory, breaches.memory > progress.breaches.memory);
        hit(LimitKind::Processes, breaches.processes > progress.breaches.processes);
        hit(LimitKind::Disk, self.limits.disk_mb.is_some_and(|mb| found.bytes > mb << 20));
        progress.breaches = breaches;
        Ok(Capture {
            manifest: found.manifest,
            processes: taken.processes,
            ended: taken.ended,
            overflow: taken.is_overflown,
            cpu_ms: Some(progress.cpu_ms),
            alive: count.map_or(0, |count| count.alive),
            disk_bytes: found.bytes,
            limits_hit,
        })
    }

    async fn fork(&self, limits: &Limits) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.expect_still("fork")?;
        self.another(&["/".to_owned()], limits).await
    }

    async fn restore(
        &self,
        paths: &[String],
        limits: &Limits,
    ) -> Result<Box<dyn Sandbox>, SandboxFault> {
        self.expect_still("restore")?;
        self.another(paths, limits).await
    }

    async fn cut_network(&self) -> Result<(), SandboxFault> {
        self.container.cut_network().await
    }

    async fn doorway(&self, ports: &[u16]) -> Result<Box<dyn Doorway>, SandboxFault> {
        if self.limits.network != Network::Off {
            let open = "the container has a network of its own, which has no edge to see it at";
            return Err(SandboxFault::Unsupported(open.to_owned()));
        }
        self.expect_running()?;
        self.maker.doorway(&self.container, &self.labels, ports).await
    }

    async fn end(&self) -> Result<(), SandboxFault> {
        let _turn = self.order.lock().await;
        if self.state() == State::Ended {
            return Ok(());
        }
        let count = self.container.link.count().await.ok();
        if let Some(services) = &self.services {
            services.end().await?;
        }
        let ended = match &self.base.root.first {
            None => self.container.link.kill_all().await,
            // The image's own init may end with what it waits for, or start it again.
            Some(_) => self.end_with_container().await,
        };
        if let Err(fault) = ended {
            // What it held is lost, but nothing of it may go on.
            let explained = self.explain(fault).await;
            self.container.kill().await?;
            return Err(explained);
        }
        let mut progress = self.progress();
        progress.state = State::Ended;
        if let Some(count) = count {
            progress.cpu_ms = count.cpu_ms;
        }
        Ok(())
    }
}
