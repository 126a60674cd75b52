//! The tree of processes: stopped, continued, counted, killed, lost.

use std::time::Duration;

use domain::ids::Turn;
use engine::ports::sandbox::{Ended, SandboxFault};
use tokio::time::{sleep, timeout};

use crate::stage::{OutputHeld, Stage, setup, shell, text};

/// A script that lengthens a file, as a daemon that left its session and its parent.
fn daemon(file: &str) -> String {
    let count = format!("while :; do echo >> {file}; done");
    format!("setsid sh -c 'sh -c \"$0\" & exit 0' '{count}' </dev/null >/dev/null 2>&1; sleep 0.2")
}

fn counted(stage: &Stage, file: &str) -> u64 {
    std::fs::metadata(stage.path(file)).unwrap().len()
}

#[tokio::test]
async fn stopped_trees_are_quiet_and_go_on() {
    let stage = Stage::new().await;
    stage.sh(&daemon(text(&stage.path("count")))).await;
    let count = stage.link.stop().await.unwrap();
    assert_eq!(count.alive, 1);
    let before = counted(&stage, "count");
    sleep(Duration::from_millis(200)).await;
    assert_eq!(counted(&stage, "count"), before);
    let spent = stage.link.count().await.unwrap().cpu_ms;
    stage.link.go_on().await.unwrap();
    sleep(Duration::from_millis(300)).await;
    assert_ne!(counted(&stage, "count"), before);
    assert!(stage.link.count().await.unwrap().cpu_ms > spent);
}

#[tokio::test]
async fn trees_that_start_programs_all_the_time_are_stopped() {
    let stage = Stage::new().await;
    // `subprocess` waits in the kernel until its child runs a program: a stopped child keeps it from stopping.
    let script = "import subprocess\nwhile True: subprocess.run(['/bin/true'], close_fds=False)";
    for _ in 0..3 {
        stage.link.start(&crate::stage::launch(&["python3", "-c", script])).await.unwrap();
    }
    sleep(Duration::from_millis(300)).await;
    for _ in 0..30 {
        stage.link.stop().await.unwrap();
        stage.link.go_on().await.unwrap();
    }
    stage.link.stop().await.unwrap();
    let spent = stage.link.count().await.unwrap().cpu_ms;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(stage.link.count().await.unwrap().cpu_ms, spent);
    stage.link.kill_all().await.unwrap();
    assert_eq!(stage.link.count().await.unwrap().alive, 0);
}

#[tokio::test]
async fn what_was_stopped_before_stays_stopped() {
    let stage = Stage::new().await;
    let started = stage.link.start(&shell("kill -STOP $$; exit 3")).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    stage.link.stop().await.unwrap();
    stage.link.go_on().await.unwrap();
    let state = stage.sh(&format!("ps -o state= -p {}", started.pid)).await;
    assert_eq!(state.trim(), "T");
    stage.sh(&format!("kill -CONT {}", started.pid)).await;
    assert_eq!(started.ended.await, Ok(Ended::Exited(3)));
}

#[tokio::test]
async fn everything_is_killed_but_what_watches() {
    let stage = Stage::new().await;
    stage.sh(&daemon(text(&stage.path("count")))).await;
    let bomb = "ulimit -u 300; bomb() { bomb | bomb & }; bomb; sleep 1000";
    let mut launch = crate::stage::launch(&["bash", "-c", bomb]);
    launch.user = Some("4712".to_owned());
    let started = stage.link.start(&launch).await.unwrap();
    sleep(Duration::from_millis(300)).await;
    stage.link.kill_all().await.unwrap();
    assert_eq!(stage.link.count().await.unwrap().alive, 0);
    assert_eq!(started.ended.await, Ok(Ended::Signalled(9)));
    let before = counted(&stage, "count");
    assert_eq!(stage.sh("echo still there").await, "still there\n");
    assert_eq!(counted(&stage, "count"), before);
}

#[tokio::test]
async fn nothing_goes_on_without_a_harness() {
    let stage = Stage::new().await;
    stage.sh(&daemon(text(&stage.path("count")))).await;
    let Stage { link, directory, .. } = stage;
    drop(link);
    sleep(Duration::from_millis(500)).await;
    let length = || std::fs::metadata(directory.path().join("count")).unwrap().len();
    let before = length();
    assert!(before > 0);
    sleep(Duration::from_millis(300)).await;
    assert_eq!(length(), before);
}

#[tokio::test]
async fn an_image_has_its_own_init() {
    let script = "trap 'exit 9' TERM; sleep 1000 & while :; do wait; done";
    let stage = Stage::with(&["sh", "-c", script], setup()).await.unwrap();
    assert_eq!(stage.sh("ps -o args= -p 1").await.trim(), format!("sh -c {script}"));
    let init = stage.sh("cat /proc/1/status").await;
    assert!(init.contains("CapEff:\t00000000a80425fb"), "{init}");
    assert!(init.contains("CapBnd:\t00000000a80425fb"), "{init}");
    // Its service is part of the tree, and it sleeps itself.
    assert_eq!(stage.link.stop().await.unwrap().alive, 1);
    stage.link.go_on().await.unwrap();
    let busy = Stage::with(&["sh", "-c", "while :; do :; done"], setup()).await.unwrap();
    assert_eq!(busy.link.stop().await.unwrap().alive, 1, "it cannot be stopped, so it is counted");
}

#[tokio::test]
async fn an_image_without_a_command_is_held_and_let_go() {
    let mut stage = Stage::with(&[], setup()).await.unwrap();
    assert!(stage.link.is_recording());
    assert!(stage.sh("ps -o args= -p 1").await.contains("__container"));
    assert!(stage.sh("cat /proc/1/status").await.contains("CapEff:\t0000000000000000"));
    stage.sh("/bin/true").await;
    let taken = stage.link.taken(Turn(1)).await.unwrap();
    assert!(taken.processes.iter().any(|event| event.program.ends_with("/true")));
    assert_eq!(stage.link.stop().await.unwrap().alive, 0);
    drop(stage.link);
    let ended = timeout(Duration::from_secs(10), stage.namespace.wait()).await.unwrap();
    assert_eq!(ended.unwrap().code(), Some(0));
}

#[tokio::test]
async fn images_that_cannot_start_say_why() {
    let check = async |command: &[&str], setup, expect: &str| {
        let fault = Stage::with(command, setup).await.err().unwrap();
        assert_eq!(fault, SandboxFault::Setup(expect.to_owned()));
    };
    check(&["no-such-program"], setup(), "no-such-program: command not found").await;
    check(&["/etc/passwd"], setup(), "/etc/passwd: Permission denied").await;
    let mut unknown = setup();
    unknown.user = Some("eve".to_owned());
    check(&["true"], unknown, "user eve is not in /etc/passwd").await;
    let mut nowhere = setup();
    nowhere.cwd = "/no/such".to_owned();
    check(&["true"], nowhere, "/no/such: No such file or directory").await;
}

#[tokio::test]
async fn the_loss_of_what_watches_is_said() {
    let check = async |kill: &str, within_s: u64| {
        let held = OutputHeld::Yes;
        let stage = Stage::holding(held, &["sleep", "infinity"], setup()).await.unwrap();
        stage.sh("/bin/true").await;
        let started = stage.link.start(&shell("sleep 1000")).await.unwrap();
        // The launcher is the command's parent, the supervisor the launcher's.
        let find = "launcher=$PPID; supervisor=$(echo $(ps -o ppid= -p $launcher));";
        let killing = shell(&format!("{find} {kill}; sleep 1000"));
        let killed = stage.link.exec(&killing, Vec::new(), Duration::from_secs(100), 100);
        let killed = timeout(Duration::from_secs(within_s), killed).await.unwrap();
        assert!(matches!(killed, Err(SandboxFault::Lost(_))), "{kill}: {killed:?}");
        assert!(stage.link.is_lost());
        assert!(timeout(Duration::from_secs(5), started.ended).await.unwrap().is_err());
        assert!(matches!(stage.link.count().await, Err(SandboxFault::Lost(_))));
        let taken = stage.link.taken(Turn(1)).await.unwrap();
        assert!(taken.is_overflown, "{kill}");
        assert!(stage.link.taken(Turn(2)).await.unwrap().is_overflown, "{kill}");
        assert!(taken.processes.iter().any(|event| event.program.ends_with("/true")));
    };
    check("kill -9 $supervisor", 5).await;
    check("kill -9 $launcher", 5).await;
    // Nobody is left to say it.
    check("kill -9 -1", 40).await;
}
