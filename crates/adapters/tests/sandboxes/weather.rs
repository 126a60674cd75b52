//! Bad weather: an engine of the test's own is killed, comes back, has no room on its disk or for processes. Whatever
//! breaks is the world's fault, and nothing is left behind.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use adapters::sandboxes::docker::{DockerSandboxes, Swept, sweep};
use bollard::{
    Docker, body_full,
    query_parameters::{
        CreateImageOptions, ListContainersOptions, ListImagesOptions, ListVolumesOptions,
        RemoveContainerOptions, RemoveImageOptions,
    },
};
use domain::ids::{Hash, Turn};
use engine::ports::sandbox::{
    BaseSpec, Ended, Image, Limits, Recording, Sandbox, SandboxFault, Sandboxes,
};
use futures_util::TryStreamExt;
use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::stage::{self, command, file, limits, run, sh, spec, supervisor, texts};

/// An engine has come up, or a killed one has gone, by then.
const PATIENCE: Duration = Duration::from_secs(30);

/// The image that the tests begin with: a shell and a few programs of the host.
const IMAGE: &str = "weather:base";
const PROGRAMS: [&str; 8] = ["sh", "cat", "echo", "head", "mkdir", "rm", "sleep", "true"];

/// A Docker engine with data, sockets and runtime state in a folder of its own, and without any bridge.
struct OwnEngine {
    folder: tempfile::TempDir,
    daemon: Option<Child>,
}

impl OwnEngine {
    /// One that is up and has the image; its data lies on a disk of so many MiB, or where the folder is.
    async fn start(disk_mb: Option<u64>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        if let Some(mb) = disk_mb {
            let options = format!("size={mb}m,mode=711");
            let none = MsFlags::empty();
            mount(Some("tmpfs"), &data, Some("tmpfs"), none, Some(options.as_str())).unwrap();
        }
        let mut engine = Self { folder, daemon: None };
        engine.go_on().await;
        engine.import().await;
        engine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(&self) -> String {
        format!("unix://{}", self.path("socket").display())
    }

    fn sandboxes(&self) -> DockerSandboxes {
        DockerSandboxes::new(&self.address(), &supervisor())
    }

    fn client(&self) -> Docker {
        let path = self.path("socket");
        Docker::connect_with_unix(&path.to_string_lossy(), 60, bollard::API_DEFAULT_VERSION)
            .unwrap()
    }

    /// Starts the daemon on the data that is there.
    async fn go_on(&mut self) {
        let log = fs::File::create(self.path("log")).unwrap();
        // A killed daemon leaves its number and its helper's behind, which may be somebody's by now.
        for left in ["pid", "socket", "exec/containerd/containerd.pid"] {
            let _ = fs::remove_file(self.path(left));
        }
        let mut daemon = Command::new("dockerd");
        daemon
            .args(["--bridge", "none", "--iptables=false", "--ip6tables=false"])
            .args(["--storage-driver", "overlay2", "--host", &self.address()])
            .arg("--data-root")
            .arg(self.path("data"))
            .arg("--exec-root")
            .arg(self.path("exec"))
            .arg("--pidfile")
            .arg(self.path("pid"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.daemon = Some(daemon.spawn().expect("the program `dockerd`: ./check installs it"));
        let begun = Instant::now();
        while !self.path("socket").exists() || self.client().ping().await.is_err() {
            let told = || fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "the engine does not come up:\n{}", told());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Kills the daemon as a crash would; what it started lives on.
    fn crash(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    async fn import(&self) {
        let mut builder = tar::Builder::new(Vec::new());
        builder.follow_symlinks(true);
        let mut placed = Vec::new();
        for program in PROGRAMS {
            let path = Path::new("/bin").join(program);
            let listed = Command::new("ldd").arg(&path).output().unwrap();
            let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
            let libraries = listed.split_whitespace().filter(|word| word.starts_with('/'));
            let files = libraries.map(PathBuf::from).chain([path.clone()]);
            for file in files {
                if !placed.contains(&file) {
                    builder.append_path_with_name(&file, &file.to_string_lossy()[1..]).unwrap();
                    placed.push(file);
                }
            }
        }
        let packed = builder.into_inner().unwrap();
        let options = CreateImageOptions {
            from_src: Some("-".to_owned()),
            repo: Some(IMAGE.to_owned()),
            ..Default::default()
        };
        let client = self.client();
        let imported = client.create_image(Some(options), Some(body_full(packed.into())), None);
        imported.try_collect::<Vec<_>>().await.unwrap();
    }

    /// Containers, volumes and images, in order; the program's own are the tool's between runs.
    async fn holds(&self) -> Vec<String> {
        let client = self.client();
        let own = |labels: &std::collections::HashMap<String, String>| {
            labels.contains_key("personacodebench.program")
        };
        let all = ListContainersOptions { all: true, ..Default::default() };
        let containers = client.list_containers(Some(all)).await.unwrap().into_iter();
        let containers = containers
            .filter(|one| !own(&one.labels.clone().unwrap_or_default()))
            .map(|one| format!("container {}", one.id.unwrap_or_default()));
        let volumes = client.list_volumes(None::<ListVolumesOptions>).await.unwrap().volumes;
        let volumes = volumes.unwrap_or_default().into_iter();
        let volumes =
            volumes.filter(|one| !own(&one.labels)).map(|one| format!("volume {}", one.name));
        let all = ListImagesOptions { all: true, ..Default::default() };
        let images = client.list_images(Some(all)).await.unwrap().into_iter();
        let images = images.map(|one| format!("image {}", one.id));
        let mut holds: Vec<String> = containers.chain(volumes).chain(images).collect();
        holds.sort();
        holds
    }
}

impl Drop for OwnEngine {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            // Asked to, it ends what it started too.
            let _ = kill(Pid::from_raw(daemon.id() as i32), Signal::SIGTERM);
            let _ = daemon.wait();
        }
        // One that crashed has left its mounts, the test's own disk lies below them.
        let folder = self.folder.path().to_string_lossy().into_owned();
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let own = mounts.lines().rev().filter_map(|line| line.split(' ').nth(1));
        for place in own.filter(|place| place.starts_with(&folder)) {
            let _ = umount2(place, MntFlags::MNT_DETACH);
        }
    }
}

/// A base whose Dockerfile goes on so.
fn base(lines: &str) -> BaseSpec {
    let text = format!("FROM {IMAGE}\nWORKDIR /app\n{lines}\n");
    BaseSpec {
        digest: Hash::new(blake3::hash(text.as_bytes()).to_hex().as_str()),
        image: Image::Dockerfile(text.into_bytes()),
        environment: vec![file("given", "given\n", 0o644)],
        ..spec("")
    }
}

async fn provision(sandboxes: &DockerSandboxes, spec: &BaseSpec) -> Box<dyn Sandbox> {
    let base = sandboxes.materialise(spec).await.unwrap();
    sandboxes.provision(&base, &limits(), Recording::Nothing).await.unwrap()
}

/// The tests mount disks and start daemons, which only root can.
fn can_run() -> bool {
    stage::is_root()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_crashes_in_a_session_is_the_worlds_fault_and_serves_again() {
    if !can_run() {
        return;
    }
    let mut engine = OwnEngine::start(None).await;
    let sandboxes = engine.sandboxes();
    let spec = base("COPY given /app/given");
    let sandbox = provision(&sandboxes, &spec).await;
    let before = {
        let images = engine.holds().await;
        images.into_iter().filter(|one| one.starts_with("image")).collect::<Vec<_>>()
    };
    let mut long = command(&["sleep", "600"]);
    long.timeout = Duration::from_secs(120);
    let running = sandbox.exec(&long);
    let crashing = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        engine.crash();
    };
    let begun = Instant::now();
    let (finished, ()) = tokio::join!(running, crashing);
    assert!(matches!(finished, Err(SandboxFault::Lost(_))), "{finished:?}");
    assert!(begun.elapsed() < Duration::from_secs(60), "it is noticed at once");
    assert!(matches!(sandbox.freeze().await, Err(SandboxFault::Lost(_))));
    assert!(sandbox.end().await.is_err(), "nothing is proved without the engine");
    let none = sandboxes.materialise(&base("RUN true")).await;
    assert!(matches!(none, Err(SandboxFault::Lost(_))), "{none:?}");
    // What is given up meanwhile is taken away once the engine is back.
    drop(sandbox);
    engine.go_on().await;
    // A session that is run again, on the same base.
    let again = provision(&sandboxes, &spec).await;
    assert_eq!(sh(&*again, "cat /app/given; echo more > /app/more").await, "given\n");
    again.freeze().await.unwrap();
    let capture = again.capture(Turn(1)).await.unwrap();
    assert_eq!(capture.manifest.entries.keys().collect::<Vec<_>>(), ["/app/more"]);
    drop(again);
    drop(sandboxes);
    sweep(&engine.address(), Swept::Containers).await.unwrap();
    assert_eq!(engine.holds().await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_fails_leaves_no_image() {
    if !can_run() {
        return;
    }
    let engine = OwnEngine::start(None).await;
    let sandboxes = engine.sandboxes();
    drop(provision(&sandboxes, &base("COPY given /app/given")).await);
    // The base's own container stays as long as the sandboxes do; removals have no order.
    let images = async || {
        let all = engine.holds().await;
        all.into_iter().filter(|one| one.starts_with("image")).collect::<Vec<_>>()
    };
    let before = images().await;
    let fault = sandboxes.materialise(&base("RUN true\nCOPY given /app/other\nRUN exit 3")).await;
    assert!(matches!(fault, Err(SandboxFault::Setup(_))), "{fault:?}");
    assert_eq!(images().await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_vanishes_is_the_worlds_fault_and_is_made_again() {
    if !can_run() {
        return;
    }
    let engine = OwnEngine::start(None).await;
    let sandboxes = engine.sandboxes();
    let spec = base("COPY given /app/given");
    let made = sandboxes.materialise(&spec).await.unwrap();
    // Somebody tidies up on the engine: containers and all images but the one that tasks begin with.
    let client = engine.client();
    for held in engine.holds().await {
        if let Some(id) = held.strip_prefix("container ") {
            let options = RemoveContainerOptions { force: true, v: true, ..Default::default() };
            client.remove_container(id, Some(options)).await.unwrap();
        }
    }
    let all = ListImagesOptions::default();
    for image in client.list_images(Some(all)).await.unwrap() {
        let is_first = image.repo_tags.iter().any(|tag| tag.starts_with(IMAGE));
        let is_program = image.labels.contains_key("personacodebench.program");
        if !is_first && !is_program {
            let options = RemoveImageOptions { force: true, ..Default::default() };
            client.remove_image(&image.id, Some(options), None).await.unwrap();
        }
    }
    let left = engine.holds().await;
    let fault = sandboxes.provision(&made, &limits(), Recording::Nothing).await.err();
    let Some(SandboxFault::Lost(text)) = fault else { panic!("{fault:?}") };
    assert!(text.to_lowercase().contains("no such image"), "{text}");
    drop(sandboxes);
    assert_eq!(engine.holds().await, left, "what could not be made left nothing");
    // The next run makes it again.
    let sandboxes = engine.sandboxes();
    let again = provision(&sandboxes, &spec).await;
    assert_eq!(sh(&*again, "cat /app/given").await, "given\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_of_the_engine_is_the_worlds_fault() {
    if !can_run() {
        return;
    }
    let program_mb = fs::metadata(supervisor()).unwrap().len() >> 20;
    let engine = OwnEngine::start(Some(program_mb + 96)).await;
    let sandboxes = engine.sandboxes();
    let spec = base("COPY given /app/given");
    let sandbox = provision(&sandboxes, &spec).await;
    let before = engine.holds().await;
    let fault = sandboxes.materialise(&base("RUN head -c 300000000 /dev/zero > /big")).await;
    let Err(SandboxFault::HostLimit(text)) = fault else { panic!("{fault:?}") };
    assert!(text.to_lowercase().contains("no space left"), "{text}");
    assert_eq!(engine.holds().await, before);
    // In a session: what the agent cannot write is told to it, what we cannot place is the world's.
    let finished = run(&*sandbox, &["sh", "-c", "head -c 300000000 /dev/zero > /app/big"]).await;
    assert_ne!(finished.ended, Ended::Exited(0));
    assert!(texts(&finished).1.contains("No space left"), "{finished:?}");
    let placed = sandbox.put("/app", &[file("more", &"x".repeat(1 << 20), 0o644)]).await;
    assert!(matches!(placed, Err(SandboxFault::HostLimit(_))), "{placed:?}");
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    assert!(capture.manifest.entries.contains_key("/app/big"), "it can still be looked at");
    let fork = sandbox.fork(&limits()).await.err();
    assert!(matches!(fork, Some(SandboxFault::HostLimit(_))), "{fork:?}");
    sandbox.end().await.unwrap();
    drop(sandbox);
    drop(sandboxes);
    let images: Vec<String> = before.into_iter().filter(|one| one.starts_with("image")).collect();
    assert_eq!(engine.holds().await, images, "what held the disk is gone");
}

/// A control group that allows so many tasks, where this host keeps its own.
struct TaskLimit(PathBuf);

impl TaskLimit {
    fn new() -> io::Result<Self> {
        let top = Path::new("/sys/fs/cgroup");
        let controller = if top.join("pids").is_dir() { top.join("pids") } else { top.to_owned() };
        let folder = controller.join(format!("weather-{}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }

    fn allow(&self, tasks: &str) {
        fs::write(self.0.join("pids.max"), tasks).unwrap();
    }
}

impl Drop for TaskLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_without_room_for_processes_is_the_worlds_fault() {
    if !can_run() {
        return;
    }
    let group = TaskLimit::new().unwrap();
    let engine = OwnEngine::start(None).await;
    let sandboxes = engine.sandboxes();
    let spec = base("COPY given /app/given");
    let base = sandboxes.materialise(&spec).await.unwrap();
    let before = engine.holds().await;
    // Runtimes are started by the engine's helper, which stands below it.
    let daemon = engine.daemon.as_ref().unwrap().id();
    let mut tasks = vec![daemon];
    let children = fs::read_to_string(format!("/proc/{daemon}/task/{daemon}/children"));
    for thread in fs::read_dir(format!("/proc/{daemon}/task")).unwrap() {
        let path = thread.unwrap().path().join("children");
        let children = fs::read_to_string(path).unwrap_or_default();
        tasks.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    assert!(children.is_ok(), "the kernel tells children");
    for pid in &tasks {
        fs::write(group.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
    group.allow("1");
    let fault = sandboxes.provision(&base, &limits(), Recording::Nothing).await.err();
    assert!(matches!(fault, Some(SandboxFault::HostLimit(_) | SandboxFault::Lost(_))), "{fault:?}");
    group.allow("max");
    // Out of the group, so that it can go.
    let top = group.0.parent().unwrap().join("cgroup.procs");
    for pid in &tasks {
        let _ = fs::write(&top, pid.to_string());
    }
    // The engine's helper dies if it cannot start a thread, and is started again.
    let begun = Instant::now();
    let sandbox = loop {
        match sandboxes.provision(&base, &limits(), Recording::Nothing).await {
            Ok(sandbox) => break sandbox,
            Err(fault) => assert!(begun.elapsed() < PATIENCE, "{fault}"),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert_eq!(sh(&*sandbox, "cat given").await, "given\n");
    drop(sandbox);
    drop(sandboxes);
    sweep(&engine.address(), Swept::Containers).await.unwrap();
    let images: Vec<String> = before.into_iter().filter(|one| one.starts_with("image")).collect();
    assert_eq!(engine.holds().await, images);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_runs_out_of_is_told_to_it_alone() {
    let sandboxes = stage::docker();
    let base = sandboxes.materialise(&spec("mkdir -p /app")).await.unwrap();
    let tight = Limits { memory_mb: Some(64), processes_max: Some(30), ..limits() };
    let sandbox = sandboxes.provision(&base, &tight, Recording::Processes).await.unwrap();
    let other = sandboxes.provision(&base, &limits(), Recording::Processes).await.unwrap();
    let hungry = "x = []\nwhile True: x.append(bytearray(1 << 20))";
    let finished = run(&*sandbox, &["python3", "-c", hungry]).await;
    assert_eq!(finished.ended, Ended::OutOfMemory);
    let many = "for i in $(seq 60); do sleep 2 & done; wait";
    assert_ne!(run(&*sandbox, &["sh", "-c", many]).await.ended, Ended::Exited(0));
    assert_eq!(sh(&*other, "echo well").await, "well\n");
    other.freeze().await.unwrap();
    assert!(other.capture(Turn(1)).await.unwrap().limits_hit.is_empty());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(sh(&*sandbox, "echo goes on").await, "goes on\n");
}
