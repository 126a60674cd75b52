//! Services beside a container: what they find, how they stop and end with it, what is refused, and that nothing is left.

use std::{path::Path, process::Command, sync::OnceLock};

use adapters::{
    process::Variables,
    sandboxes::docker::{Compose, ComposeError, DockerSandboxes},
};
use domain::ids::{Hash, Turn};
use engine::ports::sandbox::{
    BaseSpec, FileEntry, FileNode, Image, Recording, Sandbox, SandboxFault, Sandboxes,
};

use super::{
    docker::{containers, labels, volumes},
    stage::{self, file, limits, sh, spec, supervisor},
};

/// A service that counts its answers, for as long as it runs.
const COUNTER: &str = r#"
import http.server, os, socketserver
class Counter(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Counter.asked += 1
        with open("/shared/asked", "w") as told: told.write(str(Counter.asked))
        self.send_response(200); self.end_headers()
        self.wfile.write(f"{Counter.asked} {os.environ['GREETING']}".encode())
    def log_message(self, *_): pass
socketserver.TCPServer.allow_reuse_address = True
http.server.HTTPServer(("127.0.0.1", 8000), Counter).serve_forever()
"#;

const FILE: &str = r#"
services:
  main:
    depends_on: {counter: {condition: service_healthy}, once: {condition: service_completed_successfully}}
    environment: {FROM_FILE: "${GREETING} $$x", GREETING: over}
    volumes: ["shared:/shared"]
  counter:
    build: {context: counter, args: {BASE: "debian:bookworm-slim"}}
    environment: {GREETING: "${GREETING}"}
    volumes: ["shared:/shared", "./given.txt:/etc/given.txt:ro"]
    healthcheck: {test: "curl -sf http://127.0.0.1:8000/", interval: 200ms, retries: 50}
    mem_limit: 128m
  once:
    image: debian:bookworm-slim
    command: sh -c "echo once > /shared/once"
    volumes: ["shared:/shared"]
  late:
    image: debian:bookworm-slim
    depends_on: [main]
    command: sleep infinity
    restart: always
volumes: {shared: {}}
"#;

/// Variables of the host by which Compose is found.
fn variables() -> Variables {
    static FOLDER: OnceLock<String> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup/compose");
        let done = Command::new(setup).output().expect("setup/compose starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    });
    [("PATH".to_owned(), folder.into()), ("HOST_SAYS".to_owned(), "host".into())].into()
}

fn sandboxes() -> DockerSandboxes {
    DockerSandboxes::with_variables(&stage::docker_address(), &supervisor(), variables())
}

/// A base on a file with more beside it.
fn with_file(text: &str, more: &[FileEntry]) -> BaseSpec {
    let mut environment = vec![file("docker-compose.yaml", text, 0o644)];
    environment.extend_from_slice(more);
    let digest = blake3::hash(format!("{environment:?}").as_bytes()).to_hex();
    BaseSpec {
        digest: Hash::new(digest.as_str()),
        image: Image::Dockerfile(b"FROM debian:bookworm-slim\nWORKDIR /app\n".to_vec()),
        environment,
        ..spec("")
    }
}

fn counting() -> BaseSpec {
    let dockerfile =
        "ARG BASE\nFROM $BASE\nCOPY counter.py /counter.py\nCMD [\"python3\", \"/counter.py\"]\n";
    let more = [
        file("counter/Dockerfile", dockerfile, 0o644),
        file("counter/counter.py", COUNTER, 0o644),
        file("given.txt", "given\n", 0o640),
    ];
    with_file(FILE, &more)
}

async fn ask(sandbox: &dyn Sandbox) -> (u32, String) {
    let said = sh(sandbox, "curl -s --max-time 5 http://counter:8000/").await;
    let (number, greeting) = said.split_once(' ').unwrap();
    (number.parse().unwrap(), greeting.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_live_with_their_session() {
    let sandboxes = sandboxes().labelled(labels("services"));
    let base = sandboxes.materialise(&counting()).await.unwrap();
    let sandbox = sandboxes.provision(&base, &limits(), Recording::Processes).await.unwrap();
    let (first, greeting) = ask(&*sandbox).await;
    assert_eq!(greeting, "hello");
    assert_eq!(
        sh(&*sandbox, "echo $FROM_FILE, $GREETING; cat /shared/once").await,
        "hello $x, hello\nonce\n"
    );
    assert_eq!(
        sh(&*sandbox, "ls /sys/class/net; pwd").await,
        "lo\n/app\n",
        "no network but its own"
    );
    // The base's own, main, and three services; the one that is done is there too.
    assert_eq!(containers("services").await.len(), 5);
    assert_eq!(volumes("services").await.len(), 1);

    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    assert!(capture.manifest.entries.contains_key("/shared/once"), "volumes of main are looked at");
    assert_eq!(capture.alive, 0, "processes of services are not the agent's");
    let fork = sandbox.fork(&limits()).await.unwrap();
    let (anew, _) = ask(&*fork).await;
    assert!(anew <= first, "a fork has services of its own: {anew}");
    assert_eq!(sh(&*fork, "cat /shared/once").await, "once\n");
    drop(fork);
    sandbox.thaw().await.unwrap();
    assert!(ask(&*sandbox).await.0 > first, "those of the session went on");

    sandbox.end().await.unwrap();
    assert_eq!(running("services").await, 2, "main and the base's own are all that run");
    let told = sandbox.get("/shared/once").await.unwrap().unwrap();
    assert_eq!(told[0].node, FileNode::File(b"once\n".to_vec()));
    let restored = sandbox.restore(&["/shared".to_owned()], &limits()).await.unwrap();
    assert_eq!(ask(&*restored).await.1, "hello");
    drop(restored);
    drop(sandbox);
    drop(sandboxes);
    assert_eq!(containers("services").await, Vec::<String>::new());
    assert_eq!(volumes("services").await, Vec::<String>::new());
}

/// Containers of a run that run.
async fn running(run: &str) -> usize {
    let engine = super::docker::engine().await;
    let mut count = 0;
    for id in containers(run).await {
        let none = None::<bollard::query_parameters::InspectContainerOptions>;
        let state = engine.inspect_container(&id, none).await.unwrap().state.unwrap();
        count += usize::from(state.running == Some(true));
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_find_each_other_by_name() {
    let text = "services:\n  asks:\n    image: debian:bookworm-slim\n    \
                command: getent hosts main db other own extra\n  \
                main: {depends_on: {asks: {condition: service_completed_successfully}}}\n  db:\n    \
                image: debian:bookworm-slim\n    command: sleep infinity\n    container_name: own\n    \
                networks: {default: {aliases: [other]}}\n    extra_hosts: [\"extra:192.0.2.7\"]\n";
    let sandboxes = sandboxes();
    if sandboxes.capabilities().await.unwrap().shortfalls.iter().any(|one| one.contains("Podman")) {
        // It is told as a shortfall there.
        return;
    }
    let base = sandboxes.materialise(&with_file(text, &[])).await.unwrap();
    let sandbox = sandboxes.provision(&base, &limits(), Recording::Nothing).await.unwrap();
    let told = sh(&*sandbox, "getent hosts main asks db other own extra | cut -d ' ' -f 1").await;
    assert_eq!(told, ["127.0.0.1\n"; 5].concat() + "192.0.2.7\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_service_does_nothing() {
    let text = "services:\n  clock:\n    image: debian:bookworm-slim\n    volumes: [\"shared:/shared\"]\n    \
                command: sh -c 'while :; do date +%s%N > /shared/now; sleep 0.01; done'\n  \
                main: {volumes: [\"shared:/shared\"]}\nvolumes: {shared: }\n";
    let sandboxes = sandboxes().labelled(labels("stopped"));
    let base = sandboxes.materialise(&with_file(text, &[])).await.unwrap();
    let sandbox = sandboxes.provision(&base, &limits(), Recording::Nothing).await.unwrap();
    let now = async || {
        let told = sandbox.get("/shared/now").await.unwrap().unwrap();
        told[0].node.clone()
    };
    let pause = || tokio::time::sleep(std::time::Duration::from_millis(300));
    pause().await;
    let (moving, _, moved) = (now().await, pause().await, now().await);
    assert_ne!(moving, moved);
    sandbox.freeze().await.unwrap();
    let (still, _, stayed) = (now().await, pause().await, now().await);
    assert_eq!(still, stayed);
    sandbox.thaw().await.unwrap();
    pause().await;
    assert_ne!(now().await, stayed);
    // Ended while it is stopped, too.
    sandbox.freeze().await.unwrap();
    sandbox.end().await.unwrap();
    assert_eq!(running("stopped").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_compose_file_says_of_main_holds() {
    let text = "services:\n  main:\n    build: {context: own, target: second}\n    command: sh -c 'echo begun > begun; sleep infinity'\n    \
                hostname: chosen\n    user: \"4321\"\n    working_dir: /srv\n    environment: [\"HOST=${HOST_SAYS}\"]\n    \
                volumes: [\"./own/data:/srv/data\"]\n    tmpfs: [\"/scratch:size=1m\"]\n    shm_size: 8m\n    \
                healthcheck: {test: [\"CMD\", \"test\", \"-e\", \"/srv/begun\"], interval: 100ms, retries: 100}\n";
    let dockerfile = "FROM debian:bookworm-slim AS first\nFROM first AS second\nRUN mkdir /srv/second && chmod 777 /srv\nFROM first\n";
    let more = [file("own/Dockerfile", dockerfile, 0o644), file("own/data/file", "text\n", 0o644)];
    let spec = BaseSpec { workdir: String::new(), ..with_file(text, &more) };
    let sandboxes = sandboxes();
    let base = sandboxes.materialise(&spec).await.unwrap();
    assert_eq!(base.workdir, "/srv");
    let sandbox = sandboxes.provision(&base, &limits(), Recording::Processes).await.unwrap();
    let told = sh(&*sandbox, "hostname; id -u; pwd; echo $HOST; ls; cat data/file; stat -f -c %T /scratch; df -m /dev/shm | tail -1 | cut -c 5-").await;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[..7], ["chosen", "4321", "/srv", "host", "begun", "data", "second"], "{told}");
    assert_eq!(lines[7..9], ["text", "tmpfs"], "{told}");
    assert!(lines[9].split_whitespace().next() == Some("8"), "{told}");
    assert_eq!(sh(&*sandbox, "cat begun").await, "begun\n", "its command is the first process");
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    let paths: Vec<&String> = capture.manifest.entries.keys().collect();
    assert_eq!(paths, ["/srv/begun"], "what was placed belongs to the base");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_given_is_refused_before_anything_is_made() {
    let check = async |text: &str, expect: &str| {
        let Err(fault) = sandboxes().examine(&with_file(text, &[])).await else {
            panic!("{text} was let through");
        };
        assert!(matches!(&fault, SandboxFault::Setup(why) if why.contains(expect)), "{fault}");
    };
    let own = "services: {main: {}, db: {image: x, networks: [own]}}\nnetworks: {own: {}}";
    check(own, "service `db`: `networks.own` is a network of its own").await;
    check("services: {db: {image: x, ports: [\"80:80\"]}}", "service `db`: `ports`").await;
    check("services: {main: {privileged: true}}", "service `main`: `privileged`").await;
    check("services: {main: {volumes: [\"/var/run:/x\"]}}", "mounts /var/run of the host").await;
    check("services: {main: {volumes: [\"../up:/x\"]}}", "of the host").await;
    check("services: {main: {env_file: /etc/passwd}}", "`env_file: /etc/passwd`").await;
    check("services: {main: {image: \"${NOWHERE:?is not set}\"}}", "is not set").await;
    check("services: {main: [}", "yaml").await;
    check("services: {db: {image: x, network_mode: host}}", "`network_mode` reaches past").await;
    let gpus = BaseSpec {
        limits: engine::ports::sandbox::Limits { gpus: 1, ..limits() },
        ..stage::spec("")
    };
    let fault = sandboxes().examine(&gpus).await;
    let Err(SandboxFault::Unsupported(text)) = fault else { panic!("{fault:?}") };
    assert!(text.contains("environment.gpus = 1") && text.contains("toolkit"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_does_not_come_up_is_told_with_its_last_lines() {
    let check = async |name: &str, run: &str, keys: &str, expect: &[&str]| {
        let text = format!(
            "services:\n  main: {{depends_on: {{db: {keys}}}}}\n  db:\n    image: debian:bookworm-slim\n{run}"
        );
        let sandboxes = sandboxes().labelled(labels(name));
        let base = sandboxes.materialise(&with_file(&text, &[])).await.unwrap();
        let fault = sandboxes.provision(&base, &limits(), Recording::Nothing).await.err();
        let Some(SandboxFault::Setup(told)) = fault else { panic!("{run}: {fault:?}") };
        assert!(expect.iter().all(|part| told.contains(part)), "{run}: {told}");
        drop(sandboxes);
        assert_eq!(containers(name).await, Vec::<String>::new());
    };
    let started = "{condition: service_started}";
    let ends = "    command: sh -c 'echo the-reason >&2; exit 7'\n";
    let done = "{condition: service_completed_successfully}";
    check("done", ends, done, &["ended with 7", "the-reason"]).await;
    let healthy = "{condition: service_healthy}";
    let sick = "    command: sh -c 'echo up; sleep infinity'\n    healthcheck: {test: exit 1, interval: 50ms, retries: 2}\n";
    check("sick", sick, healthy, &["service `db`", "is unhealthy", "up"]).await;
    check("unasked", "    command: sleep infinity\n", healthy, &["has no healthcheck"]).await;
    check(
        "absent",
        "    command: no-such-program\n",
        started,
        &["service `db`", "no-such-program"],
    )
    .await;
}

#[tokio::test]
async fn without_compose_it_is_said_what_to_install() {
    let folder = tempfile::tempdir().unwrap();
    let variables = Variables::from([
        ("PATH".to_owned(), folder.path().into()),
        ("HOME".to_owned(), folder.path().into()),
    ]);
    if let Ok(found) = Compose::find(&variables).await {
        // Docker's own plugin folders are the host's affair.
        assert!(found.path.starts_with("/usr"), "{found:?}");
        return;
    }
    let found = Compose::find(&variables).await.unwrap_err();
    assert!(matches!(&found, ComposeError::Absent(why) if why.contains("install it")), "{found}");
    let old = folder.path().join("docker-compose");
    std::fs::write(&old, "#!/bin/sh\necho 1.29.2\n").unwrap();
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let found = Compose::find(&variables).await.unwrap_err();
    assert!(found.to_string().contains("is version 1.29.2"), "{found}");
    assert!(run_compose().await.version.starts_with('2'));
}

async fn run_compose() -> Compose {
    Compose::find(&variables()).await.unwrap()
}
