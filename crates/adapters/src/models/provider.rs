//! One exchange with a model provider ([`Provider`]): over HTTP, from a script or from a recording, all alike for whoever
//! asks.

use std::pin::Pin;

use domain::evidence::WireFormat;
use futures_util::{Stream, StreamExt};
use hyper::{HeaderMap, Method, body::Bytes};
use thiserror::Error;

/// What is sent.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    /// The method.
    pub method: Method,
    /// The form, which decides how the key is sent.
    pub format: WireFormat,
    /// The path below the provider's base, which ends in its version.
    pub below_base: String,
    /// What stands behind the path, without `?`.
    pub query: Option<String>,
    /// Headers without those that belong to a connection or hold a key.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// What comes back.
pub struct ProviderReply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, piece by piece as it comes.
    pub body: ReplyBody,
}

/// A body as it comes; it ends after an error.
pub type ReplyBody = Pin<Box<dyn Stream<Item = Result<Bytes, BrokenBody>> + Send>>;

/// The connection broke before the body was whole.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("answer broke off: {0}")]
pub struct BrokenBody(pub String);

/// Why there is no answer at all.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SendFault {
    /// No connection, or it broke before an answer began.
    #[error("provider cannot be reached: {0}")]
    Unreachable(String),
    /// The certificate with which the provider shows itself is not trusted: to ask again changes nothing.
    #[error("certificate of {host} is not trusted: {why}")]
    Untrusted {
        /// Host, and port if it is not the usual one.
        host: String,
        /// What is wrong with it.
        why: String,
    },
    /// A replay holds no such exchange; the text shows the nearest one.
    #[error("{0}")]
    NotRecorded(String),
}

/// Somebody who answers requests to models.
#[async_trait::async_trait]
pub trait Provider: Send + Sync {
    /// Sends a request and comes back when the head of the answer is there. Dropping the body ends the exchange.
    async fn send(&self, request: &ProviderRequest) -> Result<ProviderReply, SendFault>;

    /// The host on which it is; none if it is on none.
    fn host(&self) -> Option<String> {
        None
    }
}

impl ProviderReply {
    /// The value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why a body was not read whole.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum UnreadBody {
    /// It broke off.
    #[error(transparent)]
    Broken(#[from] BrokenBody),
    /// It is larger than the bound, in bytes.
    #[error("answer is larger than {0} bytes")]
    TooLarge(usize),
    /// Nothing came for longer than the bound, in seconds.
    #[error("nothing of the answer came for {0} s")]
    Stalled(u64),
}

/// Reads a body whole, within a bound of bytes and of time between its pieces.
pub async fn read_whole(
    body: &mut ReplyBody,
    bytes_max: usize,
    idle: std::time::Duration,
) -> Result<Vec<u8>, UnreadBody> {
    let mut whole = Vec::new();
    loop {
        let piece = tokio::time::timeout(idle, body.next())
            .await
            .map_err(|_| UnreadBody::Stalled(idle.as_secs()))?;
        let Some(piece) = piece else { return Ok(whole) };
        whole.extend_from_slice(&piece?);
        if whole.len() > bytes_max {
            return Err(UnreadBody::TooLarge(bytes_max));
        }
    }
}
