//! The head of a plain HTTP/1 request: [`Head::parse`] reads it strictly, [`Head::forwarded`] writes what goes on.
//!
//! A head that two readers could understand differently is no head: then nothing is forwarded.

use std::net::{IpAddr, Ipv6Addr};

/// A longer head is none.
pub const HEAD_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 128;

/// Headers that concern one connection alone.
const HOP_BY_HOP: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "proxy-authorization", "te"];

/// What the first bytes of a connection, or of what follows a request, say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The beginning of a head; more is needed.
    More,
    /// A whole head.
    Head(Head),
    /// No head, or one that must not be forwarded, and why.
    Bad(&'static str),
}

/// A request without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The method as written.
    pub method: String,
    /// What it asks for.
    pub target: Target,
    /// The host that its `Host` header names.
    pub host: Option<Authority>,
    /// How its body ends.
    pub body: Body,
    /// Whether it asks for another protocol on this connection.
    pub is_upgrade: bool,
    /// Bytes that the head took.
    pub length: usize,
    version: u8,
    headers: Vec<(String, Vec<u8>)>,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path, of the host that the connection or the `Host` header names.
    Path(String),
    /// A path of a host, as a proxy is asked.
    Absolute(Authority, String),
    /// A connection to a host, as a proxy is asked.
    Connect(Authority),
}

/// A host, and a port if one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// A name in lower case, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
}

/// How the body of a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// After so many bytes.
    Length(u64),
    /// With its last chunk.
    Chunked,
}

impl Authority {
    /// Reads `host`, `host:port` or `[address]:port`; nothing else may stand beside them.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
                (address, port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let is_written = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
        if host.is_empty() || !host.chars().all(is_written) {
            return None;
        }
        let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let port = match port {
            Some(port) => Some(Some(port).filter(is_number)?.parse().ok()?),
            None => None,
        };
        // One dot at the end stands for the root; a host of nothing but dots is none.
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let is_host = !host.is_empty() && !host.ends_with('.');
        is_host.then_some(Self { host, port })
    }

    /// As it is written in a header.
    fn written(&self) -> String {
        let host = match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.clone(),
        };
        self.port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
    }
}

impl Head {
    /// Reads the head that bytes begin with.
    pub fn parse(bytes: &[u8]) -> Read {
        if !may_begin(bytes) {
            return Read::Bad("it is no request of HTTP/1");
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length <= HEAD_MAX => {
                match Self::of(&request, length) {
                    Ok(head) if head.is_short_enough() => Read::Head(head),
                    Ok(_) => Read::Bad("its head is too long"),
                    Err(why) => Read::Bad(why),
                }
            }
            Ok(httparse::Status::Partial) if bytes.len() <= HEAD_MAX => Read::More,
            Ok(_) => Read::Bad("its head is too long"),
            Err(_) => Read::Bad("it is no request of HTTP/1"),
        }
    }

    /// Whether what goes on can be read by the same bounds: it may name the host, and ends the connection.
    fn is_short_enough(&self) -> bool {
        self.kept().count() + 2 <= HEADERS_MAX && self.forwarded().len() <= HEAD_MAX
    }

    /// The headers that go on as they came.
    fn kept(&self) -> impl Iterator<Item = &(String, Vec<u8>)> {
        self.headers.iter().filter(|(name, _)| {
            let is_dropped = name == "host" || HOP_BY_HOP.contains(&name.as_str());
            !is_dropped && (self.is_upgrade || name != "upgrade")
        })
    }

    fn of(request: &httparse::Request<'_, '_>, length: usize) -> Result<Self, &'static str> {
        let no_request = "it is no request of HTTP/1";
        let method = request.method.ok_or(no_request)?.to_owned();
        let version = request.version.ok_or(no_request)?;
        let headers: Vec<(String, Vec<u8>)> = request
            .headers
            .iter()
            .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
            .collect();
        let all = |name: &str| {
            let name = name.to_owned();
            headers.iter().filter(move |header| header.0 == name).map(|header| &header.1)
        };
        let target = target(&method, request.path.ok_or(no_request)?)?;
        let host = match all("host").collect::<Vec<_>>().as_slice() {
            [] => None,
            [host] => {
                let host =
                    std::str::from_utf8(host).ok().and_then(|host| Authority::parse(host.trim()));
                Some(host.ok_or("its `Host` header names no host")?)
            }
            _ => return Err("it has several `Host` headers"),
        };
        let lengths: Vec<_> = all("content-length").collect();
        let encodings: Vec<_> = all("transfer-encoding").collect();
        let body = match (lengths.as_slice(), encodings.as_slice()) {
            ([], []) => Body::Length(0),
            ([length], []) => {
                let digits = length.iter().all(u8::is_ascii_digit) && !length.is_empty();
                let length = std::str::from_utf8(length).ok().filter(|_| digits);
                let length = length.and_then(|length| length.parse().ok());
                Body::Length(length.ok_or("its `Content-Length` is no number")?)
            }
            ([], [encoding]) if encoding.eq_ignore_ascii_case(b"chunked") && version == 1 => {
                Body::Chunked
            }
            _ => return Err("the end of its body can be understood in several ways"),
        };
        let is_upgrade = all("connection").any(|value| {
            let value = String::from_utf8_lossy(value).to_ascii_lowercase();
            value.split(',').any(|word| word.trim() == "upgrade")
        });
        Ok(Self { method, target, host, body, is_upgrade, length, version, headers })
    }

    /// The path that is asked for; none for a connection.
    pub fn path(&self) -> Option<&str> {
        match &self.target {
            Target::Path(path) | Target::Absolute(_, path) => Some(path),
            Target::Connect(_) => None,
        }
    }

    /// The head as it goes on to the host: for one request on its connection, headers for a proxy left out.
    pub fn forwarded(&self) -> Vec<u8> {
        let path = self.path().unwrap_or("/");
        let mut bytes = format!("{} {path} HTTP/1.{}\r\n", self.method, self.version).into_bytes();
        let host = match &self.target {
            Target::Absolute(authority, _) => Some(authority.written()),
            Target::Path(_) | Target::Connect(_) => self.host.as_ref().map(Authority::written),
        };
        let mut add = |name: &str, value: &[u8]| {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        };
        if let Some(host) = host {
            add("host", host.as_bytes());
        }
        for (name, value) in self.kept() {
            add(name, value);
        }
        add("connection", if self.is_upgrade { b"upgrade" } else { b"close" });
        bytes.extend_from_slice(b"\r\n");
        bytes
    }
}

/// Whether bytes can be the beginning of a request: a method in capital letters.
pub fn may_begin(bytes: &[u8]) -> bool {
    let word: Vec<&u8> = bytes.iter().take_while(|byte| **byte != b' ').take(20).collect();
    word.len() < 20
        && !bytes.is_empty()
        && word.iter().all(|byte| byte.is_ascii_uppercase())
        && bytes.first() != Some(&b' ')
}

fn target(method: &str, text: &str) -> Result<Target, &'static str> {
    let no_host = "its target names no host";
    if method == "CONNECT" {
        let authority = Authority::parse(text).filter(|authority| authority.port.is_some());
        return authority.map(Target::Connect).ok_or(no_host);
    }
    if text == "*" && method == "OPTIONS" || text.starts_with('/') {
        return Ok(Target::Path(text.to_owned()));
    }
    let (scheme, rest) = text.split_once("://").ok_or("its target is neither path nor address")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("ws") {
        return Err("its target is not of plain HTTP");
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let authority = Authority::parse(&rest[..end]).ok_or(no_host)?;
    let path = match &rest[end..] {
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    };
    Ok(Target::Absolute(authority, path))
}

/// Where the body of a request ends, while it goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyEnd(Part);

/// The part of a body that is expected next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// So many bytes; then the body's end, or the line end behind a chunk.
    Bytes {
        left: u64,
        is_chunk: bool,
    },
    /// A line: the size of a chunk, the empty line behind one, or one behind the last chunk.
    Line {
        kind: LineKind,
        text: Vec<u8>,
    },
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Size,
    BehindChunk,
    Trailer,
}

/// A longer line between chunks is none.
const LINE_MAX: usize = 4096;

impl BodyEnd {
    /// The end of a body that begins now.
    pub fn new(body: Body) -> Self {
        Self(match body {
            Body::Length(0) => Part::Over,
            Body::Length(left) => Part::Bytes { left, is_chunk: false },
            Body::Chunked => Part::Line { kind: LineKind::Size, text: Vec::new() },
        })
    }

    /// Whether the body is over.
    pub fn is_over(&self) -> bool {
        self.0 == Part::Over
    }

    /// How many of these bytes still belong to the body; none if they cannot be the body.
    pub fn take(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            match &mut self.0 {
                Part::Over => break,
                Part::Bytes { left, is_chunk } => {
                    let here = (*left).min((bytes.len() - taken) as u64);
                    taken += here as usize;
                    *left -= here;
                    if *left == 0 {
                        self.0 = match is_chunk {
                            true => Part::Line { kind: LineKind::BehindChunk, text: Vec::new() },
                            false => Part::Over,
                        };
                    }
                }
                Part::Line { kind, text } => {
                    let byte = bytes[taken];
                    taken += 1;
                    text.push(byte);
                    if text.len() > LINE_MAX {
                        return None;
                    }
                    if byte == b'\n' {
                        let next = after_line(*kind, text.strip_suffix(b"\r\n")?)?;
                        self.0 = next;
                    }
                }
            }
        }
        Some(taken)
    }
}

fn after_line(kind: LineKind, text: &[u8]) -> Option<Part> {
    let line = |kind| Part::Line { kind, text: Vec::new() };
    match kind {
        LineKind::BehindChunk => text.is_empty().then(|| line(LineKind::Size)),
        LineKind::Trailer if text.is_empty() => Some(Part::Over),
        LineKind::Trailer => Some(line(LineKind::Trailer)),
        LineKind::Size => {
            // What follows a semicolon is for the receiver.
            let size = text.split(|byte| *byte == b';').next()?;
            let is_number =
                (1..=15).contains(&size.len()) && size.iter().all(u8::is_ascii_hexdigit);
            let size = std::str::from_utf8(size).ok().filter(|_| is_number)?;
            Some(match u64::from_str_radix(size, 16).ok()? {
                0 => line(LineKind::Trailer),
                left => Part::Bytes { left, is_chunk: true },
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_within_the_bounds_of_what_came() {
        let check = |headers: usize, expect: bool| {
            let text = format!("GET / HTTP/1.1\r\n{}\r\n", "a:\n".repeat(headers));
            let read = Head::parse(text.as_bytes());
            assert_eq!(matches!(read, Read::Head(_)), expect, "{headers} headers: {read:?}");
            if let Read::Head(head) = read {
                let again = Head::parse(&head.forwarded());
                assert!(matches!(again, Read::Head(_)), "{again:?}");
            }
        };
        check(HEADERS_MAX - 2, true);
        check(HEADERS_MAX - 1, false);
        let long = |length| format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(length));
        assert!(matches!(Head::parse(long(HEAD_MAX - 60).as_bytes()), Read::Head(_)));
        assert!(matches!(Head::parse(long(HEAD_MAX - 20).as_bytes()), Read::Bad(_)));
    }

    #[test]
    fn heads_are_read_strictly() {
        let check = |text: &str, expect: Result<&str, &str>| {
            let told = match Head::parse(text.as_bytes()) {
                Read::Head(head) => {
                    let host = head.host.as_ref().map(Authority::written).unwrap_or_default();
                    Ok(format!("{:?} {host} {:?}", head.target, head.body))
                }
                Read::More => Err("more"),
                Read::Bad(why) => Err(why),
            };
            match (told, expect) {
                (Ok(told), Ok(expect)) => assert_eq!(told, expect, "{text}"),
                (Err(told), Err(expect)) => assert_eq!(told, expect, "{text}"),
                (told, expect) => panic!("{text}: {told:?}, not {expect:?}"),
            }
        };
        check("GET / HTTP/1.1\r\nHost: a.org\r\n\r\n", Ok("Path(\"/\") a.org Length(0)"));
        check("GET / HTTP/1.1\r\nHost: A.org.:81\r\n\r\n", Ok("Path(\"/\") a.org:81 Length(0)"));
        check("GET / HT", Err("more"));
        check("GET", Err("more"));
        let ambiguous = "the end of its body can be understood in several ways";
        let posts = [
            ("Content-Length: 3\r\nTransfer-Encoding: chunked", Err(ambiguous)),
            ("Content-Length: 3\r\nContent-Length: 4", Err(ambiguous)),
            ("Transfer-Encoding: identity, chunked", Err(ambiguous)),
            ("Content-Length: +3", Err("its `Content-Length` is no number")),
            ("Content-Length: 3", Ok("Path(\"/x\")  Length(3)")),
            ("Transfer-Encoding: chunked", Ok("Path(\"/x\")  Chunked")),
            ("Host: a\r\nHost: b", Err("it has several `Host` headers")),
            ("Host: a@b", Err("its `Host` header names no host")),
            ("Host: .", Err("its `Host` header names no host")),
            ("Host: a..", Err("its `Host` header names no host")),
        ];
        for (headers, expect) in posts {
            check(&format!("POST /x HTTP/1.1\r\n{headers}\r\n\r\n"), expect);
        }
        let absolute =
            "Absolute(Authority { host: \"a.org\", port: Some(8080) }, \"/?q\") b Length(0)";
        check("GET http://A.org:8080?q HTTP/1.1\r\nHost: b\r\n\r\n", Ok(absolute));
        let tunnel = "Connect(Authority { host: \"::1\", port: Some(443) })  Length(0)";
        check("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", Ok(tunnel));
        check("CONNECT a.org HTTP/1.1\r\n\r\n", Err("its target names no host"));
        check("CONNECT u@a.org:443 HTTP/1.1\r\n\r\n", Err("its target names no host"));
        check("GET https://a.org/ HTTP/1.1\r\n\r\n", Err("its target is not of plain HTTP"));
        check("get / HTTP/1.1\r\n\r\n", Err("it is no request of HTTP/1"));
        check("PRI * HTTP/2.0\r\n\r\n", Err("it is no request of HTTP/1"));
        check("SSH-2.0-x\r\n", Err("it is no request of HTTP/1"));
    }

    #[test]
    fn one_request_goes_on() {
        let check = |text: &str, expect: &str| {
            let Read::Head(head) = Head::parse(text.as_bytes()) else { panic!("{text}") };
            assert_eq!(String::from_utf8_lossy(&head.forwarded()), expect);
        };
        check(
            "GET http://a.org/x HTTP/1.1\r\nHost: b.org\r\nProxy-Authorization: s\r\nX: 1\r\nConnection: keep-alive\r\n\r\n",
            "GET /x HTTP/1.1\r\nhost: a.org\r\nx: 1\r\nconnection: close\r\n\r\n",
        );
        check(
            "GET /x HTTP/1.1\r\nHost: b.org\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            "GET /x HTTP/1.1\r\nhost: b.org\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        );
    }

    #[test]
    fn bodies_end_where_they_say() {
        let check = |body: Body, bytes: &str, expect: Option<usize>| {
            for piece in [1, 3, 1000] {
                let mut end = BodyEnd::new(body);
                let mut taken = Some(0);
                for part in bytes.as_bytes().chunks(piece) {
                    taken = taken.and_then(|taken| Some(taken + end.take(part)?));
                }
                assert_eq!(taken, expect, "{bytes:?} by {piece}");
                assert_eq!(
                    end.is_over(),
                    taken.is_some_and(|taken| taken < bytes.len()),
                    "{bytes:?}"
                );
            }
        };
        check(Body::Length(0), "GET", Some(0));
        check(Body::Length(3), "abcGET", Some(3));
        check(Body::Length(9), "abc", Some(3));
        check(Body::Chunked, "3\r\nabc\r\n0\r\n\r\nGET", Some(13));
        check(Body::Chunked, "A;x=y\r\n0123456789\r\n0\r\nT: 1\r\n\r\nGET", Some(30));
        check(Body::Chunked, "3\r\nabcd\r\n0\r\n\r\n", None);
        check(Body::Chunked, "3\nabc", None);
        check(Body::Chunked, "+3\r\nabc", None);
        check(Body::Chunked, "\r\n", None);
        check(Body::Chunked, "fffffffffffffffff\r\n", None);
    }
}
