//! What is recorded of a sandbox (E1, E3, E8): exactly what happened, in the kernel's order, and cheaply.

use std::time::{Duration, Instant};

use domain::{
    evidence::{FileKind, ProcessEvent},
    ids::Turn,
};
use engine::ports::sandbox::{Capture, FileNode, Sandbox};

use super::stage::{Stage, command, file, limits, node, run, sh};

async fn capture(sandbox: &dyn Sandbox) -> Capture {
    sandbox.freeze().await.unwrap();
    let capture = sandbox.capture(Turn(1)).await.unwrap();
    sandbox.thaw().await.unwrap();
    capture
}

fn told(programs: &[ProcessEvent]) -> Vec<(String, String, Option<i32>)> {
    let told = |one: &ProcessEvent| (one.program.clone(), one.argv.join(" "), one.exit_code);
    programs.iter().map(told).collect()
}

fn expect(lines: &[(&str, &str, Option<i32>)]) -> Vec<(String, String, Option<i32>)> {
    let owned = |(program, argv, code): &(&str, &str, Option<i32>)| {
        ((*program).to_owned(), (*argv).to_owned(), *code)
    };
    lines.iter().map(owned).collect()
}

#[tokio::test]
async fn programs_are_told_as_they_ran() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    sandbox.put("/app", &[file("tool", "#!/bin/sh\nexit 6\n", 0o755)]).await.unwrap();
    sandbox.put("/app", &[file("bare", "exit 8\n", 0o755)]).await.unwrap();
    sandbox.put("/app", &[file("plain", "text", 0o644)]).await.unwrap();
    let check = async |script: &str, lines: &[(&str, &str, Option<i32>)]| {
        run(&*sandbox, &["sh", "-c", script]).await;
        let mut programs = capture(&*sandbox).await.processes;
        let shell = programs.remove(0);
        assert_eq!((shell.parent, shell.cwd.as_str()), (1, "/app"));
        assert_eq!(shell.argv, ["sh", "-c", script]);
        assert_eq!(told(&programs), expect(lines), "{script}");
    };
    let end = ("/usr/bin/basename", "basename end", Some(0));
    check(
        "uname >/dev/null; cmp a b 2>/dev/null; basename end",
        &[("/usr/bin/uname", "uname", Some(0)), ("/usr/bin/cmp", "cmp a b", Some(2)), end],
    )
    .await;
    // Found late on the path, not at all, not a program, and a text that the shell runs itself.
    check("PATH=/a:/b:/usr/bin; basename end", &[end]).await;
    check("no-such-program; ./plain; ./nowhere; basename end", &[end]).await;
    check("env bare-word; basename end", &[("/usr/bin/env", "env bare-word", Some(127)), end])
        .await;
    check("./tool; basename end", &[("/app/tool", "./tool", Some(6)), end]).await;
    // A text without an interpreter is refused by the kernel, then the shell runs it as a script.
    check("./bare; basename end", &[("/usr/bin/dash", "/bin/sh ./bare", Some(8)), end]).await;
    // One process, three programs: the last one has the exit code.
    check(
        "env sh -c 'exec sh -c \"exit 5\"'; basename end",
        &[
            ("/usr/bin/env", "env sh -c exec sh -c \"exit 5\"", None),
            ("/usr/bin/dash", "sh -c exec sh -c \"exit 5\"", None),
            ("/usr/bin/dash", "sh -c exit 5", Some(5)),
            end,
        ],
    )
    .await;
    // A death by signal has no code.
    check("sh -c 'kill -9 $$'; basename end", &[("/usr/bin/dash", "sh -c kill -9 $$", None), end])
        .await;
    check(
        "cd /usr/lib && /proc/self/exe -c 'exit 4'; basename end",
        &[("/usr/bin/dash", "/proc/self/exe -c exit 4", Some(4)), end],
    )
    .await;
}

#[tokio::test]
async fn programs_are_told_with_their_place() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    sh(&*sandbox, "mkdir -p /app/there; cd /app/there; sh -c 'uname; :'").await;
    let programs = capture(&*sandbox).await.processes;
    let by = |name: &str, index: usize| {
        let mut found = programs.iter().filter(|one| one.program == name);
        found.nth(index).unwrap()
    };
    let (outer, inner, leaf) =
        (by("/usr/bin/dash", 0), by("/usr/bin/dash", 1), by("/usr/bin/uname", 0));
    assert_eq!(outer.cwd, "/app");
    assert_eq!((inner.cwd.as_str(), inner.parent), ("/app/there", outer.pid));
    assert_eq!((leaf.cwd.as_str(), leaf.parent, leaf.uid), ("/app/there", inner.pid, 0));
    assert!(outer.started_ms <= inner.started_ms && inner.started_ms <= leaf.started_ms);
    assert!(leaf.ended_ms.unwrap() <= inner.ended_ms.unwrap());
    // What still runs is told now, its end later.
    sh(&*sandbox, "sleep 2.5 & sleep 600 & sleep 0.1").await;
    let first = capture(&*sandbox).await;
    let mut open: Vec<_> = first
        .processes
        .iter()
        .filter(|one| one.ended_ms.is_none())
        .map(|one| &one.argv[1])
        .collect();
    // Which of two that run side by side is first is the scheduler's.
    open.sort();
    assert_eq!(open, ["2.5", "600"]);
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    let second = capture(&*sandbox).await;
    assert_eq!((second.processes.len(), second.ended.len(), second.alive), (0, 1, 1));
    let short = first.processes.iter().find(|one| one.argv[1] == "2.5").unwrap();
    assert_eq!((second.ended[0].pid, second.ended[0].started_ms), (short.pid, short.started_ms));
    assert_eq!(second.ended[0].exit_code, Some(0));
    assert!(second.ended[0].ended_ms - short.started_ms >= 2_490);
}

#[tokio::test]
async fn static_and_traced_programs_are_seen() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let source = "int main(void) { return 9; }";
    sandbox.put("/app", &[file("nine.c", source, 0o644)]).await.unwrap();
    let built = run(&*sandbox, &["gcc", "-static", "-o", "/app/nine", "/app/nine.c"]).await;
    assert!(built.is_success(), "{built:?}");
    capture(&*sandbox).await;
    run(&*sandbox, &["/app/nine"]).await;
    let traced = run(&*sandbox, &["strace", "-f", "-o", "/tmp/trace", "/app/nine"]).await;
    assert_eq!(traced.ended, engine::ports::sandbox::Ended::Exited(9));
    let trace = sh(&*sandbox, "grep -c execve /tmp/trace").await;
    assert_eq!(trace, "1\n");
    let programs = capture(&*sandbox).await.processes;
    let nine: Vec<_> = programs.iter().filter(|one| one.program == "/app/nine").collect();
    assert_eq!(nine.len(), 2);
    assert!(nine.iter().all(|one| one.exit_code == Some(9)));
}

#[tokio::test]
async fn long_arguments_are_cut() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let long = "x".repeat(40_000);
    run(&*sandbox, &["true", &long, &long, "end"]).await;
    sh(&*sandbox, &format!("/usr/bin/true {long} {long} end")).await;
    for program in
        capture(&*sandbox).await.processes.iter().filter(|one| one.argv[0].ends_with("true"))
    {
        let lengths: Vec<usize> = program.argv.iter().map(String::len).collect();
        assert_eq!(lengths[1..], [40_000, "…".len()]);
        assert_eq!(program.argv[2], "…");
    }
}

#[tokio::test]
async fn files_and_programs_share_a_clock() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("mkdir /app; touch /app/from_base", &limits()).await;
    let script = "sleep 0.05; echo > /app/one; sleep 0.05; date > /dev/null; sleep 0.05; echo > /app/two; \
                  touch -d 2001-01-01 /app/one; sleep 0.05; chmod 600 /app/from_base";
    let begun_ms = sandbox.now_ms();
    sh(&*sandbox, script).await;
    let ended_ms = sandbox.now_ms();
    let seen = capture(&*sandbox).await;
    let changed = |path: &str| seen.manifest.entries[path].ctime_ms;
    let started = |name: &str| {
        let found = seen.processes.iter().find(|one| one.argv[0] == name);
        found.unwrap().started_ms
    };
    let order = [
        begun_ms,
        started("date"),
        changed("/app/two"),
        changed("/app/one"),
        changed("/app/from_base"),
        ended_ms + 5,
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert!(begun_ms >= 0);
}

#[tokio::test]
async fn deletions_are_told_path_by_path() {
    let stage = Stage::new();
    let setup = "mkdir -p /app/tree/a /app/tree/b /app/again/x; echo 1 > /app/tree/a/one; echo 2 > /app/tree/b/two
                 echo 3 > /app/again/three; echo 4 > /app/again/x/four; mkdir /app/becomes; echo 5 > /app/becomes/five";
    let sandbox = stage.sandbox(setup, &limits()).await;
    let script = "rm -r /app/tree; rm -r /app/again; mkdir /app/again; echo new > /app/again/three
                  rm -r /app/becomes; echo file > /app/becomes; rm /usr/bin/uname 2>/dev/null; true";
    run(&*sandbox, &["sh", "-c", script]).await;
    let seen = capture(&*sandbox).await.manifest;
    let kinds: Vec<_> = seen
        .entries
        .iter()
        .filter(|(path, _)| path.starts_with("/app"))
        .map(|(path, entry)| (path.as_str(), entry.kind))
        .collect();
    let expect = [
        ("/app/again/three", FileKind::File),
        ("/app/again/x", FileKind::Gone),
        ("/app/again/x/four", FileKind::Gone),
        ("/app/becomes", FileKind::File),
        ("/app/becomes/five", FileKind::Gone),
        ("/app/tree", FileKind::Gone),
        ("/app/tree/a", FileKind::Gone),
        ("/app/tree/a/one", FileKind::Gone),
        ("/app/tree/b", FileKind::Gone),
        ("/app/tree/b/two", FileKind::Gone),
    ];
    assert_eq!(kinds, expect);
    if super::stage::is_root() {
        assert_eq!(seen.entries["/usr/bin/uname"].kind, FileKind::Gone);
    }
    // The same holds for what is restored from it.
    sandbox.end().await.unwrap();
    let restored = sandbox.restore(&["/".to_owned()], &limits()).await.unwrap();
    let again = capture(&*restored).await.manifest;
    let kinds_of = |manifest: &domain::evidence::Manifest| -> Vec<(String, FileKind)> {
        manifest.entries.iter().map(|(path, entry)| (path.clone(), entry.kind)).collect()
    };
    assert_eq!(kinds_of(&again), kinds_of(&seen));
    assert_eq!(
        sh(&*restored, "cat /app/again/three; ls -A /app/again /app/becomes").await,
        "new\n/app/becomes\n\n/app/again:\nthree\n"
    );
}

/// Every writable place is seen.
#[tokio::test]
async fn there_is_no_unseen_corner() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let script = "cd /; for place in $(find / -xdev -type d -not -path '/usr/*' -not -path '/proc*' 2>/dev/null) \
                  /dev/shm /var/tmp /run/lock; do (echo x > $place/.corner) 2>/dev/null && echo $place/.corner; done; true";
    let written = sh(&*sandbox, script).await;
    let seen = capture(&*sandbox).await.manifest;
    let written: Vec<String> =
        written.lines().map(|line| format!("/{}", line.trim_start_matches('/'))).collect();
    for path in
        ["/tmp/.corner", "/dev/shm/.corner", "/run/.corner", "/var/tmp/.corner", "/sys/.corner"]
    {
        assert!(written.iter().any(|one| one == path), "{path} was not written: {written:?}");
    }
    for path in written {
        assert!(seen.entries.contains_key(&path), "{path} is not seen");
    }
}

#[tokio::test]
async fn unreadable_files_are_read_without_a_trace() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let script =
        "mkdir /app/shut; echo secret > /app/shut/inside; chmod 000 /app/shut/inside /app/shut";
    sh(&*sandbox, script).await;
    let first = capture(&*sandbox).await.manifest;
    let inside = &first.entries["/app/shut/inside"];
    assert_eq!(inside.hash.as_ref().unwrap().as_str(), blake3::hash(b"secret\n").to_hex().as_str());
    assert_eq!((inside.mode, first.entries["/app/shut"].mode), (0, 0));
    assert_eq!(capture(&*sandbox).await.manifest.entries["/app/shut/inside"], *inside);
    assert_eq!(sh(&*sandbox, "stat -c %a /app/shut /app/shut/inside").await, "0\n0\n");
}

#[tokio::test]
async fn odd_names_stay_distinct() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    let script = r#"cd /app; : > "$(printf 'a\377')"; : > "$(printf 'a\376')"; : > 'with space'; : > 'new
line'; mkfifo pipe; ln -s /nowhere dangling"#;
    sh(&*sandbox, script).await;
    let seen = capture(&*sandbox).await.manifest;
    let names: Vec<_> = seen.entries.keys().map(|path| &path["/app/".len()..]).collect();
    assert_eq!(names, ["a\\xfe", "a\\xff", "dangling", "new\nline", "pipe", "with space"]);
    assert_eq!(seen.entries["/app/pipe"].kind, FileKind::Special);
    // A pipe that stands in the way of a reader does not hold it.
    assert_eq!(sandbox.get("/app").await.unwrap().unwrap().len(), 5);
}

/// The size of the base does not matter: ten changed files are found in less than a tenth of a second.
#[tokio::test]
async fn a_capture_is_cheap() {
    let stage = Stage::new();
    let setup = "mkdir -p /app/many; cd /app/many
                 for i in $(seq 1 100); do mkdir $i; done; cd 1; for i in $(seq 1 50); do echo $i > $i; done; cd ..
                 for i in $(seq 2 100); do cp -l 1/* $i; done";
    let sandbox = stage.sandbox(setup, &limits()).await;
    sh(&*sandbox, "for i in 1 2 3 4 5 6 7 8 9 10; do echo changed > /app/many/$i/$i; done").await;
    sandbox.freeze().await.unwrap();
    let begun = Instant::now();
    let seen = sandbox.capture(Turn(1)).await.unwrap();
    let took = begun.elapsed();
    assert_eq!(seen.manifest.entries.len(), 10);
    println!("10 changed of 5,000: {took:?}");
    assert!(took < Duration::from_millis(100), "{took:?}");
}

/// What a sandbox and its first command may cost; about 15 on an idle machine.
const BARE_COMMANDS_MAX: u32 = 100;

#[tokio::test]
async fn a_sandbox_stands_at_once() {
    let stage = Stage::new();
    let base = super::stage::base(&stage.sandboxes, "true").await;
    let (mut took, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        let begun = Instant::now();
        std::process::Command::new("true").status().unwrap();
        bare.push(begun.elapsed());
        let begun = Instant::now();
        let sandbox = stage.provision(&base, &limits()).await;
        assert!(sandbox.exec(&command(&["true"])).await.unwrap().is_success());
        took.push(begun.elapsed());
    }
    took.sort();
    bare.sort();
    println!("provision and first command: median {:?}, a bare command: {:?}", took[7], bare[7]);
    // A ratio to a bare command of the same moments, the fastest of each: a loaded machine slows both.
    assert!(took[0] < bare[0] * BARE_COMMANDS_MAX, "{took:?}, bare {bare:?}");
}

#[tokio::test]
async fn a_special_put_is_seen_as_such() {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    // A link of the sandbox resolves in the sandbox, never in the harness.
    sh(&*sandbox, "ln -s /etc /app/link").await;
    sandbox.put("/app/link", &[file("placed", "x", 0o644)]).await.unwrap();
    sandbox.put("/app", &[node("deep/er", FileNode::Directory, 0o755)]).await.unwrap();
    let seen = capture(&*sandbox).await.manifest;
    let paths: Vec<_> = seen.entries.keys().map(String::as_str).collect();
    assert_eq!(paths, ["/app/deep", "/app/deep/er", "/app/link", "/etc/placed"]);
    assert!(!std::path::Path::new("/etc/placed").exists());
    assert!(sandbox.put("/app", &[file("../escape", "x", 0o644)]).await.is_err());
    // From outside, links are not followed.
    assert_eq!(sandbox.get("/app/link/placed").await.unwrap(), None);
}
