//! A request as it arrives: read, unpacked, recognised and judged ([`Admitted`]), or refused in the form that its sender
//! expects ([`Refusal`]).

use std::io::Read;

use domain::evidence::{CallOutcome, HostedDecision, HostedTool, WireFormat};
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, Limited};
use hyper::{
    HeaderMap, Method, Request,
    body::{Bytes, Incoming},
    header::{AUTHORIZATION, CONTENT_ENCODING},
};
use serde_json::Value;

use super::{GatewaySession, HostedPolicy};
use crate::models::{
    formats::{Asked, Route, Verb, hosted},
    provider::ProviderRequest,
};

/// A request that may go on.
pub(super) struct Admitted {
    pub(super) route: Route,
    pub(super) asked: Asked,
    pub(super) hosted: Vec<HostedTool>,
    pub(super) request: ProviderRequest,
}

/// A request that may not.
pub(super) struct Refusal {
    pub(super) format: WireFormat,
    pub(super) status: u16,
    pub(super) message: String,
    pub(super) outcome: CallOutcome,
    pub(super) asked: Asked,
    pub(super) hosted: Vec<HostedTool>,
}

/// Headers that belong to a connection, hold a key, or speak for an account; the rest is passed on.
const NOT_PASSED_ON: [&str; 20] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "openai-organization",
    "openai-project",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
    "x-goog-api-key",
];

impl GatewaySession {
    /// Reads a request and judges it.
    pub(super) async fn admit(&self, request: Request<Incoming>) -> Result<Admitted, Box<Refusal>> {
        let (head, body) = request.into_parts();
        let (method, path) = (head.method.as_str(), head.uri.path());
        let route = Route::of(method, path);
        let format = route.as_ref().map_or(WireFormat::OpenAiChat, |route| route.format);
        let refuse = |status, message: String| {
            let outcome = CallOutcome::Refused;
            let (asked, hosted) = (Asked::default(), Vec::new());
            Box::new(Refusal { format, status, message, outcome, asked, hosted })
        };
        let query = head.uri.query();
        if !self.shows_token(&head.headers, query) {
            return Err(refuse(401, "this key is not the one of this session".to_owned()));
        }
        if self.is_blocked() {
            let message = "no request to a model is let through any more".to_owned();
            return Err(Box::new(Refusal {
                outcome: CallOutcome::Blocked,
                ..*refuse(403, message)
            }));
        }
        let Some(route) = route else {
            // Files, batches and whatever else a provider keeps are ways out of the sandbox.
            let name = format!("{method} {path}");
            let message = format!("`{name}` is not let through: only requests to a model are");
            let hosted = vec![HostedTool { name, decision: HostedDecision::Refused }];
            return Err(Box::new(Refusal { hosted, ..*refuse(404, message) }));
        };
        let bytes_max = self.gateway.bounds.request_bytes_max;
        let body = Limited::new(body, bytes_max).collect().await.map_err(|error| {
            match error.is::<http_body_util::LengthLimitError>() {
                true => refuse(413, format!("a request may have {bytes_max} bytes")),
                false => refuse(400, format!("the request broke off: {error}")),
            }
        })?;
        let body = unpacked(&head.headers, body.to_bytes(), bytes_max)
            .map_err(|(status, why)| refuse(status, why))?;
        let mut request = ProviderRequest {
            method: head.method.clone(),
            format,
            below_base: route.below_base.clone(),
            query: query.map(without_key),
            headers: passed_on(&head.headers),
            body,
        };
        if request.method != Method::POST {
            let (asked, hosted) = (Asked::default(), Vec::new());
            return Ok(Admitted { route, asked, hosted, request });
        }
        let value: Value = serde_json::from_slice(&request.body)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| refuse(400, "the request is no JSON object".to_owned()))?;
        let asked = Asked::read(format, &route.verb, &value);
        let (hosted, stripped) = self.judge_hosted(format, value);
        if let Some(tool) = hosted.iter().find(|tool| tool.decision == HostedDecision::Refused) {
            let message = format!(
                "`{}` works or reaches out at the provider, which is shut in this session",
                tool.name
            );
            return Err(Box::new(Refusal { asked, hosted, ..*refuse(400, message) }));
        }
        if let Some(stripped) = stripped {
            request.body = Bytes::from(stripped.to_string());
        }
        Ok(Admitted { route, asked, hosted, request })
    }

    /// What becomes of hosted tools, and the request without those that were taken out.
    fn judge_hosted(
        &self,
        format: WireFormat,
        mut value: Value,
    ) -> (Vec<HostedTool>, Option<Value>) {
        let is_known = |id: &str| self.answers.lock().expect("no holder panics").contains(id);
        let found = hosted::find(format, &value, is_known);
        let is_open = self.terms.hosted == HostedPolicy::Open;
        let judged: Vec<HostedTool> = found
            .iter()
            .map(|tool| {
                let decision = match tool.remedy {
                    _ if is_open => HostedDecision::Allowed,
                    hosted::Remedy::Strip => HostedDecision::Stripped,
                    hosted::Remedy::Refuse => HostedDecision::Refused,
                };
                HostedTool { name: tool.name.clone(), decision }
            })
            .collect();
        let has_stripped = judged.iter().any(|tool| tool.decision == HostedDecision::Stripped);
        let stripped = has_stripped.then(|| {
            hosted::strip(format, &mut value, &found);
            value
        });
        (judged, stripped)
    }

    /// Whether a request shows the session's token where its form would show a key.
    fn shows_token(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let token = self.terms.token.reveal();
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let bearer = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
        let queried = query.into_iter().flat_map(|query| query.split('&'));
        [bearer, header("x-api-key"), header("x-goog-api-key")]
            .into_iter()
            .flatten()
            .chain(queried.filter_map(|part| part.strip_prefix("key=")))
            .any(|shown| shown.trim() == token)
    }
}

/// Whether a route is one that a model answers.
pub(super) fn is_generation(route: &Route) -> bool {
    matches!(route.verb, Verb::Generate { .. })
}

fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut passed = HeaderMap::new();
    for (name, value) in headers {
        if !NOT_PASSED_ON.contains(&name.as_str()) {
            passed.append(name.clone(), value.clone());
        }
    }
    passed
}

fn without_key(query: &str) -> String {
    let parts: Vec<&str> = query.split('&').filter(|part| !part.starts_with("key=")).collect();
    parts.join("&")
}

/// A body as it was before it was packed.
fn unpacked(headers: &HeaderMap, body: Bytes, bytes_max: usize) -> Result<Bytes, (u16, String)> {
    let encoding = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes());
    match encoding {
        None | Some(b"identity" | b"") => Ok(body),
        Some(b"gzip" | b"x-gzip") => {
            let mut plain = Vec::new();
            let limit = bytes_max as u64 + 1;
            MultiGzDecoder::new(&body[..])
                .take(limit)
                .read_to_end(&mut plain)
                .map_err(|error| (400, format!("the request cannot be unpacked: {error}")))?;
            if plain.len() > bytes_max {
                return Err((413, format!("a request may have {bytes_max} bytes")));
            }
            Ok(plain.into())
        }
        Some(other) => {
            let name = String::from_utf8_lossy(other);
            Err((415, format!("a request packed as `{name}` is not read; send it plain or gzip")))
        }
    }
}
