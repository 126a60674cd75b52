//! A provider over HTTP/1.1, plain or with TLS ([`HttpProvider`]): the key is added here and nowhere else, and idle
//! connections are kept for the next request.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use domain::evidence::WireFormat;
use engine::ports::sandbox::Duplex;
use futures_util::Stream;
use http_body_util::Full;
use hyper::{
    Request, Uri,
    body::{Body, Bytes, Incoming},
    client::conn::http1::{SendRequest, handshake},
    header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::{net::TcpStream, time::Instant};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        self, ClientConfig, RootCertStore,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use super::{
    provider::{BrokenBody, Provider, ProviderReply, ProviderRequest, SendFault},
    secret::Secret,
};

/// How long a connection may take until it can be used.
const DIAL: Duration = Duration::from_secs(30);

/// Providers close idle connections after a minute or more.
const KEPT: Duration = Duration::from_secs(30);

/// Idle connections that are kept.
const KEPT_MAX: usize = 64;

/// Why a base address cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{address}` is no base address of a provider: {why}; write for instance https://api.example.com/v1"
)]
pub struct BadBase {
    /// As it was written.
    pub address: String,
    /// What is wrong.
    pub why: String,
}

/// Where a provider is: scheme, host, port and the path down to its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseAddress {
    is_tls: bool,
    host: String,
    port: u16,
    path: String,
}

impl BaseAddress {
    /// Reads an address.
    pub fn parse(address: &str) -> Result<Self, BadBase> {
        let bad = |why: &str| BadBase { address: address.to_owned(), why: why.to_owned() };
        let uri: Uri = address.parse().map_err(|error| bad(&format!("{error}")))?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad("it must begin with https:// or http://")),
        };
        let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("a key does not belong into an address"));
        }
        if uri.query().is_some() {
            return Err(bad("it must end with a path"));
        }
        Ok(Self {
            is_tls,
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    fn authority(&self) -> String {
        let usual = if self.is_tls { 443 } else { 80 };
        if self.port == usual { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// Certificates by which a provider is to be trusted cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("these are no certificates of authorities as PEM: {0}")]
pub struct BadAuthorities(pub String);

/// A provider over HTTP.
pub struct HttpProvider {
    base: BaseAddress,
    key: Option<Secret>,
    idle: Arc<Mutex<Vec<Idle>>>,
    tls: OnceLock<TlsConnector>,
    dialler: Option<Dialler>,
}

/// Makes a connection to a provider that is reached in another way than over the network.
pub type Dialler = Arc<dyn Fn() -> Box<dyn Duplex> + Send + Sync>;

struct Idle {
    sender: SendRequest<Full<Bytes>>,
    since: Instant,
}

impl HttpProvider {
    /// A provider at that address; without a key none is sent.
    pub fn new(base: BaseAddress, key: Option<Secret>) -> Self {
        Self { base, key, idle: Arc::default(), tls: OnceLock::new(), dialler: None }
    }

    /// Reaches it by these connections, whatever its address says.
    pub fn over(self, dialler: Dialler) -> Self {
        Self { dialler: Some(dialler), ..self }
    }

    /// Trusts servers by these authorities, given as PEM, and no longer by those of the host.
    pub fn trusting(self, authorities: &str) -> Result<Self, BadAuthorities> {
        let bad = |why: &dyn std::fmt::Display| BadAuthorities(why.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
            let certificate = certificate.map_err(|error| bad(&error))?;
            roots.add(certificate).map_err(|error| bad(&error))?;
        }
        if roots.is_empty() {
            return Err(bad(&"there is none"));
        }
        Ok(Self { tls: OnceLock::from(connector(roots)), ..self })
    }

    /// A connection that was used before and is still open.
    async fn kept(&self) -> Option<SendRequest<Full<Bytes>>> {
        loop {
            let mut idle = self.idle.lock().expect("no holder panics").pop()?;
            let is_fresh = idle.since.elapsed() < KEPT && !idle.sender.is_closed();
            if is_fresh && idle.sender.ready().await.is_ok() {
                return Some(idle.sender);
            }
        }
    }

    async fn dial(&self) -> io::Result<SendRequest<Full<Bytes>>> {
        if let Some(dialler) = &self.dialler {
            return shake_hands(TokioIo::new(dialler())).await;
        }
        let host = self.base.host.trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, self.base.port)).await?;
        stream.set_nodelay(true)?;
        if !self.base.is_tls {
            return shake_hands(TokioIo::new(stream)).await;
        }
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let stream = self.tls()?.connect(name, stream).await?;
        shake_hands(TokioIo::new(stream)).await
    }

    fn tls(&self) -> io::Result<&TlsConnector> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(io::Error::other(
                "this host has no root certificates (Debian: install ca-certificates)",
            ));
        }
        Ok(self.tls.get_or_init(|| connector(roots)))
    }

    fn request(&self, asked: &ProviderRequest) -> Result<Request<Full<Bytes>>, String> {
        let query = asked.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{}{query}", self.base.path, asked.below_base);
        let mut request = Request::builder()
            .method(asked.method.clone())
            .uri(path)
            .body(Full::new(asked.body.clone()))
            .map_err(|error| error.to_string())?;
        let headers = request.headers_mut();
        *headers = asked.headers.clone();
        let host = HeaderValue::try_from(self.base.authority()).map_err(|e| e.to_string())?;
        headers.insert(HOST, host);
        // What is packed cannot be read in passing.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(asked.body.len()));
        if let Some(key) = &self.key {
            let (name, value) = key_header(asked.format, key);
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| "the key holds a character that no header may hold".to_owned())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }
}

fn connector(roots: RootCertStore) -> TlsConnector {
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// What is wrong with a server's certificate, if that is why there is no connection.
fn certificate_fault(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(why) => Some(why.to_string()),
        _ => None,
    }
}

/// How each form wants its key.
fn key_header(format: WireFormat, key: &Secret) -> (HeaderName, String) {
    match format {
        WireFormat::OpenAiChat | WireFormat::OpenAiResponses => {
            (AUTHORIZATION, format!("Bearer {}", key.reveal()))
        }
        WireFormat::AnthropicMessages => {
            (HeaderName::from_static("x-api-key"), key.reveal().to_owned())
        }
        WireFormat::Gemini => (HeaderName::from_static("x-goog-api-key"), key.reveal().to_owned()),
    }
}

async fn shake_hands<I>(io: I) -> io::Result<SendRequest<Full<Bytes>>>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(io).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

#[async_trait::async_trait]
impl Provider for HttpProvider {
    async fn send(&self, asked: &ProviderRequest) -> Result<ProviderReply, SendFault> {
        let unreachable = |why: &dyn std::fmt::Display| SendFault::Unreachable(why.to_string());
        let untrusted = |error: &io::Error| match certificate_fault(error) {
            Some(why) => SendFault::Untrusted { host: self.base.authority(), why },
            None => unreachable(error),
        };
        if let Some(mut sender) = self.kept().await {
            let request = self.request(asked).map_err(|why| unreachable(&why))?;
            // A kept connection may just have been closed at the other end: then a new one is asked.
            if let Ok(response) = sender.send_request(request).await {
                return Ok(self.reply(response, sender));
            }
        }
        let dialled = tokio::time::timeout(DIAL, self.dial()).await;
        let mut sender = dialled
            .map_err(|_| unreachable(&format!("no connection within {} s", DIAL.as_secs())))?
            .map_err(|error| untrusted(&error))?;
        let request = self.request(asked).map_err(|why| unreachable(&why))?;
        let response = sender.send_request(request).await.map_err(|error| unreachable(&error))?;
        Ok(self.reply(response, sender))
    }

    fn host(&self) -> Option<String> {
        Some(self.base.host.trim_matches(['[', ']']).to_owned())
    }
}

impl HttpProvider {
    fn reply(
        &self,
        response: hyper::Response<Incoming>,
        sender: SendRequest<Full<Bytes>>,
    ) -> ProviderReply {
        let (head, body) = response.into_parts();
        let body = Pieces { body, sender: Some(sender), idle: self.idle.clone() };
        ProviderReply { status: head.status.as_u16(), headers: head.headers, body: Box::pin(body) }
    }
}

/// The pieces of a body; whole, it gives its connection back.
struct Pieces {
    body: Incoming,
    sender: Option<SendRequest<Full<Bytes>>>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

impl Stream for Pieces {
    type Item = Result<Bytes, BrokenBody>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => Poll::Ready(Some(Ok(bytes))),
                    Err(_) => continue,
                },
                Poll::Ready(Some(Err(error))) => {
                    self.sender = None;
                    Poll::Ready(Some(Err(BrokenBody(error.to_string()))))
                }
                Poll::Ready(None) => {
                    if let Some(sender) = self.sender.take() {
                        let mut idle = self.idle.lock().expect("no holder panics");
                        if idle.len() < KEPT_MAX {
                            idle.push(Idle { sender, since: Instant::now() });
                        }
                    }
                    Poll::Ready(None)
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused_with_a_reason() {
        let check = |address: &str, expected: Result<(&str, &str), &str>| {
            let found = BaseAddress::parse(address);
            match (&found, expected) {
                (Ok(base), Ok((authority, path))) => {
                    assert_eq!((base.authority().as_str(), base.path.as_str()), (authority, path));
                }
                (Err(bad), Err(why)) => assert!(bad.why.contains(why), "{bad}"),
                _ => panic!("{address}: {found:?}"),
            }
        };
        check("https://api.example.com/v1/", Ok(("api.example.com", "/v1")));
        check("http://127.0.0.1:8080", Ok(("127.0.0.1:8080", "")));
        check("https://api.example.com:443/v1", Ok(("api.example.com", "/v1")));
        check("http://[::1]:80/v1", Ok(("[::1]", "/v1")));
        check("api.example.com/v1", Err("invalid"));
        check("ftp://a/", Err("https://"));
        check("https://key@api.example.com/v1", Err("key"));
        check("https://api.example.com/v1?key=a", Err("path"));
    }
}
