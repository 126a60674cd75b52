//! The proxy of a wire: a request names where it wants to go, and is answered, refused or carried ([`serve`]).

use std::time::Duration;

use domain::{
    evidence::{NetOutcome, NetTransport, NetWay},
    release::Ruling,
};
use tokio::{io::AsyncWriteExt, time::timeout};

use super::{
    book::{OpenLine, Undecided, attempt},
    carry::{Client, Meant, forward, on_the_way, tell},
    dial::{Undialled, dial},
    porter::Desk,
    request::{Authority, Head, Read, Target},
};

/// A head that is not whole by then is none.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

const HTTP_PORT: u16 = 80;

/// Serves one connection to the proxy: one request of any host.
pub(super) async fn serve(desk: &Desk, mut client: Client, at_ms: i64, undecided: Undecided) {
    let head = match timeout(HEAD_TIMEOUT, read_head(&mut client)).await {
        Ok(Some(Ok(head))) => head,
        Ok(Some(Err(why))) => {
            drop(undecided);
            return client.refuse("400 Bad Request", why).await;
        }
        // Nothing was asked for.
        Ok(None) | Err(_) => return,
    };
    let meant = match &head.target {
        Target::Connect(Authority { host, port }) => {
            Meant { host: host.clone(), port: port.unwrap_or(0) }
        }
        Target::Absolute(Authority { host, port }, _) => {
            Meant { host: host.clone(), port: port.unwrap_or(HTTP_PORT) }
        }
        Target::Path(_) => return no_proxy_request(desk, client, &head, at_ms, undecided).await,
    };
    let policy = desk.policy();
    let ruling = policy.ruling(&meant.host, meant.port);
    let outcome = match ruling {
        Ruling::Refused => NetOutcome::Refused,
        Ruling::Listed(_) | Ruling::Open => NetOutcome::Failed,
    };
    let line = begin(desk, &meant, &head, at_ms, (outcome, ruling.to_string()));
    if let Some(why) = refusal(desk, &meant, &head, ruling) {
        line.refuse(why.clone());
        drop((line, undecided));
        let Meant { host, port } = meant;
        return client.refuse("403 Forbidden", &format!("{host}:{port}: {why}")).await;
    }
    let outer = match dial(&policy, &meant.host, meant.port).await {
        Ok(outer) => outer,
        Err(undialled) => {
            let why = tell(&line, &undialled);
            drop((line, undecided));
            let status = match undialled {
                Undialled::Refused(_) => "403 Forbidden",
                Undialled::Failed(_) => "502 Bad Gateway",
            };
            return client.refuse(status, &format!("{}:{}: {why}", meant.host, meant.port)).await;
        }
    };
    if matches!(head.target, Target::Connect(_)) {
        let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
        if client.stream.write_all(established).await.is_ok() {
            on_the_way(desk, client, outer, meant, line, undecided).await;
        }
        return;
    }
    drop(undecided);
    tokio::select! {
        () = forward(desk, client, outer, &head, &meant, &line) => {}
        () = desk.until_refused(&meant) => line.refuse("refused: cut when the policy changed"),
    }
}

/// The head, or why it is none; none if the program left before it was whole.
async fn read_head(client: &mut Client) -> Option<Result<Head, &'static str>> {
    loop {
        if !client.buffer.is_empty() {
            match Head::parse(&client.buffer) {
                Read::More => {}
                Read::Head(head) => {
                    client.buffer.drain(..head.length);
                    return Some(Ok(head));
                }
                Read::Bad(why) => return Some(Err(why)),
            }
        }
        if !client.read_more().await {
            return None;
        }
    }
}

fn begin(
    desk: &Desk,
    meant: &Meant,
    head: &Head,
    at_ms: i64,
    decided: (NetOutcome, String),
) -> OpenLine {
    let by = (NetTransport::Tcp, NetWay::Proxy);
    let line = desk.book.begin(attempt(at_ms, (&meant.host, meant.port), by, decided));
    line.request(&head.method, head.path());
    line
}

/// Why a request goes nowhere; a `Host` header that names another host counts as much as the target.
fn refusal(desk: &Desk, meant: &Meant, head: &Head, ruling: Ruling<'_>) -> Option<String> {
    if ruling == Ruling::Refused {
        return Some(ruling.to_string());
    }
    let named = head.host.as_ref().filter(|named| named.host != meant.host)?;
    let policy = desk.policy();
    let ruling = policy.ruling(&named.host, named.port.unwrap_or(meant.port));
    (ruling == Ruling::Refused).then(|| {
        let host = &named.host;
        format!("refused: the request's `Host` header names {host}, which is not on the list")
    })
}

/// A request as to a server: the proxy is none, but whoever is named was meant.
async fn no_proxy_request(
    desk: &Desk,
    client: Client,
    head: &Head,
    at_ms: i64,
    undecided: Undecided,
) {
    let why = "refused: the proxy was asked for a path without a host";
    if let Some(Authority { host, port }) = &head.host {
        let is_own = host == "localhost" || host.starts_with("127.") || host == "::1";
        if !is_own {
            let meant = Meant { host: host.clone(), port: port.unwrap_or(HTTP_PORT) };
            drop(begin(desk, &meant, head, at_ms, (NetOutcome::Refused, why.to_owned())));
        }
    }
    drop(undecided);
    client.refuse("400 Bad Request", why).await;
}
