//! Commands: how they start, who runs them, how they end.

use std::time::Duration;

use engine::ports::sandbox::Ended;

use crate::stage::{Stage, launch, shell, texts};

#[tokio::test]
async fn commands_end_as_they_end() {
    let stage = Stage::new().await;
    let check = async |argv: &[&str], expect: (Ended, &str, &str)| {
        let finished = stage.run(&launch(argv)).await;
        let (stdout, stderr) = texts(&finished);
        assert_eq!((finished.ended, stdout.as_str(), stderr.as_str()), expect, "{argv:?}");
    };
    check(&["echo", "a b"], (Ended::Exited(0), "a b\n", "")).await;
    check(&["sh", "-c", "echo out; echo err >&2; exit 7"], (Ended::Exited(7), "out\n", "err\n"))
        .await;
    check(&["sh", "-c", "kill -TERM $$"], (Ended::Signalled(15), "", "")).await;
    check(&["sh", "-c", "kill -KILL $$"], (Ended::Signalled(9), "", "")).await;
    let missing = "no-such-program: command not found\n";
    check(&["no-such-program"], (Ended::NotStarted, "", missing)).await;
    check(&["/etc/passwd"], (Ended::NotStarted, "", "/etc/passwd: Permission denied\n")).await;
    check(&[], (Ended::NotStarted, "", "no program was named\n")).await;
}

#[tokio::test]
async fn late_commands_are_killed_with_all_that_they_started() {
    let stage = Stage::new().await;
    let script = "echo begun; sleep 1000 & setsid sleep 1001 & sleep 1002";
    let timeout = Duration::from_millis(300);
    let finished = stage.link.exec(&shell(script), Vec::new(), timeout, 100).await.unwrap();
    assert_eq!((finished.ended, texts(&finished).0.as_str()), (Ended::TimedOut, "begun\n"));
    assert_eq!(stage.sh("ps -A -o args | grep -c '^sleep 100' || true").await, "0\n");
}
