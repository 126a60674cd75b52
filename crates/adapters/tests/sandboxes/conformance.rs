//! What every implementer of the sandbox port must do, as one function a property; a module at the end runs them for
//! each implementer.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr, TcpListener},
    time::Duration,
};

use super::stage::{self, command, file, limits, node, spec};
use domain::{
    evidence::{FileKind, ManifestEntry, NetTransport},
    ids::Turn,
};
use engine::ports::sandbox::{
    Arrival, Ended, FileNode, Limits, Network, Recording, Sandbox, SandboxFault, Sandboxes,
};

/// How an implementer's programs are called.
pub struct Programs {
    /// Exits with a code.
    pub exit: fn(i32) -> Vec<String>,
    /// Sleeps for so many seconds.
    pub sleep: fn(u32) -> Vec<String>,
    /// Appends a line to a file.
    pub append: fn(&str, &str) -> Vec<String>,
    /// Connects to an address, and succeeds once the other end closes.
    pub reach: fn(IpAddr, u16) -> Vec<String>,
}

/// An implementer under test.
pub struct Subject<'s> {
    /// The implementer.
    pub sandboxes: &'s dyn Sandboxes,
    /// A setup that leaves `/app/kept`, `/app/doomed` (with `old` in them) and `/app/sub/deep`.
    pub setup: &'s str,
    /// Its programs.
    pub programs: Programs,
}

impl Subject<'_> {
    async fn sandbox(&self) -> Box<dyn Sandbox> {
        let base = stage::base(self.sandboxes, self.setup).await;
        self.sandboxes.provision(&base, &limits(), Recording::Processes).await.unwrap()
    }

    async fn run(&self, sandbox: &dyn Sandbox, argv: Vec<String>) -> Ended {
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        stage::run(sandbox, &argv).await.ended
    }
}

async fn text(sandbox: &dyn Sandbox, path: &str) -> Option<String> {
    let entries = sandbox.get(path).await.unwrap()?;
    let [entry] = entries.as_slice() else { panic!("{path} is no file: {entries:?}") };
    assert_eq!(entry.path, "");
    match &entry.node {
        FileNode::File(bytes) => Some(String::from_utf8(bytes.clone()).unwrap()),
        other => panic!("{path} is {other:?}"),
    }
}

/// A command's end is an outcome, whatever it is.
pub async fn commands_end(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    assert_eq!(subject.run(&*sandbox, (subject.programs.exit)(0)).await, Ended::Exited(0));
    assert_eq!(subject.run(&*sandbox, (subject.programs.exit)(7)).await, Ended::Exited(7));
    assert_eq!(stage::run(&*sandbox, &["/no/such/program"]).await.ended, Ended::NotStarted);
    let mut late = command(&[]);
    late.argv = (subject.programs.sleep)(30);
    late.timeout = Duration::from_millis(200);
    assert_eq!(sandbox.exec(&late).await.unwrap().ended, Ended::TimedOut);
}

/// What is put can be got, with kinds and modes; what is absent is said to be.
pub async fn files_travel(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    let files = [
        node("new", FileNode::Directory, 0o750),
        file("new/plain", "text", 0o644),
        file("new/program", "#!/bin/sh\n", 0o755),
        node("new/link", FileNode::Link("plain".into()), 0o777),
        node("doomed", FileNode::Absent, 0),
        node("never-there", FileNode::Absent, 0),
    ];
    sandbox.put("/app", &files).await.unwrap();
    let got = sandbox.get("/app/new").await.unwrap().unwrap();
    let mut expect = vec![
        file("plain", "text", 0o644),
        file("program", "#!/bin/sh\n", 0o755),
        node("link", FileNode::Link("plain".into()), 0o777),
    ];
    expect.sort_by(|one, other| one.path.cmp(&other.path));
    let mut sorted = got.clone();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(sorted, expect);
    assert_eq!(text(&*sandbox, "/app/new/plain").await.as_deref(), Some("text"));
    assert_eq!(sandbox.get("/app/doomed").await.unwrap(), None);
    assert_eq!(sandbox.get("/nowhere/at/all").await.unwrap(), None);
    // Placed again over what stands there.
    sandbox.put("/app", &[file("new", "a file now", 0o600)]).await.unwrap();
    assert_eq!(text(&*sandbox, "/app/new").await.as_deref(), Some("a file now"));
}

/// The base stays as it was made.
pub async fn base_is_pristine(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    let changes = [file("kept", "new", 0o600), node("doomed", FileNode::Absent, 0)];
    sandbox.put("/app", &changes).await.unwrap();
    let node_of = async |path: &str| sandbox.base(path).await.unwrap().map(|entry| entry.node);
    assert_eq!(node_of("/app/kept").await, Some(FileNode::File(b"old\n".to_vec())));
    assert_eq!(node_of("/app/doomed").await, Some(FileNode::File(b"old\n".to_vec())));
    assert_eq!(node_of("/app/sub").await, Some(FileNode::Directory));
    assert_eq!(node_of("/app/never-there").await, None);
    let written = sandbox.base_written().await.unwrap();
    let is_written = |path: &str, node: FileNode| {
        written.iter().any(|entry| entry.path == path && entry.node == node)
    };
    assert!(is_written("/app/kept", FileNode::File(b"old\n".to_vec())), "{written:?}");
    assert!(is_written("/app/sub", FileNode::Directory), "{written:?}");
    assert!(written.iter().all(|entry| entry.path != "/etc/passwd"), "the host's own");
    let neighbour = subject.sandbox().await;
    assert_eq!(text(&*neighbour, "/app/kept").await.as_deref(), Some("old\n"));
}

fn kinds(entries: &BTreeMap<String, ManifestEntry>) -> Vec<(&str, FileKind)> {
    entries.iter().map(|(path, entry)| (path.as_str(), entry.kind)).collect()
}

/// A manifest holds what differs from the base, and nothing else.
pub async fn manifest_is_the_difference(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    sandbox.freeze().await.unwrap();
    let first = sandbox.capture(Turn(1)).await.unwrap();
    assert_eq!(kinds(&first.manifest.entries), []);
    sandbox.thaw().await.unwrap();
    let changes = [
        file("kept", "new", 0o644),
        node("doomed", FileNode::Absent, 0),
        node("made", FileNode::Directory, 0o755),
        file("made/inside", "text", 0o640),
        node("made/link", FileNode::Link("inside".into()), 0o777),
        node("sub", FileNode::Absent, 0),
    ];
    sandbox.put("/app", &changes).await.unwrap();
    sandbox.freeze().await.unwrap();
    let before_ms = sandbox.now_ms();
    let second = sandbox.capture(Turn(2)).await.unwrap();
    let expect = [
        ("/app/doomed", FileKind::Gone),
        ("/app/kept", FileKind::File),
        ("/app/made", FileKind::Directory),
        ("/app/made/inside", FileKind::File),
        ("/app/made/link", FileKind::Link),
        ("/app/sub", FileKind::Gone),
        ("/app/sub/deep", FileKind::Gone),
    ];
    assert_eq!(kinds(&second.manifest.entries), expect);
    let kept = &second.manifest.entries["/app/kept"];
    assert_eq!(kept.hash.as_ref().unwrap().as_str(), blake3::hash(b"new").to_hex().as_str());
    assert_eq!((kept.size, kept.mode), (3, 0o644));
    assert!((0..=before_ms).contains(&kept.ctime_ms), "{} of {before_ms}", kept.ctime_ms);
    assert_eq!(second.manifest.entries["/app/made/inside"].mode, 0o640);
    let target = second.manifest.entries["/app/made/link"].link_target.as_deref();
    assert_eq!(target, Some("inside"));
    // Looked at again without a change: the same; changed back: as the base has it.
    let third = sandbox.capture(Turn(2)).await.unwrap();
    assert_eq!(third.manifest, second.manifest);
    sandbox.thaw().await.unwrap();
    sandbox.put("/app", &[file("kept", "old\n", 0o644)]).await.unwrap();
    sandbox.freeze().await.unwrap();
    let fourth = sandbox.capture(Turn(3)).await.unwrap();
    assert!(!fourth.manifest.entries.contains_key("/app/kept"));
}

/// Each program is reported once, in the turn of the capture, with its exit code.
pub async fn programs_are_reported(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    let codes = async |turn: u32| {
        sandbox.freeze().await.unwrap();
        let capture = sandbox.capture(Turn(turn)).await.unwrap();
        sandbox.thaw().await.unwrap();
        assert!(capture.processes.iter().all(|program| program.turn == Turn(turn)));
        let ended = |program: &domain::evidence::ProcessEvent| {
            program.ended_ms.is_some_and(|ended_ms| ended_ms >= program.started_ms)
        };
        assert!(capture.processes.iter().all(ended), "{:?}", capture.processes);
        let mut codes: Vec<_> = capture.processes.iter().map(|program| program.exit_code).collect();
        // A shell and the program that it runs end with the same code.
        codes.dedup();
        codes
    };
    subject.run(&*sandbox, (subject.programs.exit)(0)).await;
    subject.run(&*sandbox, (subject.programs.exit)(7)).await;
    assert_eq!(codes(1).await, [Some(0), Some(7)]);
    assert_eq!(codes(2).await, []);
    subject.run(&*sandbox, (subject.programs.exit)(3)).await;
    assert_eq!(codes(3).await, [Some(3)]);
}

/// Freeze and thaw may be said twice; a capture needs stillness.
pub async fn stillness_is_needed(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    assert!(matches!(sandbox.capture(Turn(1)).await, Err(SandboxFault::Lost(_))));
    assert!(sandbox.fork(&limits()).await.is_err());
    sandbox.thaw().await.unwrap();
    sandbox.freeze().await.unwrap();
    sandbox.freeze().await.unwrap();
    sandbox.capture(Turn(1)).await.unwrap();
    sandbox.thaw().await.unwrap();
    sandbox.thaw().await.unwrap();
    assert_eq!(subject.run(&*sandbox, (subject.programs.exit)(0)).await, Ended::Exited(0));
}

/// A fork sees the state as it is and changes nothing of it.
pub async fn forks_are_isolated(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    let changes = [file("kept", "changed\n", 0o644), node("doomed", FileNode::Absent, 0)];
    sandbox.put("/app", &changes).await.unwrap();
    sandbox.freeze().await.unwrap();
    let before = sandbox.capture(Turn(1)).await.unwrap();
    let fork = sandbox.fork(&limits()).await.unwrap();
    assert_eq!(text(&*fork, "/app/kept").await.as_deref(), Some("changed\n"));
    assert_eq!(fork.get("/app/doomed").await.unwrap(), None);
    let argv = (subject.programs.append)("/app/kept", "forked");
    assert_eq!(subject.run(&*fork, argv).await, Ended::Exited(0));
    fork.put("/app", &[node("sub", FileNode::Absent, 0)]).await.unwrap();
    assert_eq!(text(&*fork, "/app/kept").await.as_deref(), Some("changed\nforked\n"));
    fork.freeze().await.unwrap();
    let seen = fork.capture(Turn(1)).await.unwrap();
    let expect = [
        ("/app/doomed", FileKind::Gone),
        ("/app/kept", FileKind::File),
        ("/app/sub", FileKind::Gone),
        ("/app/sub/deep", FileKind::Gone),
    ];
    assert_eq!(kinds(&seen.manifest.entries), expect);
    fork.end().await.unwrap();
    drop(fork);
    let after = sandbox.capture(Turn(1)).await.unwrap();
    assert_eq!(after.manifest, before.manifest);
    assert_eq!(text(&*sandbox, "/app/kept").await.as_deref(), Some("changed\n"));
}

/// A restored sandbox has the changes below the paths, deletions too, and nothing else.
pub async fn restore_takes_paths(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    let changes = [
        file("kept", "changed\n", 0o644),
        node("doomed", FileNode::Absent, 0),
        file("sub/deep", "changed\n", 0o644),
        file("sub/more", "made\n", 0o644),
    ];
    sandbox.put("/app", &changes).await.unwrap();
    sandbox.put("/opt", &[file("outside", "made\n", 0o644)]).await.unwrap();
    sandbox.end().await.unwrap();
    let check = async |paths: &[&str], expect: [Option<&str>; 5]| {
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        let restored = sandbox.restore(&paths, &limits()).await.unwrap();
        let looked = ["/app/kept", "/app/doomed", "/app/sub/deep", "/app/sub/more", "/opt/outside"];
        for (path, expect) in looked.iter().zip(expect) {
            assert_eq!(text(&*restored, path).await.as_deref(), expect, "{path} of {paths:?}");
        }
        assert_eq!(subject.run(&*restored, (subject.programs.exit)(0)).await, Ended::Exited(0));
    };
    let (old, changed, made) = (Some("old\n"), Some("changed\n"), Some("made\n"));
    check(&[], [old, old, old, None, None]).await;
    check(&["/"], [changed, None, changed, made, made]).await;
    check(&["/app"], [changed, None, changed, made, None]).await;
    check(&["/app/sub"], [old, old, changed, made, None]).await;
    check(&["/app/doomed", "/opt/outside"], [old, None, old, None, made]).await;
}

/// After the end nothing runs, and everything can be read.
pub async fn the_end_is_final(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    let mut long = command(&[]);
    long.argv = (subject.programs.sleep)(600);
    let started = sandbox.start(&long).await.unwrap();
    sandbox.put("/app", &[file("kept", "changed\n", 0o644)]).await.unwrap();
    sandbox.end().await.unwrap();
    sandbox.end().await.unwrap();
    drop(started);
    assert!(sandbox.exec(&command(&["true"])).await.is_err());
    assert_eq!(text(&*sandbox, "/app/kept").await.as_deref(), Some("changed\n"));
    let fork = sandbox.fork(&limits()).await.unwrap();
    assert_eq!(text(&*fork, "/app/kept").await.as_deref(), Some("changed\n"));
}

/// A started command's end reaches its owner.
pub async fn started_commands_end(subject: &Subject<'_>) {
    let sandbox = subject.sandbox().await;
    let start = async |argv: Vec<String>| {
        let mut spec = command(&[]);
        spec.argv = argv;
        sandbox.start(&spec).await.unwrap()
    };
    let short = start((subject.programs.exit)(4)).await;
    assert_eq!(short.ended.await.unwrap(), Ended::Exited(4));
    let missing = start(vec!["/no/such/program".to_owned()]).await;
    assert_eq!(missing.ended.await.unwrap(), Ended::NotStarted);
}

/// A base is made once; one that cannot be made says why.
pub async fn bases_are_made_once(subject: &Subject<'_>) {
    let spec = spec(subject.setup);
    let (one, other) =
        tokio::join!(subject.sandboxes.materialise(&spec), subject.sandboxes.materialise(&spec));
    assert_eq!(one.unwrap(), other.unwrap());
    let defaults = Limits {
        memory_mb: None,
        processes_max: None,
        disk_mb: None,
        cpus: None,
        gpus: 0,
        network: Network::Off,
    };
    let base = subject.sandboxes.materialise(&spec).await.unwrap();
    let sandbox = subject.sandboxes.provision(&base, &defaults, Recording::Nothing).await.unwrap();
    assert_eq!(text(&*sandbox, "/app/kept").await.as_deref(), Some("old\n"));
}

/// What a program tries to reach arrives at the edge, as it was meant; nothing of it gets out, the host's own addresses
/// included, and the sandbox's loopback is no attempt.
pub async fn what_is_tried_arrives(subject: &Subject<'_>) {
    const ACCEPTED: u16 = 8081;
    let sandbox = subject.sandbox().await;
    let mut doorway = sandbox.doorway(&[ACCEPTED]).await.unwrap();
    let host = TcpListener::bind("0.0.0.0:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let host_port = host.local_addr().unwrap().port();
    let refused = [
        (stage::host_address(), host_port),
        ("192.0.2.7".parse().unwrap(), 9),
        ("2001:db8::7".parse().unwrap(), 9),
    ];
    for (to, port) in refused {
        let ended = subject.run(&*sandbox, (subject.programs.reach)(to, port)).await;
        assert!(matches!(ended, Ended::Exited(code) if code != 0), "{to}: {ended:?}");
        sandbox.freeze().await.unwrap();
        let now_ms = sandbox.now_ms();
        let settled = doorway.settle().await.unwrap();
        sandbox.thaw().await.unwrap();
        let [Arrival::Packet(packet)] = settled.as_slice() else {
            panic!("{to}: {} arrivals", settled.len())
        };
        assert_eq!((packet.to, packet.port, packet.transport), (to, port, NetTransport::Tcp));
        assert!((0..=now_ms).contains(&packet.at_ms), "{} of {now_ms}", packet.at_ms);
    }
    assert!(host.accept().is_err(), "it got out");
    for to in ["192.0.2.7", "2001:db8::7", "127.0.0.1"] {
        let to: IpAddr = to.parse().unwrap();
        let reaching = subject.run(&*sandbox, (subject.programs.reach)(to, ACCEPTED));
        let arriving = async {
            loop {
                match doorway.next().await {
                    // Dropped, it ends what the program waits for.
                    Some(Arrival::Stream(arrived)) => return arrived.to,
                    Some(_) => {}
                    None => panic!("the edge is gone"),
                }
            }
        };
        let (ended, arrived) = tokio::join!(reaching, arriving);
        assert_eq!(arrived, SocketAddr::new(to, ACCEPTED));
        assert_eq!(ended, Ended::Exited(0), "{to}");
    }
    let loopback = (subject.programs.reach)("127.0.0.1".parse().unwrap(), 9);
    assert_ne!(subject.run(&*sandbox, loopback).await, Ended::Exited(0));
    sandbox.end().await.unwrap();
    assert!(doorway.settle().await.unwrap().is_empty(), "the loopback is an attempt");
}

/// Hands the list of all properties to a macro that makes tests of it.
macro_rules! every_property {
    ($conforms:ident) => {
        $conforms! {
            commands_end
            files_travel
            base_is_pristine
            manifest_is_the_difference
            programs_are_reported
            stillness_is_needed
            forks_are_isolated
            restore_takes_paths
            the_end_is_final
            started_commands_end
            bases_are_made_once
            what_is_tried_arrives
        }
    };
}

mod local {
    use super::*;

    pub const SETUP: &str = "mkdir -p /app/sub\necho old > /app/kept\necho old > /app/doomed\n\
                         echo old > /app/sub/deep\nchmod 644 /app/kept\n";

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    pub fn programs() -> Programs {
        Programs {
            exit: |code| words(&["sh", "-c", &format!("exit {code}")]),
            sleep: |seconds| words(&["sleep", &seconds.to_string()]),
            append: |path, line| words(&["sh", "-c", &format!("echo {line} >> {path}")]),
            reach: |to, port| {
                let script = format!("exec 3<>/dev/tcp/{to}/{port} && cat <&3");
                words(&["bash", "-c", &script])
            },
        }
    }

    macro_rules! conforms {
        ($($property:ident)*) => {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $property() {
                let stage = stage::Stage::new();
                let (setup, programs) = (SETUP, programs());
                super::$property(&Subject { sandboxes: &stage.sandboxes, setup, programs }).await;
            }
        )*};
    }

    every_property!(conforms);

    #[tokio::test]
    async fn a_failed_setup_says_why() {
        let stage = stage::Stage::new();
        let fault = stage.sandboxes.materialise(&spec("echo cannot-go-on >&2; exit 3")).await;
        let Err(SandboxFault::Setup(text)) = fault else { panic!("{fault:?}") };
        assert!(text.contains("cannot-go-on") && text.contains('3'), "{text}");
    }
}

mod docker {
    use adapters::sandboxes::docker::{DockerSandboxes, EdgePlacement};

    use super::{local::*, *};

    macro_rules! conforms {
        ($($property:ident)*) => {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $property() {
                let (sandboxes, setup, programs) = (stage::docker(), SETUP, programs());
                super::$property(&Subject { sandboxes: &sandboxes, setup, programs }).await;
            }
        )*};
    }

    every_property!(conforms);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_tried_arrives_at_an_edge_beside() {
        let (address, program) = (stage::docker_address(), stage::supervisor());
        let sandboxes = DockerSandboxes::with_edge(&address, &program, EdgePlacement::Beside);
        let (setup, programs) = (SETUP, programs());
        super::what_is_tried_arrives(&Subject { sandboxes: &sandboxes, setup, programs }).await;
    }

    #[tokio::test]
    async fn a_failed_setup_says_why() {
        let fault = stage::docker().materialise(&spec("echo cannot-go-on >&2; exit 3")).await;
        let Err(SandboxFault::Setup(text)) = fault else { panic!("{fault:?}") };
        assert!(text.contains("cannot-go-on") && text.contains('3'), "{text}");
    }
}

mod simulated {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use adapters::{
        clock::VirtualClock,
        sandboxes::simulated::{FaultPlan, SimulatedSandboxes},
    };
    use engine::ports::clock::Clock;

    use super::*;

    const SETUP: &str = "write /app/kept old\nwrite /app/doomed old\nwrite /app/sub/deep old\n";

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn programs() -> Programs {
        Programs {
            exit: |code| words(&["exit", &code.to_string()]),
            sleep: |seconds| words(&["sleep", &seconds.to_string()]),
            append: |path, line| words(&["append", path, line]),
            reach: |to, port| words(&["reach", &to.to_string(), &port.to_string()]),
        }
    }

    macro_rules! conforms {
        ($($property:ident)*) => {$(
            #[tokio::test]
            async fn $property() {
                let clock = Arc::new(VirtualClock::default());
                let sandboxes = SimulatedSandboxes::new(clock.clone(), FaultPlan::default());
                let is_done = AtomicBool::new(false);
                let subject = Subject { sandboxes: &sandboxes, setup: SETUP, programs: programs() };
                let all = async {
                    super::$property(&subject).await;
                    is_done.store(true, Ordering::Relaxed);
                };
                clock.drive(Box::pin(all)).await;
                assert!(is_done.into_inner());
            }
        )*};
    }

    every_property!(conforms);
}
