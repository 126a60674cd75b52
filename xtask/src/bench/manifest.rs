//! Manifest and changes after a turn in which ten files changed among 100,000.

use std::time::Instant;

use domain::{evidence::Manifest, ids::Turn};
use engine::ports::sandbox::{Recording, Sandbox, Sandboxes};

use super::{
    Figure,
    local::{base, command, limits, sandboxes},
    median_ms,
};

/// Turns that are timed.
const TURNS: u32 = 11;

const MAKE: &str = "mkdir -p /app && cd /app && for d in $(seq 100); do mkdir d$d; \
                    (cd d$d && seq 1000 | split -l 1 -a 3 - f); done\n";

pub(super) fn measure() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (in_base, in_session) = runtime.block_on(async {
        let sandboxes = sandboxes(folder.path().to_owned());
        let full = base(&sandboxes, MAKE, "hundred-thousand").await;
        let sandbox =
            sandboxes.provision(&full, &limits(), Recording::Processes).await.expect("a sandbox");
        let in_base = turns(&*sandbox).await;
        let empty = base(&sandboxes, "mkdir -p /app\n", "empty").await;
        let sandbox =
            sandboxes.provision(&empty, &limits(), Recording::Processes).await.expect("a sandbox");
        let made = sandbox.exec(&command(&["sh", "-c", MAKE])).await.expect("files");
        assert!(made.is_success());
        (in_base, turns(&*sandbox).await)
    });
    vec![
        Figure {
            name: "manifest and changes, 10 of 100,000 (base)",
            measured: format!("{in_base:.1} ms"),
            promised: "< 100 ms",
        },
        Figure {
            name: "the same, the 100,000 made by the agent",
            measured: format!("{in_session:.1} ms"),
            promised: "in proportion to what changed",
        },
    ]
}

async fn turns(sandbox: &dyn Sandbox) -> f64 {
    let mut before = capture(sandbox, Turn(1)).await.0;
    let mut times_ms = Vec::new();
    for turn in 2..2 + TURNS {
        let change = format!("for d in 1 2 3 4 5 6 7 8 9 10; do echo {turn} > /app/d$d/faaa; done");
        let done = sandbox.exec(&command(&["sh", "-c", &change])).await.expect("a command");
        assert!(done.is_success());
        let (after, took_ms) = capture(sandbox, Turn(turn)).await;
        let began = Instant::now();
        let changes = before.changes_to(&after, Turn(turn), 0, sandbox.now_ms(), |_| true);
        times_ms.push(took_ms + began.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(changes.len(), 10, "ten files changed");
        before = after;
    }
    median_ms(times_ms)
}

async fn capture(sandbox: &dyn Sandbox, turn: Turn) -> (Manifest, f64) {
    sandbox.freeze().await.expect("frozen");
    let began = Instant::now();
    let capture = sandbox.capture(turn).await.expect("a capture");
    let took_ms = began.elapsed().as_secs_f64() * 1000.0;
    sandbox.thaw().await.expect("thawed");
    (capture.manifest, took_ms)
}
