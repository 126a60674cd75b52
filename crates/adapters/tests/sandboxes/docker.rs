//! What only containers have: images, users, networks, their own init, limits of the engine, and what they leave behind.

use std::{collections::BTreeMap, time::Duration};

use adapters::sandboxes::docker::{LeftoverKind, SandboxLabels, Swept, sweep};
use bollard::{Docker, query_parameters::ListContainersOptions};
use domain::{evidence::ProcessEvent, ids::Turn};
use engine::ports::sandbox::{
    BaseSpec, Ended, FileEntry, FileNode, Image, LimitKind, Limits, Network, Recording, Sandbox,
    SandboxFault, Sandboxes,
};

use super::stage::{self, command, docker, file, limits, node, run, sh, spec};

/// A base whose Dockerfile ends with more lines.
fn spec_with(setup: &str, more: &str) -> BaseSpec {
    let text = stage::dockerfile(more);
    let digest = blake3::hash(format!("{setup}\0{text}").as_bytes()).to_hex();
    BaseSpec {
        digest: domain::ids::Hash::new(digest.as_str()),
        image: Image::Dockerfile(text.into_bytes()),
        ..spec(setup)
    }
}

async fn sandbox_of(spec: &BaseSpec, limits: &Limits) -> Box<dyn Sandbox> {
    let sandboxes = docker();
    let base = sandboxes.materialise(spec).await.unwrap();
    sandboxes.provision(&base, limits, Recording::Processes).await.unwrap()
}

async fn programs(sandbox: &dyn Sandbox) -> Vec<ProcessEvent> {
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    sandbox.thaw().await.unwrap();
    assert!(!capture.overflow);
    capture.processes
}

fn lines(processes: &[ProcessEvent]) -> Vec<String> {
    processes.iter().map(|one| one.argv.join(" ")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_build_that_fails_tells_its_last_lines() {
    // Not every engine passes two streams on in one order, so the second begins when the first is through.
    let setup =
        "for n in $(seq 200); do echo line-$n; done; sleep 1; echo the-reason >&2; sleep 1; exit 7";
    let fault = docker().materialise(&spec(setup)).await;
    let Err(SandboxFault::Setup(text)) = fault else { panic!("{fault:?}") };
    assert!(text.contains("the-reason") && text.contains("line-200"), "{text}");
    assert!(!text.contains("line-100\n"), "more than the last lines: {text}");
    assert!(text.lines().count() <= 51, "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_that_is_nowhere_is_a_fault_of_the_setup() {
    let named = |name: &str| BaseSpec {
        image: Image::Named(name.to_owned()),
        environment: Vec::new(),
        digest: domain::ids::Hash::new(blake3::hash(name.as_bytes()).to_hex().as_str()),
        ..spec("")
    };
    let fault = docker().materialise(&named("localhost/nowhere:none")).await;
    let Err(SandboxFault::Setup(text)) = fault else { panic!("{fault:?}") };
    assert!(text.contains("localhost/nowhere:none"), "{text}");
    let sandbox = sandbox_of(&named("debian:bookworm-slim"), &limits()).await;
    assert_eq!(sh(&*sandbox, "pwd").await, "/app\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_laid_into_a_named_image() {
    let named = BaseSpec {
        image: Image::Named("debian:bookworm-slim".to_owned()),
        environment: vec![file("sub/given", "text\n", 0o644)],
        digest: domain::ids::Hash::new(blake3::hash(b"files in a named image").to_hex().as_str()),
        ..spec("")
    };
    let sandbox = sandbox_of(&named, &limits()).await;
    assert_eq!(sh(&*sandbox, "cat /app/sub/given").await, "text\n");
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    assert!(capture.manifest.entries.is_empty(), "{:?}", capture.manifest.entries);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_does_not_answer_is_said_with_a_remedy() {
    let sandboxes = adapters::sandboxes::docker::DockerSandboxes::new(
        "unix:///nowhere/docker.sock",
        &stage::supervisor(),
    );
    let fault = sandboxes.capabilities().await;
    let Err(SandboxFault::Unsupported(text)) = fault else { panic!("{fault:?}") };
    assert!(text.contains("/nowhere/docker.sock") && text.contains("DOCKER_HOST"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_run_as_the_images_user_or_another() {
    let spec = spec_with(
        "echo worker:x:4321:4321::/home/worker:/bin/sh >> /etc/passwd\nmkdir -p /app /home/worker\nchown 4321 /app\n",
        "USER worker\nENV COLOUR=green\n",
    );
    let sandbox = sandbox_of(&spec, &limits()).await;
    let told = sh(&*sandbox, "echo $(id -u) $HOME $COLOUR $GREETING $(pwd)").await;
    assert_eq!(told, "4321 /home/worker green hello /app\n");
    let as_user = async |user: &str| {
        let mut id = command(&["sh", "-c", "echo $(id -u):$(id -g)"]);
        id.user = Some(user.to_owned());
        String::from_utf8(sandbox.exec(&id).await.unwrap().stdout).unwrap()
    };
    assert_eq!(as_user("root").await, "0:0\n");
    assert_eq!(as_user("0").await, "0:0\n");
    assert_eq!(as_user("1000:1001").await, "1000:1001\n");
    let mut nobody = command(&["true"]);
    nobody.user = Some("no-such-user".to_owned());
    let finished = sandbox.exec(&nobody).await.unwrap();
    assert_eq!(finished.ended, Ended::NotStarted);
    assert!(stage::texts(&finished).1.contains("no-such-user"), "{finished:?}");
    // What its owner wrote is its owner's in a fork too.
    sh(&*sandbox, "echo mine > /app/mine; chmod 600 /app/mine").await;
    sandbox.freeze().await.unwrap();
    let fork = sandbox.fork(&limits()).await.unwrap();
    assert_eq!(sh(&*fork, "cat mine; stat -c %u:%a mine").await, "mine\n4321:600\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn privileges_are_those_of_a_plain_container() {
    let sandbox = sandbox_of(&spec("mkdir -p /app"), &limits()).await;
    let status = sh(&*sandbox, "grep -E 'Cap(Eff|Bnd)' /proc/self/status").await;
    let masks: Vec<u64> = status
        .lines()
        .map(|line| u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap())
        .collect();
    assert_eq!(masks, [0xa804_25fb, 0xa804_25fb], "Docker's default: {status}");
    for forbidden in ["unshare -U true", "unshare -m true", "mount -t tmpfs none /mnt"] {
        let finished = run(&*sandbox, &["sh", "-c", forbidden]).await;
        assert_ne!(finished.ended, Ended::Exited(0), "{forbidden}");
    }
    // The program that holds the log has more, and nothing inside may touch it.
    let peek = "for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline | grep -q '[.]init/init'; then \
                cat $p/environ > /dev/null && echo read $p; fi; done; true";
    assert_eq!(sh(&*sandbox, &format!("({peek}) 2>/dev/null")).await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_to_start_a_program_is_logged() {
    let setup = "mkdir -p /app\ncp /usr/bin/id /app/id\nchmod 4755 /app/id\n\
                 printf 'int main(){return 5;}' > /tmp/a.c\ncc -static -o /app/static /tmp/a.c\n";
    let sandbox = sandbox_of(&spec(setup), &limits()).await;
    let mut as_worker = command(&["/app/id", "-u"]);
    as_worker.user = Some("4321".to_owned());
    let id = sandbox.exec(&as_worker).await.unwrap();
    assert_eq!(stage::texts(&id).0, "0\n", "setuid works");
    assert_eq!(run(&*sandbox, &["/app/static"]).await.ended, Ended::Exited(5));
    sh(&*sandbox, "sh -c 'true && exec ls /app > /dev/null'").await;
    sh(&*sandbox, "strace -f -o /dev/null sh -c 'ls /opt'").await;
    sh(&*sandbox, "setsid sh -c 'sleep 0.2; touch /app/later' > /dev/null 2>&1 & sleep 0.6").await;
    let seen = programs(&*sandbox).await;
    let said = lines(&seen);
    for expect in ["/app/id -u", "/app/static", "ls /app", "ls /opt", "touch /app/later"] {
        assert!(said.iter().any(|line| line == expect), "{expect} of {said:?}");
    }
    let statics = seen.iter().find(|one| one.program == "/app/static").unwrap();
    assert_eq!(statics.exit_code, Some(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_images_own_init_stays_the_first_process() {
    let setup = "mkdir -p /app\n\
        printf '#!/bin/sh\\nmkdir -p /run/own; echo up > /run/own/state; (while sleep 0.1; do :; done) & exec \"$@\"\\n' \
        > /entry\nchmod 755 /entry\n";
    let spec = spec_with(setup, "ENTRYPOINT [\"/entry\"]\n");
    let sandbox = sandbox_of(&spec, &limits()).await;
    assert_eq!(sh(&*sandbox, "sleep 0.3; cat /run/own/state").await, "up\n");
    let first = sh(&*sandbox, "tr '\\0' ' ' < /proc/1/cmdline").await;
    assert!(first.starts_with("sleep infinity") || first.starts_with("sh -c"), "{first}");
    let seen = lines(&programs(&*sandbox).await);
    assert!(seen.iter().any(|line| line.starts_with("sleep 0.1")), "services are logged: {seen:?}");
    sh(&*sandbox, "echo late > /app/late").await;
    sandbox.end().await.unwrap();
    assert_eq!(text_of(&*sandbox, "/run/own/state").await.as_deref(), Some("up\n"));
    // What came between the last capture and the end is not lost with the container.
    let last = sandbox.capture(Turn(2)).await.unwrap();
    assert!(last.manifest.entries.contains_key("/app/late"));
    let late: Vec<_> =
        last.processes.iter().filter(|one| one.argv.join(" ").contains("late")).collect();
    assert!(!late.is_empty() && late.iter().all(|one| one.turn == Turn(2)), "{:?}", last.processes);
    assert!(!last.overflow);
    let restored = sandbox.restore(&["/app".to_owned()], &limits()).await.unwrap();
    assert_eq!(text_of(&*restored, "/app/late").await.as_deref(), Some("late\n"));
}

async fn text_of(sandbox: &dyn Sandbox, path: &str) -> Option<String> {
    let entries = sandbox.get(path).await.unwrap()?;
    entries.into_iter().find_map(|entry| match entry.node {
        FileNode::File(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_a_container_are_the_agents() {
    let limits = Limits {
        memory_mb: Some(64),
        processes_max: Some(40),
        disk_mb: Some(5),
        cpus: Some(1.0),
        gpus: 0,
        network: Network::Off,
    };
    let sandbox = sandbox_of(&spec("mkdir -p /app"), &limits).await;
    let hungry = "x = []\nwhile True: x.append(bytearray(1 << 20))";
    let finished = run(&*sandbox, &["python3", "-c", hungry]).await;
    assert_eq!(finished.ended, Ended::OutOfMemory, "{finished:?}");
    let by_itself = run(&*sandbox, &["sh", "-c", "kill -9 $$"]).await;
    assert_eq!(by_itself.ended, Ended::Signalled(9), "an earlier kill explains no later one");
    let many = "for i in $(seq 100); do sleep 1 & done; wait";
    let finished = run(&*sandbox, &["sh", "-c", many]).await;
    assert_ne!(finished.ended, Ended::Exited(0));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    sh(&*sandbox, "head -c 6000000 /dev/zero > /app/big").await;
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    let expect = [LimitKind::Memory, LimitKind::Processes, LimitKind::Disk];
    assert_eq!(capture.limits_hit, expect);
    // What was hit is told once.
    assert_eq!(sandbox.capture(Turn(1)).await.unwrap().limits_hit, [LimitKind::Disk]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn networks_are_off_or_public() {
    let interfaces = async |network: Network| {
        let limits = Limits { network, ..limits() };
        let sandbox = sandbox_of(&spec("mkdir -p /app"), &limits).await;
        sh(&*sandbox, "ls /sys/class/net").await
    };
    assert_eq!(interfaces(Network::Off).await.trim(), "lo");
    assert!(interfaces(Network::Public).await.contains("eth0"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_killed_from_outside_is_the_worlds_fault() {
    let sandboxes = docker().labelled(labels("killed"));
    let base = sandboxes.materialise(&spec("mkdir -p /app")).await.unwrap();
    let sandbox = sandboxes.provision(&base, &limits(), Recording::Processes).await.unwrap();
    let mut long = command(&["sleep", "600"]);
    long.timeout = Duration::from_secs(60);
    let running = sandbox.exec(&long);
    let killing = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let engine = engine().await;
        for id in containers("killed").await {
            engine
                .kill_container(&id, None::<bollard::query_parameters::KillContainerOptions>)
                .await
                .unwrap();
        }
    };
    let (finished, ()) = tokio::join!(running, killing);
    let Err(SandboxFault::Lost(text)) = finished else { panic!("{finished:?}") };
    assert!(text.contains("137"), "{text}");
    assert!(matches!(sandbox.freeze().await, Err(SandboxFault::Lost(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_is_gone_and_labelled_till_then() {
    let labels = labels("dropped");
    let sandboxes = docker().labelled(labels.clone());
    let base = sandboxes.materialise(&spec("mkdir -p /app")).await.unwrap();
    let one = sandboxes.provision(&base, &limits(), Recording::Processes).await.unwrap();
    one.freeze().await.unwrap();
    let fork = one.fork(&limits()).await.unwrap();
    // The base's own container, the sandbox and its fork.
    assert_eq!(containers("dropped").await.len(), 3);
    drop(fork);
    drop(one);
    drop(sandboxes);
    assert_eq!(containers("dropped").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_provably_dead_is_swept() {
    let sandboxes = docker().labelled(labels("swept"));
    let base = sandboxes.materialise(&spec("mkdir -p /app")).await.unwrap();
    let alive = sandboxes.provision(&base, &limits(), Recording::Nothing).await.unwrap();
    let engine = engine().await;
    let labels = BTreeMap::from([
        ("personacodebench.owner", "machine/boot/1/1"),
        ("personacodebench.run", "swept-dead"),
    ]);
    let own_boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let dead = format!("x/{}/{}/1", own_boot.trim(), i32::MAX);
    let mut ids = Vec::new();
    for owner in [labels["personacodebench.owner"], &dead] {
        let mut own = labels.clone();
        own.insert("personacodebench.owner", owner);
        let body = bollard::models::ContainerCreateBody {
            image: Some("debian:bookworm-slim".to_owned()),
            cmd: Some(vec!["true".to_owned()]),
            labels: Some(own.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()),
            ..Default::default()
        };
        let none = None::<bollard::query_parameters::CreateContainerOptions>;
        ids.push(engine.create_container(none, body).await.unwrap().id);
    }
    let gone = sweep(&stage::docker_address(), Swept::Dead).await.unwrap();
    // Sandboxes that another test makes at the same time sweep too: then it is gone and was told there.
    let told = gone.iter().find(|one| one.id == ids[1]).map(|one| one.kind);
    assert!(matches!(told, None | Some(LeftoverKind::Container)), "{gone:?}");
    assert!(!containers_of("swept-dead").await.contains(&ids[1]), "what is dead is taken away");
    assert!(gone.iter().all(|one| one.id != ids[0]), "of another machine nothing is known");
    assert_eq!(sh(&*alive, "echo alive").await, "alive\n");
    let force =
        bollard::query_parameters::RemoveContainerOptions { force: true, ..Default::default() };
    engine.remove_container(&ids[0], Some(force)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_lives_and_carries_much() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let sandbox = sandbox_of(&spec("mkdir -p /app"), &limits()).await;
    let mut started = sandbox.start(&command(&["cat"])).await.unwrap();
    // Small messages one after the other, then 20 MiB on one line.
    for number in 0..200 {
        let message = format!("{{\"id\":{number}}}\n");
        started.stdin.write_all(message.as_bytes()).await.unwrap();
        started.stdin.flush().await.unwrap();
        let mut back = vec![0; message.len()];
        started.stdout.read_exact(&mut back).await.unwrap();
        assert_eq!(back, message.as_bytes());
    }
    let big = vec![b'x'; 20 << 20];
    let (mut stdin, mut stdout) = (started.stdin, started.stdout);
    let sending = async {
        stdin.write_all(&big).await.unwrap();
        stdin.shutdown().await.unwrap();
        drop(stdin);
    };
    let receiving = async {
        let mut back = Vec::new();
        stdout.read_to_end(&mut back).await.unwrap();
        back
    };
    let ((), back) = tokio::join!(sending, receiving);
    assert!(back == big, "{} of {} bytes", back.len(), big.len());
    assert_eq!(started.ended.await.unwrap(), Ended::Exited(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replaced_and_buried_paths_are_told() {
    let setup =
        "mkdir -p /app/dir/deep /app/kept\necho a > /app/dir/deep/file\necho b > /app/kept/file\n";
    let sandbox = sandbox_of(&spec(setup), &limits()).await;
    sh(&*sandbox, "rm -r dir; echo now-a-file > dir; mv kept moved; mkdir kept; echo c > kept/new")
        .await;
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    let told: Vec<(&str, &str)> = capture
        .manifest
        .entries
        .iter()
        .map(|(path, entry)| (path.as_str(), kind(entry.kind)))
        .collect();
    let expect = [
        ("/app/dir", "file"),
        ("/app/dir/deep", "gone"),
        ("/app/dir/deep/file", "gone"),
        ("/app/kept/file", "gone"),
        ("/app/kept/new", "file"),
        ("/app/moved", "directory"),
        ("/app/moved/file", "file"),
    ];
    assert_eq!(told, expect);
    let fork = sandbox.fork(&limits()).await.unwrap();
    assert_eq!(sh(&*fork, "cat dir kept/new moved/file; ls kept").await, "now-a-file\nc\nb\nnew\n");
}

fn kind(kind: domain::evidence::FileKind) -> &'static str {
    use domain::evidence::FileKind;
    match kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Link => "link",
        FileKind::Special => "special",
        FileKind::Gone => "gone",
    }
}

pub fn labels(run: &str) -> SandboxLabels {
    // Tests of several processes share an engine.
    let run = format!("{run}-{}", std::process::id());
    SandboxLabels { run, session: "pair/repeat-1".to_owned(), attempt: "1".to_owned() }
}

pub async fn engine() -> Docker {
    let address = stage::docker_address();
    let path = address.trim_start_matches("unix://");
    let engine = Docker::connect_with_unix(path, 60, bollard::API_DEFAULT_VERSION).unwrap();
    engine.negotiate_version().await.unwrap()
}

/// Containers of the engine that are labelled with this test's run.
pub async fn containers(run: &str) -> Vec<String> {
    containers_of(&labels(run).run).await
}

/// Containers of the engine that are labelled with this run.
async fn containers_of(run: &str) -> Vec<String> {
    let label = format!("personacodebench.run={run}");
    let filters = std::collections::HashMap::from([("label".to_owned(), vec![label])]);
    let options = ListContainersOptions { all: true, filters: Some(filters), ..Default::default() };
    let listed = engine().await.list_containers(Some(options)).await.unwrap();
    listed.into_iter().filter_map(|container| container.id).collect()
}

/// Volumes of the engine that are labelled with this test's run.
pub async fn volumes(run: &str) -> Vec<String> {
    let label = format!("personacodebench.run={}", labels(run).run);
    let filters = std::collections::HashMap::from([("label".to_owned(), vec![label])]);
    let options = bollard::query_parameters::ListVolumesOptions { filters: Some(filters) };
    let listed = engine().await.list_volumes(Some(options)).await.unwrap().volumes;
    listed.unwrap_or_default().into_iter().map(|volume| volume.name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_files_travel_both_ways() {
    let sandbox = sandbox_of(&spec("mkdir -p /app"), &limits()).await;
    let files: Vec<FileEntry> = (0..2000)
        .map(|number| file(&format!("many/{}/{number}", number % 50), &"y".repeat(4096), 0o644))
        .collect();
    let mut files = files;
    files.push(node("many", FileNode::Directory, 0o750));
    files.push(node("gone", FileNode::Absent, 0));
    files.push(node("link", FileNode::Link("many/7/7".to_owned()), 0o777));
    sh(&*sandbox, "mkdir -p gone/below many && chmod 700 /app").await;
    sandbox.put("/app", &files).await.unwrap();
    assert_eq!(sh(&*sandbox, "find many -type f | wc -l").await, "2000\n");
    let told = sh(&*sandbox, "stat -c '%a %u' /app many many/7 many/7/7; ls; head -c 1 link").await;
    assert_eq!(told, "700 0\n750 0\n755 0\n644 0\nlink\nmany\ny");
    let back = sandbox.get("/app/many").await.unwrap().unwrap();
    let count = back.iter().filter(|entry| matches!(entry.node, FileNode::File(_))).count();
    assert_eq!(count, 2000);
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    // The files, their folders, `many`, the link, and /app whose mode was changed.
    assert_eq!(capture.manifest.entries.len(), 2000 + 50 + 3);
}
