//! What tests of sandboxes start from: limits, commands and files.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, time::Duration};

use adapters::{
    process::PASSED_ON,
    sandboxes::{docker::DockerSandboxes, local::LocalSandboxes},
};
use domain::ids::Hash;
use engine::ports::sandbox::{
    Base, BaseSpec, CommandSpec, Ended, FileEntry, FileNode, Finished, Image, Limits, Network,
    Sandbox, Sandboxes,
};

/// The supervisor program; an ordinary user gets a copy that it can reach.
pub fn supervisor() -> PathBuf {
    std::env::var_os("PCB_TEST_SUPERVISOR")
        .map_or_else(|| env!("CARGO_BIN_EXE_pcb-sandbox-supervisor").into(), PathBuf::from)
}

/// Local sandboxes with a state directory of their own.
pub struct Stage {
    pub sandboxes: LocalSandboxes,
    pub state: tempfile::TempDir,
}

impl Stage {
    pub fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let sandboxes = LocalSandboxes::new(&supervisor(), state.path()).unwrap();
        let set = PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let variables = set.map(|(name, value)| (name.to_owned(), value)).collect();
        let sandboxes = sandboxes.finding_toolchains_by(variables);
        Self { sandboxes, state }
    }

    /// A running sandbox on a base, recorded.
    pub async fn provision(&self, base: &Base, limits: &Limits) -> Box<dyn Sandbox> {
        let record = engine::ports::sandbox::Recording::Processes;
        self.sandboxes.provision(base, limits, record).await.unwrap()
    }

    /// A running sandbox on a base that a script set up.
    pub async fn sandbox(&self, setup: &str, limits: &Limits) -> Box<dyn Sandbox> {
        let base = base(&self.sandboxes, setup).await;
        self.provision(&base, limits).await
    }
}

pub fn limits() -> Limits {
    Limits {
        memory_mb: Some(2048),
        processes_max: Some(200),
        disk_mb: Some(500),
        cpus: None,
        gpus: 0,
        network: Network::Off,
    }
}

pub fn spec(setup: &str) -> BaseSpec {
    BaseSpec {
        digest: Hash::new(blake3::hash(setup.as_bytes()).to_hex().as_str()),
        image: Image::Dockerfile(dockerfile("").into_bytes()),
        environment: vec![file("setup.sh", setup, 0o755)],
        workdir: "/app".to_owned(),
        env: BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]),
        toolchains: Vec::new(),
        setup_timeout: Duration::from_secs(60),
        limits: limits(),
    }
}

/// A Dockerfile that runs the setup, on an image that the test command makes; more lines may follow.
pub fn dockerfile(more: &str) -> String {
    format!(
        "FROM debian:bookworm-slim\nCOPY setup.sh /environment/setup.sh\n\
         RUN cd /environment && sh setup.sh && rm -rf /environment\nWORKDIR /app\n{more}"
    )
}

/// Sandboxes on the engine that the test command started, or on the host's own.
pub fn docker() -> DockerSandboxes {
    DockerSandboxes::new(&docker_address(), &supervisor())
}

pub fn docker_address() -> String {
    std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".to_owned())
}

pub async fn base(sandboxes: &dyn Sandboxes, setup: &str) -> Base {
    sandboxes.materialise(&spec(setup)).await.unwrap()
}

pub fn file(path: &str, text: &str, mode: u32) -> FileEntry {
    FileEntry { path: path.to_owned(), node: FileNode::File(text.as_bytes().to_vec()), mode }
}

pub fn node(path: &str, node: FileNode, mode: u32) -> FileEntry {
    FileEntry { path: path.to_owned(), node, mode }
}

pub fn command(argv: &[&str]) -> CommandSpec {
    CommandSpec {
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        cwd: None,
        env: BTreeMap::new(),
        user: None,
        stdin: Vec::new(),
        timeout: Duration::from_secs(60),
        output_max: 1 << 20,
    }
}

pub async fn run(sandbox: &dyn Sandbox, argv: &[&str]) -> Finished {
    sandbox.exec(&command(argv)).await.unwrap()
}

/// Runs a script and answers what it printed; it must succeed.
pub async fn sh(sandbox: &dyn Sandbox, script: &str) -> String {
    let finished = run(sandbox, &["sh", "-c", script]).await;
    let (stdout, stderr) = texts(&finished);
    assert_eq!(finished.ended, Ended::Exited(0), "{script}\n{stdout}\n{stderr}");
    stdout
}

pub fn texts(finished: &Finished) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&finished.stdout), text(&finished.stderr))
}

/// An address of this host that is not of its loopback.
pub fn host_address() -> IpAddr {
    let mut addresses = nix::ifaddrs::getifaddrs()
        .unwrap()
        .filter_map(|interface| Some(IpAddr::V4(interface.address?.as_sockaddr_in()?.ip())));
    let host = addresses.find(|address| !address.is_loopback());
    host.expect("the host has an address beside its loopback's")
}

pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
