//! One connection to a host: what it says first is read, held against the policy, and then carried ([`carry`]).

use std::{io, time::Duration};

use domain::release::Ruling;
use engine::ports::sandbox::Duplex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split},
    net::TcpStream,
    sync::oneshot,
    time::timeout,
};

use super::{
    book::{Line, OpenLine, Undecided},
    dial::{Undialled, dial},
    hello::{Hello, server_name},
    porter::Desk,
    request::{Authority, BodyEnd, HEAD_MAX, Head, Read, Target, may_begin},
    tunnel::{both_ways, one_way, put},
};

/// A beginning that is not whole by then is none.
const FIRST_WORDS_TIMEOUT: Duration = Duration::from_secs(10);
/// What a refused program says at once is read for the account.
const REFUSED_TIMEOUT: Duration = Duration::from_millis(250);
/// After a second request on a connection for one, its first answer has so long to end.
const LAST_WORDS: Duration = Duration::from_millis(500);
const PIECE: usize = 16 << 10;

/// Where a connection is to go: a host as the program named it, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meant {
    pub(super) host: String,
    pub(super) port: u16,
}

/// A program's end of a connection, with what was read of it already.
pub(super) struct Client {
    pub(super) stream: Box<dyn Duplex>,
    pub(super) buffer: Vec<u8>,
}

/// What a connection begins with.
#[derive(Debug)]
enum First {
    Tls(Option<String>),
    Request(Head),
    /// No request, though it looks like one, and why.
    BadRequest(&'static str),
    /// Neither: carried as it is.
    Other,
    /// It began and did not go on.
    Unfinished,
}

impl Client {
    pub(super) fn new(stream: Box<dyn Duplex>) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Reads more; false at the end.
    pub(super) async fn read_more(&mut self) -> bool {
        let mut piece = vec![0_u8; PIECE];
        match self.stream.read(&mut piece).await {
            Ok(length) => {
                self.buffer.extend_from_slice(&piece[..length]);
                length > 0
            }
            Err(_) => false,
        }
    }

    /// Answers a request itself, and ends the connection.
    pub(super) async fn refuse(mut self, status: &str, why: &str) {
        let text = format!("{why}\n");
        let length = text.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{text}"
        );
        // Whoever does not wait for the answer does not get it.
        if self.stream.write_all(answer.as_bytes()).await.is_ok() {
            let _ = self.stream.shutdown().await;
            // Closed with bytes unread, the connection would be reset before the answer is read.
            let _ = timeout(LAST_WORDS, async {
                while self.read_more().await && self.buffer.len() < HEAD_MAX {}
            })
            .await;
        }
    }
}

/// Carries a connection that the policy allows so far.
pub(super) async fn carry(
    desk: &Desk,
    mut client: Client,
    meant: Meant,
    line: OpenLine,
    undecided: Undecided,
) {
    let outer = match dial(&desk.policy(), &meant.host, meant.port).await {
        Ok(outer) => outer,
        Err(undialled) => {
            let why = tell(&line, &undialled);
            // What it wanted belongs to the account.
            let said = timeout(REFUSED_TIMEOUT, first(&mut client, None)).await;
            account(&line, said.as_ref().unwrap_or(&First::Other));
            drop((line, undecided));
            if let Ok(First::Request(_)) = said {
                client.refuse("502 Bad Gateway", &why).await;
            }
            return;
        }
    };
    on_the_way(desk, client, outer, meant, line, undecided).await;
}

/// A connection that stands at both ends and has said nothing that was carried.
pub(super) async fn on_the_way(
    desk: &Desk,
    mut client: Client,
    outer: TcpStream,
    meant: Meant,
    line: OpenLine,
    undecided: Undecided,
) {
    let patience = timeout(FIRST_WORDS_TIMEOUT, first(&mut client, Some(&outer))).await;
    let said = patience.unwrap_or(First::Unfinished);
    account(&line, &said);
    if let Some(why) = objection(desk, &meant, &said) {
        line.refuse(why.clone());
        drop((line, undecided));
        if matches!(said, First::Request(_) | First::BadRequest(_)) {
            client.refuse("403 Forbidden", &why).await;
        }
        return;
    }
    drop(undecided);
    let carried = async {
        match said {
            First::Request(head) if !matches!(head.target, Target::Connect(_)) => {
                forward(desk, client, outer, &head, &meant, &line).await;
            }
            _ => through(client, outer, &line).await,
        }
    };
    tokio::select! {
        () = carried => {}
        () = desk.until_refused(&meant) => line.refuse("refused: cut when the policy changed"),
    }
}

/// A connection that the policy refuses: what it says at once is read for the account, then it ends.
pub(super) async fn turn_away(mut client: Client, line: OpenLine, undecided: Undecided, why: &str) {
    let said = timeout(REFUSED_TIMEOUT, first(&mut client, None)).await;
    account(&line, said.as_ref().unwrap_or(&First::Other));
    drop((line, undecided));
    if let Ok(First::Request(_)) = said {
        client.refuse("403 Forbidden", why).await;
    }
}

/// Says of a line why nothing was reached; in words for the program.
pub(super) fn tell(line: &Line, undialled: &Undialled) -> String {
    match undialled {
        Undialled::Refused(why) => {
            line.refuse(why.clone());
            why.clone()
        }
        Undialled::Failed(why) => {
            line.fail(why);
            why.clone()
        }
    }
}

/// Reads what a connection begins with. Where the host speaks first, that is waited for too.
async fn first(client: &mut Client, outer: Option<&TcpStream>) -> First {
    loop {
        match client.buffer.first() {
            None => {}
            Some(0x16) => match server_name(&client.buffer) {
                Hello::More => {}
                Hello::Named(name) => return First::Tls(name),
                Hello::NotTls => return First::Other,
            },
            Some(_) => match (is_request(&client.buffer), Head::parse(&client.buffer)) {
                (Some(false), _) => return First::Other,
                (_, Read::Head(head)) => {
                    client.buffer.drain(..head.length);
                    return First::Request(head);
                }
                (Some(true), Read::Bad(why)) => return First::BadRequest(why),
                (_, Read::More) | (None, Read::Bad(_)) => {}
            },
        }
        let is_silent = client.buffer.is_empty();
        let has_more = match outer.filter(|_| is_silent) {
            None => client.read_more().await,
            Some(outer) => tokio::select! {
                biased;
                has_more = client.read_more() => has_more,
                _ = outer.readable() => return First::Other,
            },
        };
        if !has_more {
            return if is_silent { First::Other } else { First::Unfinished };
        }
    }
}

/// Whether the first line is that of a request; none if it cannot be told yet.
fn is_request(bytes: &[u8]) -> Option<bool> {
    if !may_begin(bytes) {
        return Some(false);
    }
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let line = &bytes[..end.unwrap_or(bytes.len())];
    let names_http = line.windows(6).any(|word| word == b" HTTP/");
    match end {
        Some(_) => Some(names_http),
        None if bytes.len() > HEAD_MAX => Some(false),
        None => None,
    }
}

fn account(line: &Line, said: &First) {
    match said {
        First::Tls(Some(name)) => line.name_server(name),
        First::Request(head) => line.request(&head.method, head.path()),
        First::Tls(None) | First::BadRequest(_) | First::Other | First::Unfinished => {}
    }
}

/// Why what is said may not go where the connection goes: it names another host, which is not allowed.
fn objection(desk: &Desk, meant: &Meant, said: &First) -> Option<String> {
    let policy = desk.policy();
    let refused = |what: &str, host: &str, port: u16| {
        let is_same = host.eq_ignore_ascii_case(&meant.host) && port == meant.port;
        let is_refused = !is_same && policy.ruling(host, port) == Ruling::Refused;
        is_refused.then(|| format!("refused: {what} names {host}, which is not on the list"))
    };
    match said {
        First::Tls(Some(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            refused("the TLS client", name, meant.port)
        }
        First::Tls(None) | First::Other => None,
        First::BadRequest(why) => Some(format!("refused: {why}")),
        First::Unfinished => {
            Some("refused: it began a request or TLS and did not go on".to_owned())
        }
        First::Request(head) => {
            let named = |what, authority: &Authority| {
                refused(what, &authority.host, authority.port.unwrap_or(meant.port))
            };
            let target = match &head.target {
                Target::Absolute(authority, _) | Target::Connect(authority) => {
                    named("the request's target", authority)
                }
                Target::Path(_) => None,
            };
            target.or_else(|| named("the request's `Host` header", head.host.as_ref()?))
        }
    }
}

/// Everything as it is, both ways.
async fn through(client: Client, outer: TcpStream, line: &Line) {
    let (inner_read, inner_write) = split(client.stream);
    let (outer_read, mut outer_write) = outer.into_split();
    if put(&mut outer_write, &client.buffer, &line.sent).await.is_ok() {
        both_ways((inner_read, inner_write), (outer_read, outer_write), line).await;
    }
}

/// One request and its answer. What a program sends after it on the same connection is looked at and goes nowhere.
pub(super) async fn forward(
    desk: &Desk,
    client: Client,
    outer: TcpStream,
    head: &Head,
    meant: &Meant,
    line: &Line,
) {
    let Client { stream, buffer } = client;
    let (inner_read, inner_write) = split(stream);
    let (outer_read, outer_write) = outer.into_split();
    let (switched, is_switched) = oneshot::channel();
    let answer = answer(outer_read, inner_write, switched, line);
    let asking = Asking { desk, meant, line, inner: inner_read };
    let ask = async {
        match asking.ask(head, buffer, outer_write, is_switched).await {
            Ok(After::SecondRequest) => tokio::time::sleep(LAST_WORDS).await,
            // A broken direction: the other one finds out by itself.
            Ok(After::Nothing) | Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = answer => {}
        () = ask => {}
    }
}

/// What came after a request on its connection.
enum After {
    Nothing,
    SecondRequest,
}

/// A program's side of one request.
struct Asking<'a> {
    desk: &'a Desk,
    meant: &'a Meant,
    line: &'a Line,
    inner: ReadHalf<Box<dyn Duplex>>,
}

impl Asking<'_> {
    async fn ask(
        mut self,
        head: &Head,
        mut buffer: Vec<u8>,
        mut outer: tokio::net::tcp::OwnedWriteHalf,
        is_switched: oneshot::Receiver<bool>,
    ) -> io::Result<After> {
        put(&mut outer, &head.forwarded(), &self.line.sent).await?;
        let mut end = BodyEnd::new(head.body);
        while !end.is_over() {
            if buffer.is_empty() && !self.read_more(&mut buffer).await? {
                outer.shutdown().await?;
                return Ok(After::Nothing);
            }
            let taken = end.take(&buffer).ok_or(io::ErrorKind::InvalidData)?;
            put(&mut outer, &buffer[..taken], &self.line.sent).await?;
            buffer.drain(..taken);
        }
        if head.is_upgrade && is_switched.await == Ok(true) {
            put(&mut outer, &buffer, &self.line.sent).await?;
            one_way(self.inner, outer, &self.line.sent).await?;
            return Ok(After::Nothing);
        }
        self.look_at_second(buffer).await
    }

    async fn read_more(&mut self, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let mut piece = vec![0_u8; PIECE];
        let length = self.inner.read(&mut piece).await?;
        buffer.extend_from_slice(&piece[..length]);
        Ok(length > 0)
    }

    /// A second request is an attempt of its own; an allowed one is left to be made again on a connection of its own.
    async fn look_at_second(&mut self, mut buffer: Vec<u8>) -> io::Result<After> {
        loop {
            match Head::parse(&buffer) {
                Read::Head(head) => {
                    let second = Second::of(&head, self.meant);
                    if let Some(why) = objection(self.desk, self.meant, &First::Request(head)) {
                        self.desk.refused_second(&second, why);
                    }
                    return Ok(After::SecondRequest);
                }
                Read::Bad(_) if !buffer.is_empty() => return Ok(After::SecondRequest),
                Read::More | Read::Bad(_) => {
                    if !self.read_more(&mut buffer).await? {
                        // The program waits for the answer.
                        return Ok(After::Nothing);
                    }
                }
            }
        }
    }
}

/// What a refused second request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Second {
    pub(super) meant: Meant,
    pub(super) method: String,
    pub(super) path: Option<String>,
}

impl Second {
    /// On a connection that was meant otherwise.
    fn of(head: &Head, connected: &Meant) -> Self {
        let named = match &head.target {
            Target::Absolute(authority, _) | Target::Connect(authority) => Some(authority),
            Target::Path(_) => head.host.as_ref(),
        };
        Self {
            meant: Meant {
                host: named.map_or_else(|| connected.host.clone(), |named| named.host.clone()),
                port: named.and_then(|named| named.port).unwrap_or(connected.port),
            },
            method: head.method.clone(),
            path: head.path().map(str::to_owned),
        }
    }
}

/// The host's answer; says once whether it goes on in another protocol.
async fn answer(
    mut outer: tokio::net::tcp::OwnedReadHalf,
    mut inner: WriteHalf<Box<dyn Duplex>>,
    switched: oneshot::Sender<bool>,
    line: &Line,
) {
    const SWITCHING: &[u8] = b"HTTP/1.1 101";
    let mut start = Vec::new();
    let mut piece = vec![0_u8; PIECE];
    while start.len() < SWITCHING.len() {
        match outer.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(length) => start.extend_from_slice(&piece[..length]),
        }
    }
    // A request that does not wait for it has gone on.
    let _ = switched.send(start.starts_with(SWITCHING));
    if put(&mut inner, &start, &line.received).await.is_ok() {
        let _ = one_way(outer, inner, &line.received).await;
    }
}
