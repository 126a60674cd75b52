//! Time until a wire stands at a sandbox's edge.

use std::time::Instant;

use adapters::{
    sandboxes::docker::{DockerSandboxes, EdgePlacement},
    wire::Egress,
};
use domain::release::{AllowedHost, Destination, Policy};
use engine::ports::{
    sandbox::{Base, Recording, Sandboxes},
    wire::Wires,
};

use super::{
    Figure,
    docker::{address, spec},
    local::{base, limits, sandboxes},
    median_ms,
};

const LOCAL: usize = 60;
const DOCKER: usize = 20;

pub(super) fn measure() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (local_ms, [entered_ms, beside_ms]) = runtime.block_on(async {
        let local = sandboxes(folder.path().to_owned());
        let made = base(&local, "true\n", "wire").await;
        let local_ms = opened_ms(local.as_ref(), &made, LOCAL).await;
        let mut docker_ms = [0.0; 2];
        let edges = [EdgePlacement::Entered, EdgePlacement::Beside];
        for (edge, opened) in edges.into_iter().zip(&mut docker_ms) {
            let own = std::path::Path::new("/proc/self/exe");
            let docker = DockerSandboxes::with_edge(&address(), own, edge);
            let made = docker.materialise(&spec()).await.expect("a base");
            *opened = opened_ms(&docker, &made, DOCKER).await;
        }
        (local_ms, docker_ms)
    });
    let figure =
        |name, ms: f64, promised| Figure { name, measured: format!("{ms:.1} ms"), promised };
    vec![
        figure("wire of a local sandbox, median", local_ms, "< 10 ms"),
        figure("wire of a container, entered, median", entered_ms, "< 300 ms"),
        figure("wire of a container, kept beside, median", beside_ms, "< 300 ms"),
    ]
}

/// From asking for a wire on a running sandbox until it listens.
async fn opened_ms(sandboxes: &dyn Sandboxes, base: &Base, count: usize) -> f64 {
    let host = AllowedHost::parse("*.example.org").expect("a host");
    let policy = Policy::Listed(vec![Destination { host, ports: vec![22, 8080] }]);
    let mut times_ms = Vec::new();
    for _ in 0..count {
        let made = sandboxes.provision(base, &limits(), Recording::Processes).await;
        let sandbox = made.expect("a sandbox");
        let began = Instant::now();
        let policies = std::slice::from_ref(&policy);
        let wire = Egress.open(sandbox.as_ref(), policies, Vec::new()).await.expect("a wire");
        times_ms.push(began.elapsed().as_secs_f64() * 1000.0);
        wire.close().await;
        sandbox.end().await.expect("an end");
    }
    median_ms(times_ms)
}
