//! What the gateway costs: time until the first byte, and processor and memory for many streams at once. It runs on a thread
//! of its own, so that neither the provider nor the clients of the measurement are counted.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Duration, Instant},
};

use adapters::{
    models::{
        http::{BaseAddress, HttpProvider},
        patience::Patience,
        provider::Provider,
        secret::Secret,
    },
    wire::gateway::{Bounds, Gateway, HostedPolicy, SessionTerms},
};
use domain::{evidence::WireFormat, ids::Hash, usage::PriceTable};
use nix::time::{ClockId, clock_gettime};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{Figure, median_ms, resident_mb};

const TOKEN: &str = "token";
const LOOKS: usize = 300;
const STREAMS: usize = 64;
/// Each event, and how often one comes: a megabyte a second.
const EVENT_BYTES: usize = 10_000;
const EVENT_EVERY: Duration = Duration::from_millis(10);
const EVENTS: usize = 800;

pub(super) fn measure() -> Vec<Figure> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let first = runtime.block_on(first_byte());
    let before_mb = resident_mb();
    let (cores, most_mb) = runtime.block_on(streams());
    vec![
        Figure {
            name: "first byte after the provider's (median, 99 %)",
            measured: first,
            promised: "< 3 ms",
        },
        Figure {
            name: "64 streams of 1 MB/s through the gateway",
            measured: format!("{cores:.2} cores, {:.0} MiB more", most_mb - before_mb),
            promised: "< 0.5 cores, < 100 MiB",
        },
    ]
}

/// A gateway on a thread of its own; dropped, it ends.
struct Served {
    address: std::net::SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<Duration>>,
}

impl Served {
    fn start(upstream: std::net::SocketAddr) -> Self {
        let (tell, told) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("it is awaited");
                let session = gateway(upstream);
                loop {
                    tokio::select! {
                        accepted = listener.accept() => {
                            let (stream, _) = accepted.expect("a connection");
                            stream.set_nodelay(true).expect("a socket");
                            let session = session.clone();
                            tokio::spawn(async move { session.serve(stream).await });
                        }
                        () = tokio::time::sleep(Duration::from_millis(50)) => {
                            if over.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                    }
                }
                let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock");
                Duration::from(used)
            })
        });
        let address = told.recv().expect("an address");
        Self { address, is_over, thread: Some(thread) }
    }

    /// Ends it; the processor time that it took.
    fn end(mut self) -> Duration {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("no panic")
    }
}

fn gateway(upstream: std::net::SocketAddr) -> Arc<adapters::wire::gateway::GatewaySession> {
    let base = BaseAddress::parse(&format!("http://{upstream}/v1")).expect("an address");
    let provider: Arc<dyn Provider> = Arc::new(HttpProvider::new(base, Some(Secret::new("key"))));
    let gateway = Arc::new(Gateway {
        providers: BTreeMap::from([(WireFormat::OpenAiChat, provider)]),
        patience: Patience::default(),
        bounds: Bounds::default(),
        prices: PriceTable::default(),
    });
    gateway.open(SessionTerms {
        token: Secret::new(TOKEN),
        model: None,
        hosted: HostedPolicy::Shut,
        clock: Arc::new(|| 0),
        keep: Some(Arc::new(|bytes: &[u8]| Ok(Hash::new(blake3::hash(bytes).to_hex().as_str())))),
        heard: Arc::new(|_| {}),
    })
}

/// A provider that answers each request with so many events; when it wrote the last first one is told.
async fn upstream(events: usize, bytes: usize, wrote: Arc<Mutex<Instant>>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).expect("a socket");
            tokio::spawn(answer(stream, events, bytes, wrote.clone()));
        }
    });
    address
}

async fn answer(mut stream: TcpStream, events: usize, bytes: usize, wrote: Arc<Mutex<Instant>>) {
    while read_until(&mut stream, b"}]}").await {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n";
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
        // A model thinks before its first word.
        tokio::time::sleep(Duration::from_millis(5)).await;
        let text = "x".repeat(bytes.saturating_sub(60));
        let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let mut ticks = tokio::time::interval(EVENT_EVERY);
        for nth in 0..events {
            let is_last = nth + 1 == events;
            let event = if is_last { "data: [DONE]\n\n" } else { event.as_str() };
            if nth > 0 {
                ticks.tick().await;
            } else {
                *wrote.lock().expect("no holder panics") = Instant::now();
            }
            let end = if is_last { "0\r\n\r\n" } else { "" };
            let chunk = format!("{:x}\r\n{event}\r\n{end}", event.len());
            if stream.write_all(chunk.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// Reads until these bytes have come; false if the connection ended before.
async fn read_until(stream: &mut TcpStream, wanted: &[u8]) -> bool {
    let mut seen = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return false,
            Ok(count) => seen.extend_from_slice(&buffer[..count]),
        }
        if seen.windows(wanted.len()).any(|window| window == wanted) {
            return true;
        }
        // What was wanted may lie across two pieces.
        let kept = seen.len().saturating_sub(wanted.len());
        seen.drain(..kept);
    }
}

async fn ask(address: std::net::SocketAddr, wanted: &[u8]) -> Instant {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let body = "{\"stream\":true,\"model\":\"m\",\"messages\":[{\"role\":\"user\"}]}";
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {TOKEN}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("it is read");
    assert!(read_until(&mut stream, wanted).await, "the answer comes");
    Instant::now()
}

async fn first_byte() -> String {
    let wrote = Arc::new(Mutex::new(Instant::now()));
    let served = Served::start(upstream(2, 100, wrote.clone()).await);
    let mut times_ms = Vec::new();
    for _ in 0..LOOKS {
        let came = ask(served.address, b"data:").await;
        let wrote = *wrote.lock().expect("no holder panics");
        times_ms.push(came.saturating_duration_since(wrote).as_secs_f64() * 1e3);
    }
    served.end();
    times_ms.sort_by(f64::total_cmp);
    let late = times_ms[times_ms.len() * 99 / 100];
    format!("{:.2} and {late:.2} ms", median_ms(times_ms))
}

/// Cores of the gateway, and the most memory of the process.
async fn streams() -> (f64, f64) {
    let wrote = Arc::new(Mutex::new(Instant::now()));
    let served = Served::start(upstream(EVENTS, EVENT_BYTES, wrote).await);
    let began = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..STREAMS {
        clients.spawn(ask(served.address, b"[DONE]"));
    }
    let mut most_mb = 0.0_f64;
    while !clients.is_empty() {
        most_mb = most_mb.max(resident_mb());
        let _ = tokio::time::timeout(Duration::from_millis(50), clients.join_next()).await;
    }
    most_mb = most_mb.max(resident_mb());
    let took = began.elapsed();
    (served.end().as_secs_f64() / took.as_secs_f64(), most_mb)
}
