//! From start to death: streams, freeze and thaw, and that nobody survives.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use domain::ids::Turn;
use engine::ports::sandbox::{Ended, Recording, Sandboxes};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::stage::{self, Stage, command, file, limits, run, sh};

/// How long a process sleeps that can be told from all others: those of other tests, and of the same test in another
/// process.
fn mark(test: u32, process: u32) -> String {
    format!("{test}.{process:07}")
}

/// A mark of this process.
fn own_mark(test: u32) -> String {
    mark(test, std::process::id())
}

/// Processes of the host that sleep with a mark.
fn marked(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let path = entry.ok()?.path().join("cmdline");
        let bytes = fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    });
    processes.filter(|line| line.starts_with("sleep") && line.contains(mark)).count()
}

const FLOCK: &str = "for i in 1 2 3 4 5; do setsid sleep MARK & done; (setsid sh -c 'sleep MARK & sleep MARK' &); \
                     sleep 0.2; echo ready";

fn flock(mark: &str) -> String {
    FLOCK.replace("MARK", mark)
}

#[tokio::test]
async fn dropping_kills_everybody() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let mark = own_mark(4142);
    sh(&*sandbox, &flock(&mark)).await;
    assert_eq!(marked(&mark), 7);
    drop(sandbox);
    assert_eq!(marked(&mark), 0);
    // Frozen processes die too.
    let sandbox = stage.sandbox("true", &limits()).await;
    let mark = own_mark(4143);
    sh(&*sandbox, &flock(&mark)).await;
    sandbox.freeze().await.unwrap();
    drop(sandbox);
    assert_eq!(marked(&mark), 0);
    assert_eq!(fs::read_dir(stage.state.path().join("sandboxes")).unwrap().count(), 0);
}

#[tokio::test]
async fn the_end_is_proved() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let mark = own_mark(4144);
    sh(&*sandbox, &flock(&mark)).await;
    sandbox.freeze().await.unwrap();
    assert_eq!(sandbox.capture(Turn(1)).await.unwrap().alive, 8);
    sandbox.end().await.unwrap();
    assert_eq!(marked(&mark), 0);
    assert_eq!(sandbox.capture(Turn(1)).await.unwrap().alive, 0);
}

/// Whatever a script would do when its children die: it does nothing any more.
#[tokio::test]
async fn a_started_command_can_be_killed() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let mark = own_mark(4146);
    let check = async |script: &str| {
        let script = script.replace("MARK", &mark);
        let mut started = sandbox.start(&command(&["sh", "-c", &script])).await.unwrap();
        let mut ready = [0; 6];
        started.stdout.read_exact(&mut ready).await.unwrap();
        assert_eq!(&ready, b"ready\n");
        sandbox.kill(started.pid).await.unwrap();
        assert_eq!(started.ended.await.unwrap(), Ended::Signalled(9), "{script}");
        // The leader's end is told; on a busy host its killed children may need a moment to be gone.
        let begun = Instant::now();
        while marked(&mark) > 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "children live on: {script}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    check("echo ready; sleep MARK & sleep MARK").await;
    let survivors =
        "sleep MARK & first=$!; for i in $(seq 60); do sleep MARK & done; echo ready; wait $first
                     for i in $(seq 9); do setsid sleep MARK & done; wait";
    check(survivors).await;
}

/// The harness is killed without a chance to clean up; the next one finds and removes the rest.
#[tokio::test]
async fn a_killed_harness_leaves_nobody() {
    if let Ok(state) = std::env::var("PCB_TEST_HARNESS") {
        let sandboxes = adapters::sandboxes::local::LocalSandboxes::new(
            &stage::supervisor(),
            Path::new(&state),
        );
        let sandboxes = sandboxes.unwrap();
        let base = stage::base(&sandboxes, "true").await;
        let made = sandboxes.provision(&base, &limits(), Recording::Processes).await;
        let sandbox = made.unwrap();
        sh(&*sandbox, &flock(&own_mark(4145))).await;
        sandbox.freeze().await.unwrap();
        println!("ready");
        std::future::pending::<()>().await;
    }
    let state = tempfile::tempdir().unwrap();
    let mut harness = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lifetime::a_killed_harness_leaves_nobody", "--nocapture"])
        .env("PCB_TEST_HARNESS", state.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(harness.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().ends_with("ready")));
    let mark = mark(4145, harness.id());
    assert_eq!(marked(&mark), 7);
    harness.kill().unwrap();
    harness.wait().unwrap();
    let begun = Instant::now();
    while marked(&mark) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(5), "{} live on", marked(&mark));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let left = || fs::read_dir(state.path().join("sandboxes")).unwrap().count();
    assert_eq!(left(), 2);
    let next = adapters::sandboxes::local::LocalSandboxes::new(&stage::supervisor(), state.path());
    assert_eq!(left(), 0);
    drop(next.unwrap());
    assert_eq!(fs::read_dir(state.path().join("trash")).unwrap().count(), 0);
    let groups = fs::read_dir("/sys/fs/cgroup").map(|entries| {
        let inside = entries.filter_map(|entry| fs::read_dir(entry.ok()?.path()).ok()).flatten();
        let name = format!("pcb-{}-", harness.id());
        let is_left = |name_of: &str| name_of.starts_with(&name);
        inside
            .filter(|entry| {
                entry.as_ref().is_ok_and(|entry| is_left(&entry.file_name().to_string_lossy()))
            })
            .count()
    });
    assert_eq!(groups.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_frozen_tree_is_quiet() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let count = "i=0; while :; do i=$((i+1)); echo $i > /tmp/counter; done";
    let script = format!("for n in 1 2 3; do ({count}) & done; sleep 600 & sleep 0.1");
    sh(&*sandbox, &script).await;
    let counter = async || sandbox.get("/tmp/counter").await.unwrap();
    for _ in 0..5 {
        sandbox.freeze().await.unwrap();
        let before = counter().await;
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(counter().await, before);
        sandbox.thaw().await.unwrap();
        let begun = Instant::now();
        while counter().await == before {
            assert!(begun.elapsed() < Duration::from_secs(5), "it does not go on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// What the agent stopped itself stays stopped, and what is traced goes on.
#[tokio::test]
async fn thaw_is_exact() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let script = "sleep 600 & stopped=$!; kill -STOP $stopped; echo $stopped > /tmp/stopped
                  strace -f -o /tmp/trace sh -c 'while :; do sleep 0.01; date +%N > /tmp/now; done' &
                  sleep 0.3";
    sh(&*sandbox, script).await;
    sandbox.freeze().await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    sandbox.thaw().await.unwrap();
    let state = sh(&*sandbox, "cut -d' ' -f3 /proc/$(cat /tmp/stopped)/stat").await;
    assert_eq!(state, "T\n");
    let before = sh(&*sandbox, "cat /tmp/now").await;
    let begun = Instant::now();
    while sh(&*sandbox, "cat /tmp/now").await == before {
        assert!(begun.elapsed() < Duration::from_secs(5), "the traced process does not go on");
    }
}

#[tokio::test]
async fn streams_of_a_started_command_flow_both_ways() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let script = "while read line; do echo \"got $line\"; done; echo over >&2; exit 3";
    let mut started = sandbox.start(&command(&["sh", "-c", script])).await.unwrap();
    let mut lines = BufReader::new(started.stdout).lines();
    for round in 0..50 {
        started.stdin.write_all(format!("round {round}\n").as_bytes()).await.unwrap();
        let line = lines.next_line().await.unwrap().unwrap();
        assert_eq!(line, format!("got round {round}"));
    }
    drop(started.stdin);
    assert_eq!(started.ended.await.unwrap(), Ended::Exited(3));
    let mut stderr = String::new();
    started.stderr.read_to_string(&mut stderr).await.unwrap();
    assert_eq!(stderr, "over\n");
}

#[tokio::test]
async fn input_and_output_are_whole() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let mut copy = command(&["sh", "-c", "tee /dev/stderr"]);
    copy.stdin = (0..3_000_000_u32).flat_map(|number| (number as u8).to_le_bytes()).collect();
    copy.output_max = 4_000_000;
    let finished = sandbox.exec(&copy).await.unwrap();
    assert!(finished.stdout == copy.stdin && finished.stderr == copy.stdin);
    copy.output_max = 1000;
    let finished = sandbox.exec(&copy).await.unwrap();
    assert!(finished.stdout.starts_with(&copy.stdin[..500]));
    assert!(finished.stdout.ends_with(&copy.stdin[copy.stdin.len() - 500..]));
    assert!(String::from_utf8_lossy(&finished.stdout).contains("2999000 bytes cut"));
    let mut elsewhere = command(&["sh", "-c", "pwd; echo $WORD"]);
    elsewhere.cwd = Some("/usr/lib".to_owned());
    elsewhere.env.insert("WORD".to_owned(), "given".to_owned());
    let finished = sandbox.exec(&elsewhere).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&finished.stdout), "/usr/lib\ngiven\n");
    elsewhere.cwd = Some("/no/such/place".to_owned());
    let finished = sandbox.exec(&elsewhere).await.unwrap();
    assert_eq!(finished.ended, Ended::NotStarted);
    assert!(String::from_utf8_lossy(&finished.stderr).contains("/no/such/place"));
}

/// What a command leaves in the background neither delays its end nor dies of it.
#[tokio::test]
async fn background_work_goes_on() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let begun = Instant::now();
    let script = "(for i in $(seq 1 2000); do echo line $i; echo $i >> /tmp/count; sleep 0.01; done) & echo first";
    assert!(sh(&*sandbox, script).await.contains("first\n"));
    assert!(begun.elapsed() < Duration::from_secs(5));
    let count = async || sh(&*sandbox, "cat /tmp/count 2>/dev/null; true").await.lines().count();
    let before = count().await;
    while count().await <= before {
        assert!(begun.elapsed() < Duration::from_secs(20), "the background work stands still");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn many_commands_run_side_by_side() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    sandbox.put("/app", &[file("work.sh", "sleep 0.0$1; exit $1", 0o755)]).await.unwrap();
    let codes = (0..40).map(|code| {
        let sandbox = &sandbox;
        async move { run(&**sandbox, &["sh", "work.sh", &code.to_string()]).await.ended }
    });
    let mut set = Vec::new();
    for future in codes {
        set.push(Box::pin(future));
    }
    for (code, ended) in futures_in_order(set).await.into_iter().enumerate() {
        assert_eq!(ended, Ended::Exited(code as i32));
    }
}

/// Polls all futures together and answers their results in order.
async fn futures_in_order<F: Future + Unpin>(mut futures: Vec<F>) -> Vec<F::Output> {
    let mut results: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let std::task::Poll::Ready(value) = std::pin::Pin::new(future).poll(context)
            {
                *result = Some(value);
            }
        }
        if results.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    results.into_iter().flatten().collect()
}
