//! The wire at a sandbox's edge: a hostile program tries every way out, and what is allowed passes and is counted.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{IpAddr, TcpListener, UdpSocket},
    os::linux::net::SocketAddrExt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use adapters::wire::Egress;
use domain::{
    evidence::{NetAttempt, NetOutcome, NetTransport, NetWay},
    ids::Turn,
    release::{AllowedHost, Destination, Policy},
};
use engine::ports::{
    sandbox::{Sandbox, SandboxFault},
    wire::{Wire, Wires},
};

use super::{
    stage::{Stage, host_address, limits, run, sh, texts},
    ways_out::{PRELUDE, Seen, WAYS, Way},
};

/// Servers on the host: one that the policy allows, one that nobody may reach.
struct World {
    allowed: u16,
    forbidden: u16,
    /// Contacts of the forbidden one.
    contacts: Arc<AtomicU32>,
    /// Another address of this host than the loopback's.
    host: IpAddr,
}

const FORBIDDEN: &str = "FORBIDDEN";

impl World {
    fn new() -> Self {
        let allowed = TcpListener::bind("0.0.0.0:0").unwrap();
        let forbidden = TcpListener::bind("0.0.0.0:0").unwrap();
        let (allowed_port, port) =
            (allowed.local_addr().unwrap().port(), forbidden.local_addr().unwrap().port());
        std::thread::spawn(move || {
            for stream in allowed.incoming().flatten() {
                std::thread::spawn(move || answer(stream));
            }
        });
        let contacts = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&contacts);
        std::thread::spawn(move || {
            for mut stream in forbidden.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.write_all(FORBIDDEN.as_bytes());
            }
        });
        let count = Arc::clone(&contacts);
        let datagrams = UdpSocket::bind(("0.0.0.0", port)).unwrap();
        std::thread::spawn(move || {
            while datagrams.recv_from(&mut [0; 99]).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let count = Arc::clone(&contacts);
        let name = format!("personacodebench-{port}");
        let name = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
        let own = std::os::unix::net::UnixListener::bind_addr(&name).unwrap();
        std::thread::spawn(move || {
            for stream in own.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        Self { allowed: allowed_port, forbidden: port, contacts, host: host_address() }
    }

    /// The allowed server by its addresses, and names below a suffix.
    fn policy(&self) -> Policy {
        let place = |host: &str, ports: &[u16]| Destination {
            host: AllowedHost::parse(host).unwrap(),
            ports: ports.to_vec(),
        };
        Policy::Listed(vec![
            place("127.0.0.1", &[self.allowed]),
            place(&self.host.to_string(), &[self.allowed]),
            place("listed.example.org", &[]),
        ])
    }

    fn fill(&self, text: &str) -> String {
        let text = text.replace("{A}", &self.allowed.to_string());
        let text = text.replace("{B}", &self.forbidden.to_string());
        text.replace("{HOST}", &self.host.to_string())
    }
}

/// A server that answers one request: with its length, a redirection, or late.
fn answer(mut stream: std::net::TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(3)));
    let (mut got, mut piece) = (Vec::new(), [0; 4096]);
    while !got.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(length) if length > 0 => got.extend_from_slice(&piece[..length]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&got).into_owned();
    let path = text.split(' ').nth(1).unwrap_or_default();
    if path == "/slow" {
        std::thread::sleep(Duration::from_millis(200));
    }
    let _ = match path {
        "/redirect" => stream.write_all(
            b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
        ),
        _ => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nallowed"),
    };
}

fn transport(attempt: &NetAttempt) -> String {
    match attempt.transport {
        NetTransport::Tcp => "tcp".to_owned(),
        NetTransport::Udp => "udp".to_owned(),
        NetTransport::Icmp => "icmp".to_owned(),
        NetTransport::Other(number) => number.to_string(),
    }
}

fn is_seen(world: &World, way: &Way, attempts: &[NetAttempt]) -> bool {
    let at = |attempt: &NetAttempt, host: &str, port: &str| {
        attempt.host == world.fill(host) && attempt.port.to_string() == world.fill(port)
    };
    let mut refused = attempts.iter().filter(|attempt| attempt.outcome == NetOutcome::Refused);
    match way.seen {
        Seen::Attempt(host, port, by) => {
            refused.any(|attempt| at(attempt, host, port) && transport(attempt) == by)
        }
        Seen::Sni(host, port, name) => {
            refused.any(|attempt| at(attempt, host, port) && attempt.sni.as_deref() == Some(name))
        }
        Seen::Request(host, port, method) => {
            let is_second = way.name.starts_with("a second request");
            let mut all = attempts.iter().filter(|attempt| {
                // The first of two requests is allowed; the refused one is looked for below.
                is_second || attempt.outcome == NetOutcome::Refused
            });
            let second = |attempt: &NetAttempt| {
                attempt.port == world.forbidden && attempt.outcome == NetOutcome::Refused
            };
            all.any(|attempt| at(attempt, host, port) && attempt.method.as_deref() == Some(method))
                && (!is_second || attempts.iter().any(second))
        }
        Seen::Nothing(_) => attempts.is_empty(),
    }
}

/// Every way is refused and seen.
async fn no_way_leads_out(sandbox: &dyn Sandbox) {
    let world = World::new();
    let wire = Egress.open(sandbox, &[world.policy()], Vec::new()).await.unwrap();
    let mut broken = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        let code = format!("{PRELUDE}\n{}", world.fill(way.code));
        let began = Instant::now();
        let finished = run(sandbox, &["python3", "-c", &code]).await;
        let took = began.elapsed();
        let (stdout, stderr) = texts(&finished);
        let attempts = wire.take(Turn(number as u32 + 1)).await.unwrap();
        assert!(!attempts.overflow, "{}", way.name);
        assert!(attempts.list.iter().all(|attempt| attempt.turn.0 == number as u32 + 1));
        let is_ours = stderr.contains("SyntaxError") || stderr.contains("NameError");
        assert!(!is_ours, "{}: {stderr}", way.name);
        if stdout.contains(FORBIDDEN) || !is_seen(&world, way, &attempts.list) {
            let list: Vec<String> = attempts.list.iter().map(|a| format!("{a:?}")).collect();
            let expected = match way.seen {
                Seen::Nothing(why) => format!("nothing was to be seen, because {why}"),
                Seen::Attempt(host, port, what)
                | Seen::Sni(host, port, what)
                | Seen::Request(host, port, what) => format!("expected {host} {port} {what}"),
            };
            let list = list.join("\n  ");
            broken.push(format!("{}: {expected}\n{stdout}{stderr}\n  {list}", way.name));
        }
        if took > Duration::from_secs(5) {
            broken.push(format!("{}: it stalls for {took:?}", way.name));
        }
    }
    assert_eq!(world.contacts.load(Ordering::SeqCst), 0, "the forbidden server was reached");
    assert!(broken.is_empty(), "{} ways:\n{}", broken.len(), broken.join("\n"));
    wire.close().await;
}

/// What is allowed passes, by the proxy and without it, and its bytes are counted.
async fn what_is_allowed_passes(sandbox: &dyn Sandbox) {
    let world = World::new();
    let wire = Egress.open(sandbox, &[world.policy()], Vec::new()).await.unwrap();
    let variables: Vec<String> =
        wire.env().iter().map(|(name, value)| format!("export {name}={value}; ")).collect();
    let variables = variables.concat();
    let check = async |script: &str, way: NetWay, method: &str| {
        let script = world.fill(&format!("{variables}{script}"));
        assert_eq!(sh(sandbox, &script).await, "allowed", "{script}");
        sandbox.freeze().await.unwrap();
        let attempts = wire.take(Turn(1)).await.unwrap();
        sandbox.thaw().await.unwrap();
        let [attempt] = attempts.list.as_slice() else { panic!("{script}: {attempts:?}") };
        assert_eq!(attempt.outcome, NetOutcome::Succeeded, "{attempt:?}");
        assert_eq!((attempt.way, attempt.port), (way, world.allowed), "{attempt:?}");
        assert_eq!(attempt.method.as_deref(), Some(method), "{attempt:?}");
        assert_eq!(attempt.path.as_deref(), Some("/x?y"), "{attempt:?}");
        assert!(attempt.sent_bytes > 30 && attempt.received_bytes > 60, "{attempt:?}");
        assert!(attempt.rule.starts_with("allowed: "), "{attempt:?}");
        assert!((0..=sandbox.now_ms()).contains(&attempt.at_ms), "{attempt:?}");
    };
    let url = "http://{HOST}:{A}/x?y";
    check(&format!("curl -sS {url}"), NetWay::Proxy, "GET").await;
    check(&format!("curl -sS -d some=data {url}"), NetWay::Proxy, "POST").await;
    check(&format!("curl -sS -p {url}"), NetWay::Proxy, "GET").await;
    check(&format!("curl -sS --noproxy '*' {url}"), NetWay::Direct, "GET").await;
    let chunked = "curl -sS -H 'Transfer-Encoding: chunked' -d some=data";
    check(&format!("{chunked} --noproxy '*' {url}"), NetWay::Direct, "POST").await;
    // A name that is allowed has an address at once; that the world does not know it is no refusal.
    let name =
        "python3 -c \"import socket; print(socket.gethostbyname('listed.example.org'), end='')\"";
    assert!(sh(sandbox, name).await.starts_with("198.18."));
    assert_eq!(wire.take(Turn(2)).await.unwrap().list, []);
    sh(sandbox, "curl -sS -m 9 --noproxy '*' http://listed.example.org/ || true").await;
    let attempts = wire.take(Turn(3)).await.unwrap().list;
    let [attempt] = attempts.as_slice() else { panic!("{attempts:?}") };
    assert_eq!((&*attempt.host, attempt.outcome), ("listed.example.org", NetOutcome::Failed));
    wire.close().await;
}

/// A stricter policy cuts what goes on and refuses what comes; a wire that is blocked stays so.
async fn policies_change(sandbox: &dyn Sandbox) {
    let world = World::new();
    let policies = [Policy::Nothing, world.policy()];
    let wire = Egress.open(sandbox, &policies, Vec::new()).await.unwrap();
    let ask =
        world.fill("curl -fsS -m 5 --noproxy '*' http://{HOST}:{A}/ 2>/dev/null || echo refused");
    let outcomes = async |wire: &dyn Wire| -> BTreeSet<String> {
        let taken = wire.take(Turn(1)).await.unwrap();
        taken.list.iter().map(|attempt| format!("{:?}", attempt.outcome)).collect()
    };
    assert_eq!(sh(sandbox, &ask).await, "refused\n");
    assert_eq!(outcomes(&*wire).await, BTreeSet::from(["Refused".to_owned()]));
    wire.govern(world.policy());
    assert_eq!(sh(sandbox, &ask).await, "allowed");
    assert_eq!(outcomes(&*wire).await, BTreeSet::from(["Succeeded".to_owned()]));
    let idle = world.fill(
        "import socket,sys; s = socket.create_connection(('{HOST}', {A})); s.sendall(b'GET'); print(s.recv(9))",
    );
    let command = super::stage::command(&["python3", "-c", &idle]);
    let started = sandbox.start(&command).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    wire.block();
    let ended = tokio::time::timeout(Duration::from_secs(20), started.ended).await;
    assert!(ended.is_ok(), "a connection outlives the block");
    wire.govern(Policy::Open);
    assert_eq!(sh(sandbox, &ask).await, "refused\n");
    let last = outcomes(&*wire).await;
    assert!(last.contains("Refused"), "{last:?}");
    wire.close().await;
}

/// Neither a flood of packets nor one of connections takes more of the harness than one session may.
async fn floods_are_bounded(sandbox: &dyn Sandbox) {
    let world = World::new();
    let wire = Egress.open(sandbox, &[world.policy()], Vec::new()).await.unwrap();
    let many = world.fill(
        "import socket\nheld = []\nfor _ in range(200):\n    s = socket.create_connection(('{HOST}', {A}), 9)\n    \
         s.sendall(b'GET / HTTP/1.1\\r\\n'); held.append(s)\nimport time; time.sleep(2)",
    );
    let packets = "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
                   ends = time.time() + 2\nwhile time.time() < ends:\n    \
                   try: s.sendto(b'x', ('192.0.2.1', 9))\n    except OSError: pass";
    for (script, rule) in [(many.as_str(), "connections are carried already"), (packets, "refused")]
    {
        sandbox.exec(&super::stage::command(&["python3", "-c", script])).await.unwrap();
        let taken = wire.take(Turn(1)).await.unwrap();
        let refused = taken.list.iter().filter(|attempt| attempt.rule.contains(rule)).count();
        assert!(refused > 0, "{rule}: {:?}", taken.list.first());
        assert!(taken.list.len() < 200, "{} attempts are told", taken.list.len());
    }
    wire.close().await;
}

async fn local() -> (Stage, Box<dyn Sandbox>) {
    let stage = Stage::new();
    let sandbox = stage.sandbox("true", &limits()).await;
    (stage, sandbox)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_way_leads_out_of_a_local_sandbox() {
    let (_stage, sandbox) = local().await;
    no_way_leads_out(&*sandbox).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_allowed_passes_from_a_local_sandbox() {
    let (_stage, sandbox) = local().await;
    what_is_allowed_passes(&*sandbox).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_of_a_local_sandbox_change() {
    let (_stage, sandbox) = local().await;
    policies_change(&*sandbox).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_a_local_sandbox_are_bounded() {
    let (_stage, sandbox) = local().await;
    floods_are_bounded(&*sandbox).await;
}

mod docker {
    use adapters::sandboxes::docker::{DockerSandboxes, EdgePlacement};
    use engine::ports::sandbox::{Recording, Sandboxes};

    use super::*;
    use crate::{
        docker::{containers, labels},
        stage::{base, docker_address, supervisor},
    };

    /// Only a process of root beside the engine may enter.
    const ENTERED: EdgePlacement = EdgePlacement::Entered;
    const BESIDE: EdgePlacement = EdgePlacement::Beside;

    fn sandboxes(edge: EdgePlacement) -> DockerSandboxes {
        DockerSandboxes::with_edge(&docker_address(), &supervisor(), edge)
    }

    /// Processes that are recorded are closed in by more than those that are not.
    async fn sandbox(edge: EdgePlacement, record: Recording) -> Box<dyn Sandbox> {
        let sandboxes = sandboxes(edge);
        let base = base(&sandboxes, "true").await;
        sandboxes.provision(&base, &limits(), record).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_way_leads_out_of_a_container() {
        no_way_leads_out(&*sandbox(ENTERED, Recording::Processes).await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_allowed_passes_from_a_container() {
        what_is_allowed_passes(&*sandbox(ENTERED, Recording::Processes).await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn policies_of_a_container_change() {
        policies_change(&*sandbox(ENTERED, Recording::Nothing).await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_way_leads_out_past_an_edge_beside() {
        no_way_leads_out(&*sandbox(BESIDE, Recording::Processes).await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_allowed_passes_an_edge_beside() {
        what_is_allowed_passes(&*sandbox(BESIDE, Recording::Processes).await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn policies_at_an_edge_beside_change() {
        policies_change(&*sandbox(BESIDE, Recording::Nothing).await).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn floods_of_an_edge_beside_are_bounded() {
        floods_are_bounded(&*sandbox(BESIDE, Recording::Nothing).await).await;
    }

    /// It bears the session's labels, goes with the wire, and a wire whose keeper is gone says so.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_edge_beside_goes_with_its_wire() {
        let run = "edge";
        let sandboxes = sandboxes(BESIDE).labelled(labels(run));
        let made = base(&sandboxes, "true").await;
        let before = containers(run).await;
        let sandbox = sandboxes.provision(&made, &limits(), Recording::Nothing).await.unwrap();
        let main = containers(run).await;
        let open = async || Egress.open(&*sandbox, &[Policy::Nothing], Vec::new()).await.unwrap();
        let wire = open().await;
        assert_eq!(sandboxes.edge(), Some(BESIDE));
        let with_edge = containers(run).await;
        let is_new = |id: &&String| !main.contains(id);
        assert_eq!(with_edge.iter().filter(is_new).count(), 1, "{with_edge:?}");
        wire.close().await;
        let until = async |count: usize| {
            for _ in 0..100 {
                if containers(run).await.len() == count {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            panic!("{:?} are left, not {count}", containers(run).await);
        };
        until(main.len()).await;
        let wire = open().await;
        let with_edge = containers(run).await;
        let keeper = with_edge.iter().find(is_new).unwrap();
        let kill = bollard::query_parameters::KillContainerOptions { signal: "KILL".to_owned() };
        crate::docker::engine().await.kill_container(keeper, Some(kill)).await.unwrap();
        let taken = wire.take(Turn(1)).await;
        assert!(matches!(taken, Err(SandboxFault::Lost(_))), "{taken:?}");
        drop((wire, sandbox));
        until(before.len()).await;
    }
}
