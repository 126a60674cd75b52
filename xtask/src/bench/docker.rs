//! What sessions in containers cost beside the engine's own calls, measured in one run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use adapters::sandboxes::docker::{DockerSandboxes, SandboxLabels};
use bollard::{
    Docker, body_full,
    models::{ContainerCreateBody, ExecConfig, HostConfig},
    query_parameters::{
        CreateContainerOptions, ListContainersOptions, ListNetworksOptions, RemoveContainerOptions,
        StartContainerOptions, UploadToContainerOptionsBuilder,
    },
};
use domain::ids::{Hash, Turn};
use engine::ports::sandbox::{
    BaseSpec, FileEntry, FileNode, Image, Limits, Network, Recording, Sandboxes,
};
use futures_util::StreamExt;
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    Figure,
    local::{command, limits},
    median_ms,
};

const IMAGE: &str = "debian:bookworm-slim";
const TASKS: usize = 20;
const AT_ONCE: usize = 4;
const FILES: usize = 10_000;
const FILE_BYTES: usize = 4096;
const LOOKS: usize = 20;
const CROWD: usize = 200;
const STARTED_AT_ONCE: usize = 8;

pub(super) fn measure() -> Vec<Figure> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut figures = runtime.block_on(async { vec![copy_in().await, turn_diff().await] });
    figures.extend(sessions(&runtime));
    figures
}

pub(super) fn address() -> String {
    std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".to_owned())
}

async fn engine() -> Docker {
    let address = address();
    let path = address.trim_start_matches("unix://");
    let engine = Docker::connect_with_unix(path, 120, bollard::API_DEFAULT_VERSION);
    engine.expect("an engine").negotiate_version().await.expect("an engine that answers")
}

/// A container of the engine's own, with nothing of ours.
async fn bare(engine: &Docker) -> String {
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        cmd: Some(["sh", "-c", "sleep infinity"].map(str::to_owned).to_vec()),
        host_config: Some(HostConfig {
            network_mode: Some("none".to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let made = engine.create_container(None::<CreateContainerOptions>, body).await;
    let id = made.expect("a container").id;
    engine.start_container(&id, None::<StartContainerOptions>).await.expect("started");
    id
}

async fn bare_exec(engine: &Docker, id: &str) {
    let config = ExecConfig {
        cmd: Some(["sh", "-c", "true"].map(str::to_owned).to_vec()),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..Default::default()
    };
    let exec = engine.create_exec(id, config).await.expect("an exec").id;
    let started = engine.start_exec(&exec, None).await.expect("started");
    if let bollard::exec::StartExecResults::Attached { mut output, .. } = started {
        while output.next().await.is_some() {}
    }
    engine.inspect_exec(&exec).await.expect("its end");
}

async fn bare_remove(engine: &Docker, id: &str) {
    let options = RemoveContainerOptions { force: true, ..Default::default() };
    engine.remove_container(id, Some(options)).await.expect("removed");
}

pub(super) fn spec() -> BaseSpec {
    BaseSpec {
        digest: Hash::new(blake3::hash(b"docker bench").to_hex().as_str()),
        image: Image::Named(IMAGE.to_owned()),
        environment: Vec::new(),
        workdir: "/app".to_owned(),
        env: Default::default(),
        toolchains: Vec::new(),
        setup_timeout: Duration::from_secs(300),
        limits: limits(),
    }
}

fn sandboxes() -> DockerSandboxes {
    DockerSandboxes::new(&address(), Path::new("/proc/self/exe"))
}

fn many_files() -> Vec<FileEntry> {
    let content = |number: usize| {
        let mut bytes = vec![b'x'; FILE_BYTES];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes
    };
    (0..FILES)
        .map(|number| FileEntry {
            path: format!("many/{}/{number}", number % 100),
            node: FileNode::File(content(number)),
            mode: 0o644,
        })
        .collect()
}

async fn copy_in() -> Figure {
    let (engine, sandboxes) = (engine().await, sandboxes());
    let base = sandboxes.materialise(&spec()).await.expect("a base");
    let files = many_files();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let sandbox = sandboxes.provision(&base, &limits(), Recording::Nothing).await;
        let sandbox = sandbox.expect("a sandbox");
        let began = Instant::now();
        sandbox.put("/app", &files).await.expect("placed");
        ours.push(began.elapsed().as_secs_f64() * 1000.0);
        drop(sandbox);
        let id = bare(&engine).await;
        let began = Instant::now();
        let mut builder = tar::Builder::new(Vec::new());
        for file in &files {
            let FileNode::File(bytes) = &file.node else { continue };
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(file.mode);
            builder.append_data(&mut header, &file.path, bytes.as_slice()).expect("packed");
        }
        let archive = builder.into_inner().expect("packed");
        let options = UploadToContainerOptionsBuilder::default().path("/opt").build();
        let body = body_full(archive.into());
        engine.upload_to_container(&id, Some(options), body).await.expect("uploaded");
        theirs.push(began.elapsed().as_secs_f64() * 1000.0);
        bare_remove(&engine, &id).await;
    }
    let (ours, theirs) = (median_ms(ours), median_ms(theirs));
    Figure {
        name: "docker: 10,000 files in, beside one upload",
        measured: format!("{:.2} ({ours:.0} / {theirs:.0} ms)", ours / theirs),
        promised: "<= 1.3",
    }
}

async fn turn_diff() -> Figure {
    let (engine, sandboxes) = (engine().await, sandboxes());
    let base = sandboxes.materialise(&spec()).await.expect("a base");
    let sandbox = sandboxes.provision(&base, &limits(), Recording::Processes).await;
    let sandbox = sandbox.expect("a sandbox");
    let id = bare(&engine).await;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..LOOKS {
        let files: Vec<FileEntry> = many_files().into_iter().skip(turn * 10).take(10).collect();
        sandbox.put("/app", &files).await.expect("placed");
        sandbox.freeze().await.expect("quiet");
        let began = Instant::now();
        sandbox.capture(Turn(turn as u32 + 1)).await.expect("a capture");
        ours.push(began.elapsed().as_secs_f64() * 1000.0);
        sandbox.thaw().await.expect("going on");
        let began = Instant::now();
        engine.container_changes(&id).await.expect("changes");
        theirs.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    bare_remove(&engine, &id).await;
    let (ours, theirs) = (median_ms(ours), median_ms(theirs));
    Figure {
        name: "docker: a turn's diff beyond 1.5 x `changes`",
        measured: format!("{:.1} ms ({ours:.1} / {theirs:.1} ms)", ours - 1.5 * theirs),
        promised: "<= 20 ms",
    }
}

/// Many sandboxes that run at once on one engine: what they cost this process, and that they leave nothing.
pub(super) fn measure_crowd() -> Vec<Figure> {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(crowd())
}

async fn crowd() -> Vec<Figure> {
    let engine = engine().await;
    let run = format!("bench-crowd-{}", std::process::id());
    let labels = SandboxLabels { run: run.clone(), ..SandboxLabels::default() };
    let sandboxes = sandboxes().labelled(labels);
    let base = sandboxes.materialise(&spec()).await.expect("a base");
    let networks_before = networks(&engine).await;
    let containers_before = containers(&engine, &run).await;
    let places = Arc::new(Semaphore::new(STARTED_AT_ONCE));
    let mut starting = JoinSet::new();
    let began = Instant::now();
    for number in 0..CROWD {
        let (sandboxes, base, places) = (sandboxes.clone(), base.clone(), places.clone());
        starting.spawn(async move {
            let _place = places.acquire_owned().await;
            let limits = if number % 2 == 0 { limits() } else { public() };
            let made = sandboxes.provision(&base, &limits, Recording::Processes).await;
            let sandbox = made.expect("a sandbox");
            let said = sandbox.exec(&command(&["sh", "-c", "echo done > /app/done"])).await;
            assert!(said.expect("a command").is_success());
            sandbox
        });
    }
    let crowd = starting.join_all().await;
    let started_s = began.elapsed().as_secs_f64();
    let resident_mb = super::resident_mb();
    let live = containers(&engine, &run).await - containers_before;
    let networks_more = networks(&engine).await.saturating_sub(networks_before);
    assert_eq!((crowd.len(), live), (CROWD, CROWD), "all of them run at once");
    drop((crowd, sandboxes));
    let left = containers(&engine, &run).await;
    let each = (resident_mb - 40.0).max(0.0) / CROWD as f64;
    vec![
        Figure {
            name: "docker: memory of each of 200 beyond 40 MiB",
            measured: format!("{each:.2} MiB ({resident_mb:.0} MiB in all)"),
            promised: "<= 3 MiB",
        },
        Figure {
            name: "docker: networks made for 200, left of them",
            measured: format!("{networks_more}, {left} containers ({started_s:.0} s)"),
            promised: "0, 0",
        },
    ]
}

fn public() -> Limits {
    Limits { network: Network::Public, ..limits() }
}

async fn networks(engine: &Docker) -> usize {
    engine.list_networks(None::<ListNetworksOptions>).await.expect("networks").len()
}

/// Containers of a run, the base's own among them.
async fn containers(engine: &Docker, run: &str) -> usize {
    let label = vec![format!("personacodebench.run={run}")];
    let filters = Some([("label".to_owned(), label)].into());
    let all = ListContainersOptions { all: true, filters, ..Default::default() };
    engine.list_containers(Some(all)).await.expect("containers").len()
}

/// Twenty one-line tasks through the whole tool, beside the engine's bare calls.
fn sessions(runtime: &tokio::runtime::Runtime) -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..TASKS {
        write_task(&folder.path().join(format!("tasks/task-{number:02}")));
    }
    // Images, the program's volume and the page cache are warm in the second run.
    run_tool(folder.path());
    let used_before = children();
    let began = Instant::now();
    let peak_mb = run_tool(folder.path());
    let ours = began.elapsed().as_secs_f64();
    let used = children() - used_before;
    let theirs = runtime.block_on(async {
        let engine = Arc::new(engine().await);
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let began = Instant::now();
        let mut sequences = JoinSet::new();
        for _ in 0..TASKS {
            let (engine, places) = (engine.clone(), places.clone());
            sequences.spawn(async move {
                let _place = places.acquire_owned().await;
                let id = bare(&engine).await;
                bare_exec(&engine, &id).await;
                bare_exec(&engine, &id).await;
                bare_remove(&engine, &id).await;
            });
        }
        while sequences.join_next().await.is_some() {}
        began.elapsed().as_secs_f64()
    });
    let cpu = used / TASKS as f64;
    let beyond = (peak_mb - 40.0).max(0.0) / AT_ONCE as f64;
    vec![
        Figure {
            name: "docker: 20 tasks, beside the bare sequence",
            measured: format!("{:.2} ({ours:.1} / {theirs:.1} s)", ours / theirs),
            promised: "<= 2.5",
        },
        Figure {
            name: "docker: processor time of the tool a session",
            measured: format!("{cpu:.3} s"),
            promised: "<= 0.1 s",
        },
        Figure {
            name: "docker: memory a session beyond 40 MiB",
            measured: format!("{beyond:.1} MiB (peak {peak_mb:.0} MiB)"),
            promised: "<= 3 MiB",
        },
    ]
}

fn write_task(folder: &Path) {
    let write = |path: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).expect("a mode");
    };
    let settings = format!(
        "schema_version = \"1.4\"\n[environment]\ndocker_image = \"{IMAGE}\"\nworkdir = \"/app\"\n\
         network_mode = \"no-network\"\ncpus = 1\n[agent]\ntimeout_sec = 60\n[verifier]\ntimeout_sec = 60\n"
    );
    write("task.toml", &settings, 0o644);
    write("instruction.md", "Write `done` into /app/done.\n", 0o644);
    std::fs::create_dir_all(folder.join("environment")).expect("a folder");
    write("solution/solve.sh", "#!/bin/sh\necho done > /app/done\n", 0o755);
    let test = "#!/bin/sh\nmkdir -p /logs/verifier\nif [ \"$(cat /app/done)\" = done ]; then echo 1; else echo 0; fi \
                > /logs/verifier/reward.txt\n";
    write("tests/test.sh", test, 0o755);
}

/// Runs the tasks; answers the most memory in MiB that the tool itself has had.
fn run_tool(folder: &Path) -> f64 {
    let own = std::env::current_exe().expect("a program");
    let tool: PathBuf = own.with_file_name("pcb");
    let jobs = AT_ONCE.to_string();
    let written = folder.join("written");
    let file = || std::fs::File::options().create(true).append(true).open(&written);
    let mut running = std::process::Command::new(&tool)
        .args(["run", "tasks", "--agent", "oracle", "--sandbox", "docker", "--jobs", &jobs])
        .current_dir(folder)
        .stdout(file().expect("a file"))
        .stderr(file().expect("a file"))
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}; build it first", tool.display()));
    let mut peak_mb = 0.0;
    let status = loop {
        peak_mb = f64::max(peak_mb, super::memory_mb(&running.id().to_string(), "VmHWM:"));
        match running.try_wait().expect("it is ours") {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "{}", std::fs::read_to_string(&written).unwrap_or_default());
    peak_mb
}

/// Processor time in seconds that ended children of this process have used.
fn children() -> f64 {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    let usage = usage.expect("usage");
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
