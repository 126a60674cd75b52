//! Time from asking for a local sandbox to the end of its first command.

use std::{path::PathBuf, sync::Arc, time::Instant};

use adapters::sandboxes::local::LocalSandboxes;
use domain::ids::Hash;
use engine::ports::sandbox::{
    Base, BaseSpec, CommandSpec, FileEntry, FileNode, Image, Limits, Network, Recording, Sandboxes,
};

use super::{Figure, median_ms};

/// Sandboxes that are timed.
const SANDBOXES: usize = 60;

pub(super) fn measure() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let times_ms = runtime.block_on(async {
        let sandboxes = sandboxes(folder.path().to_owned());
        let base = base(&sandboxes, "true\n", "first-command").await;
        let mut times_ms = Vec::new();
        for _ in 0..SANDBOXES {
            let began = Instant::now();
            let sandbox = sandboxes
                .provision(&base, &limits(), Recording::Processes)
                .await
                .expect("a sandbox");
            let finished = sandbox.exec(&command(&["true"])).await.expect("a command");
            times_ms.push(began.elapsed().as_secs_f64() * 1000.0);
            assert!(finished.is_success());
        }
        times_ms
    });
    vec![Figure {
        name: "local sandbox to its first command, median",
        measured: format!("{:.1} ms", median_ms(times_ms)),
        promised: "< 40 ms",
    }]
}

/// Local sandboxes whose supervisor is this program.
pub(super) fn sandboxes(state: PathBuf) -> Arc<LocalSandboxes> {
    let own = std::path::Path::new("/proc/self/exe");
    Arc::new(LocalSandboxes::new(own, &state).expect("a state folder"))
}

/// A base that a shell script makes.
pub(super) async fn base(sandboxes: &LocalSandboxes, setup: &str, name: &str) -> Base {
    let spec = BaseSpec {
        digest: Hash::new(blake3::hash(name.as_bytes()).to_hex().as_str()),
        image: Image::None,
        environment: vec![FileEntry {
            path: "setup.sh".to_owned(),
            node: FileNode::File(setup.as_bytes().to_vec()),
            mode: 0o755,
        }],
        workdir: "/app".to_owned(),
        env: Default::default(),
        toolchains: Vec::new(),
        setup_timeout: std::time::Duration::from_secs(300),
        limits: limits(),
    };
    sandboxes.materialise(&spec).await.expect("a base")
}

pub(super) fn limits() -> Limits {
    Limits {
        memory_mb: Some(1024),
        processes_max: Some(256),
        disk_mb: None,
        cpus: None,
        gpus: 0,
        network: Network::Off,
    }
}

pub(super) fn command(argv: &[&str]) -> CommandSpec {
    CommandSpec {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: None,
        env: Default::default(),
        user: None,
        stdin: Vec::new(),
        timeout: std::time::Duration::from_secs(60),
        output_max: 1 << 16,
    }
}
