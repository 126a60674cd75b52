//! Streams of started commands: both ways, without bound in time, with bounded memory.

use std::time::Duration;

use engine::ports::sandbox::{Ended, Started};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    time::{sleep, timeout},
};

use crate::stage::{Stage, launch, shell, text, texts};

async fn start(stage: &Stage, script: &str) -> Started {
    stage.link.start(&shell(script)).await.unwrap()
}

#[tokio::test]
async fn a_conversation_goes_to_and_fro() {
    let stage = Stage::new().await;
    let mut started =
        start(&stage, "while read line; do echo \"got $line\"; done; echo over >&2; exit 4").await;
    let mut stdout = BufReader::new(started.stdout);
    for turn in 0..100 {
        started.stdin.write_all(format!("{turn}\n").as_bytes()).await.unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        assert_eq!(line, format!("got {turn}\n"));
    }
    started.stdin.shutdown().await.unwrap();
    let (mut rest, mut stderr) = (String::new(), String::new());
    stdout.read_to_string(&mut rest).await.unwrap();
    started.stderr.read_to_string(&mut stderr).await.unwrap();
    assert_eq!((rest.as_str(), stderr.as_str()), ("", "over\n"));
    assert_eq!(started.ended.await, Ok(Ended::Exited(4)));
}

#[tokio::test]
async fn long_lines_come_whole() {
    let stage = Stage::new().await;
    let mut started = start(&stage, "cat").await;
    let long = vec![b'x'; 20 << 20];
    let expect = long.clone();
    let mut input = started.stdin;
    let written = tokio::spawn(async move {
        input.write_all(&long).await.unwrap();
        input.shutdown().await.unwrap();
    });
    let mut got = Vec::new();
    started.stdout.read_to_end(&mut got).await.unwrap();
    written.await.unwrap();
    assert!(got == expect, "{} bytes came back", got.len());
    assert_eq!(started.ended.await, Ok(Ended::Exited(0)));
}

#[tokio::test]
async fn who_is_not_read_waits_and_holds_up_nobody() {
    let stage = Stage::new().await;
    let counter = stage.path("written");
    let script = format!(
        "i=0; while [ $i -lt 400 ]; do head -c 65536 /dev/zero; i=$((i+1)); echo $i > {}; done",
        text(&counter)
    );
    let mut flood = start(&stage, &script).await;
    let mut other = start(&stage, "cat").await;
    let written = || -> u32 {
        std::fs::read_to_string(&counter).unwrap_or_default().trim().parse().unwrap_or(0)
    };
    // It stands still once the window and its pipe are full.
    let mut seen = (written(), 0);
    while seen.1 < 5 {
        sleep(Duration::from_millis(100)).await;
        seen =
            if written() == seen.0 && seen.0 > 0 { (seen.0, seen.1 + 1) } else { (written(), 0) };
    }
    assert!(seen.0 < 30, "{} blocks were written though nobody read", seen.0);
    other.stdin.write_all(b"still here\n").await.unwrap();
    let mut line = [0; 11];
    timeout(Duration::from_secs(5), other.stdout.read_exact(&mut line)).await.unwrap().unwrap();
    assert_eq!(stage.sh("echo me, too").await, "me, too\n");
    let mut got = Vec::new();
    flood.stdout.read_to_end(&mut got).await.unwrap();
    assert_eq!(got.len(), 400 * 65536);
    assert_eq!(flood.ended.await, Ok(Ended::Exited(0)));
}

#[tokio::test]
async fn a_closed_end_is_noticed_at_the_other() {
    let stage = Stage::new().await;
    let started = start(&stage, "trap '' PIPE; while echo x 2>/dev/null; do :; done; exit 5").await;
    drop(started.stdout);
    let ended = timeout(Duration::from_secs(10), started.ended).await.unwrap();
    assert_eq!(ended, Ok(Ended::Exited(5)));
    let mut started = start(&stage, "exec 0<&-; sleep 1000").await;
    let block = vec![0; 1 << 20];
    let written = async { while started.stdin.write_all(&block).await.is_ok() {} };
    timeout(Duration::from_secs(10), written).await.unwrap();
    stage.link.kill(started.pid).await.unwrap();
    assert_eq!(started.ended.await, Ok(Ended::Signalled(9)));
}

#[tokio::test]
async fn outputs_are_cut_and_left_behind_programs_are_not_waited_for() {
    let stage = Stage::new().await;
    let run = async |script: &str, stdin: &[u8]| {
        let timeout = Duration::from_secs(20);
        stage.link.exec(&shell(script), stdin.to_vec(), timeout, 100).await.unwrap()
    };
    let finished = run("yes abcdefghi | head -c 30000000", b"").await;
    let cut =
        format!("{}\n… 29999900 bytes cut …\n{}", "abcdefghi\n".repeat(5), "abcdefghi\n".repeat(5));
    assert_eq!(texts(&finished).0, cut);
    let finished = run("sleep 3 & echo done", b"").await;
    assert_eq!(texts(&finished).0, "done\n");
    assert!(finished.took < Duration::from_secs(2), "{:?}", finished.took);
    // Whoever is left goes on writing without dying of it.
    let marker = stage.path("alive");
    let left = format!("(sleep 0.3; echo late; echo late >&2; echo ok > {}) & :", text(&marker));
    run(&left, b"").await;
    sleep(Duration::from_millis(900)).await;
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "ok\n");
    let finished = run("wc -c", &vec![b'y'; 3 << 20]).await;
    assert_eq!(texts(&finished).0, format!("{}\n", 3 << 20));
    let finished = run("true", &vec![b'y'; 3 << 20]).await;
    assert_eq!(finished.ended, Ended::Exited(0));
}

#[tokio::test]
async fn what_cannot_start_says_so() {
    let stage = Stage::new().await;
    let mut started = stage.link.start(&launch(&["no-such-program"])).await.unwrap();
    let mut stderr = String::new();
    started.stderr.read_to_string(&mut stderr).await.unwrap();
    assert_eq!(stderr, "no-such-program: command not found\n");
    assert_eq!(started.ended.await, Ok(Ended::NotStarted));
}
