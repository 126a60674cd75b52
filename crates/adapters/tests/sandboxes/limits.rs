//! Limits of a sandbox: a breach is the sandbox's own affair, it is reported, and the sandbox goes on.

use std::time::{Duration, Instant};

use domain::ids::Turn;
use engine::ports::sandbox::{Ended, LimitKind, Limits, Sandbox, Sandboxes};

use super::stage::{Stage, command, is_root, limits, run, sh};

async fn hits(sandbox: &dyn Sandbox) -> Vec<LimitKind> {
    sandbox.freeze().await.unwrap();
    let hits = sandbox.capture(Turn(1)).await.unwrap().limits_hit;
    sandbox.thaw().await.unwrap();
    hits
}

#[tokio::test]
async fn a_memory_bomb_dies_alone() {
    let stage = Stage::new();
    let limits = Limits { memory_mb: Some(100), ..limits() };
    let sandbox = stage.sandbox("true", &limits).await;
    assert_eq!(hits(&*sandbox).await, []);
    let bomb = ["/usr/bin/python3", "-c", "b = bytearray(400 << 20); print(len(b))"];
    let finished = run(&*sandbox, &bomb).await;
    if stage.sandboxes.capabilities().await.unwrap().enforced.contains(&LimitKind::Memory) {
        assert_eq!(finished.ended, Ended::OutOfMemory, "{finished:?}");
        assert_eq!(hits(&*sandbox).await, [LimitKind::Memory]);
    } else {
        assert_eq!(finished.ended, Ended::Exited(1), "{finished:?}");
    }
    assert_eq!(hits(&*sandbox).await, []);
    assert_eq!(sh(&*sandbox, "echo alive").await, "alive\n");
}

#[tokio::test]
async fn a_fork_bomb_is_held() {
    let stage = Stage::new();
    let limits = Limits { processes_max: Some(40), ..limits() };
    let sandbox = stage.sandbox("true", &limits).await;
    let mut bomb = command(&["sh", "-c", "f() { f | f & }; f; sleep 2; exit 0"]);
    bomb.timeout = Duration::from_secs(5);
    let finished = sandbox.exec(&bomb).await.unwrap();
    assert!(finished.ended != Ended::NotStarted, "{finished:?}");
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    assert!(capture.alive <= 40, "{}", capture.alive);
    if is_root() {
        assert_eq!(capture.limits_hit, [LimitKind::Processes]);
    }
}

#[tokio::test]
async fn a_disk_bomb_is_stopped() {
    let stage = Stage::new();
    let limits = Limits { disk_mb: Some(20), ..limits() };
    let sandbox = stage.sandbox("true", &limits).await;
    // One file cannot pass the quota.
    let big = run(&*sandbox, &["dd", "if=/dev/zero", "of=/tmp/big", "bs=1M", "count=40"]).await;
    assert!(!big.is_success());
    sh(&*sandbox, "rm /tmp/big").await;
    assert_eq!(hits(&*sandbox).await, []);
    let many = "for i in $(seq 1 1000); do dd if=/dev/zero of=/tmp/$i bs=1M count=10 2>/dev/null; sleep 0.2; done";
    let finished = run(&*sandbox, &["sh", "-c", many]).await;
    assert_eq!(finished.ended, Ended::Signalled(9), "{finished:?}");
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    assert_eq!(capture.limits_hit, [LimitKind::Disk]);
    assert!(capture.disk_bytes > 20 << 20, "{}", capture.disk_bytes);
}

#[tokio::test]
async fn the_share_of_processor_is_bounded() {
    let stage = Stage::new();
    let limits = Limits { cpus: Some(0.2), ..limits() };
    let sandbox = stage.sandbox("true", &limits).await;
    let begun = Instant::now();
    let mut spin = command(&["sh", "-c", "while :; do :; done"]);
    spin.timeout = Duration::from_secs(2);
    assert_eq!(sandbox.exec(&spin).await.unwrap().ended, Ended::TimedOut);
    let wall_ms = begun.elapsed().as_millis() as u64;
    sandbox.freeze().await.unwrap();
    let cpu_ms = sandbox.capture(Turn(1)).await.unwrap().cpu_ms.unwrap();
    assert!(cpu_ms > 50, "{cpu_ms}");
    let is_enforced =
        stage.sandboxes.capabilities().await.unwrap().enforced.contains(&LimitKind::Cpu);
    assert!(!is_enforced || cpu_ms < wall_ms * 4 / 10, "{cpu_ms} of {wall_ms}");
}

#[tokio::test]
async fn time_out_kills_descendants() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let mut late = command(&["sh", "-c", "sleep 600 & (sleep 600 | sleep 600) & sleep 600"]);
    late.timeout = Duration::from_millis(300);
    assert_eq!(sandbox.exec(&late).await.unwrap().ended, Ended::TimedOut);
    let left = sh(&*sandbox, "cat /proc/[0-9]*/comm | grep -c sleep || true").await;
    assert_eq!(left, "0\n");
}

#[tokio::test]
async fn capabilities_are_honest() {
    let stage = Stage::new();
    let capabilities = stage.sandboxes.capabilities().await.unwrap();
    assert_eq!(capabilities.is_root, is_root());
    assert!(capabilities.channels.contains(&domain::evidence::Channel::Processes));
    assert!(capabilities.enforced.contains(&LimitKind::Disk));
    for (kind, word) in [(LimitKind::Memory, "memory"), (LimitKind::Cpu, "processor")] {
        let is_said = capabilities.shortfalls.iter().any(|text| text.contains(word));
        assert_eq!(is_said, !capabilities.enforced.contains(&kind), "{word}");
    }
    let said = capabilities.shortfalls.iter().any(|text| text.contains("only one user"));
    assert_eq!(said, !is_root());
}
