//! A model that says what a script tells it ([`ScriptedModel`]), in all four forms, streamed or not, with every way in which a
//! provider can go wrong: inside this process as a [`Provider`], or as a server of its own.

mod forms;
mod heard;
mod said;
mod script;
mod serve;

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use domain::evidence::WireFormat;
use futures_util::StreamExt;
use hyper::{
    HeaderMap, StatusCode,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};
use serde_json::{Value, json};

pub use script::{ModelScript, ScriptProblem};

use self::{
    heard::Heard,
    said::Said,
    script::{FaultKind, ScriptedAnswer},
};
use super::{
    formats::{Route, Verb, error_body},
    provider::{BrokenBody, Provider, ProviderReply, ProviderRequest, ReplyBody, SendFault},
};

/// Models that a scripted server says it has.
const MODELS: [&str; 1] = ["scripted"];

/// What is said where a script has nothing to say.
const NOTHING: &str = "I have no line for this.";

/// What is said after the last answer of a block.
const DONE: &str = "Done.";

/// A scripted model.
pub struct ScriptedModel {
    script: ModelScript,
    /// How often each answer went wrong so far, by block and answer.
    faults: Mutex<BTreeMap<(usize, usize), u32>>,
    served: Mutex<Served>,
}

/// What a scripted model has told of its answers so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Answers that were begun, those of no tokens included.
    pub answers: u64,
    /// Tokens of input and output that they told.
    pub tokens: u64,
}

impl ScriptedModel {
    /// A model that has said nothing yet.
    pub fn new(script: ModelScript) -> Self {
        Self { script, faults: Mutex::default(), served: Mutex::default() }
    }

    /// What it has told until now.
    pub fn served(&self) -> Served {
        *self.served.lock().expect("no holder panics")
    }

    /// The answer that the script has for what was heard, with what goes wrong this time.
    fn answer(&self, heard: &Heard) -> (ScriptedAnswer, Option<FaultKind>) {
        let (user, round) = heard.last_user();
        let says =
            |text: &str| ScriptedAnswer { say: Some(text.to_owned()), ..ScriptedAnswer::default() };
        let fits = |pattern: &Option<regex::Regex>| {
            pattern.as_ref().is_none_or(|pattern| pattern.is_match(user))
        };
        let blocks = &self.script.blocks;
        let Some(at) = blocks.iter().position(|block| fits(&block.user)) else {
            return (says(NOTHING), None);
        };
        let Some(answer) = blocks[at].answers.get(round) else { return (says(DONE), None) };
        let fault = answer.fault.as_ref().filter(|fault| {
            let mut faults = self.faults.lock().expect("no holder panics");
            let so_far = faults.entry((at, round)).or_default();
            *so_far += 1;
            fault.times.is_none_or(|times| *so_far <= times)
        });
        (answer.clone(), fault.map(|fault| fault.how.clone()))
    }

    async fn generate(
        &self,
        request: &ProviderRequest,
        verb: &Verb,
        body: &Value,
    ) -> Result<ProviderReply, SendFault> {
        let format = request.format;
        let heard = Heard::read(format, verb, body);
        let (answer, fault) = self.answer(&heard);
        match &fault {
            Some(FaultKind::Disconnect) => {
                return Err(SendFault::Unreachable("the script ends the connection".to_owned()));
            }
            Some(FaultKind::Hang) => std::future::pending().await,
            Some(FaultKind::Status { status, kind, retry_after_sec }) => {
                return Ok(error(format, *status, kind, *retry_after_sec));
            }
            _ => {}
        }
        let hash = blake3::hash(&request.body).to_hex();
        let said = Said::of(&answer, &heard, &hash.as_str()[..12]);
        {
            let mut served = self.served.lock().expect("no holder panics");
            served.answers += 1;
            served.tokens += said.tokens.and_then(|tokens| tokens.total()).unwrap_or(0);
        }
        let mut pieces: Vec<Vec<u8>> = if heard.is_stream {
            let events = forms::events(format, &said, &heard);
            let spoil = |(at, event): (usize, forms::Event)| match fault {
                Some(FaultKind::MalformedEvent(nth)) if nth == at => event.malformed().bytes(),
                _ => event.bytes(),
            };
            events.into_iter().enumerate().map(spoil).collect()
        } else {
            // In pieces, so that it can be cut as a stream can.
            let body = forms::body(format, &said).to_string().into_bytes();
            body.chunks(64).map(<[u8]>::to_vec).collect()
        };
        let mut kind = if heard.is_stream { "text/event-stream" } else { "application/json" };
        match &fault {
            Some(FaultKind::ContentType(other)) => kind = other,
            Some(FaultKind::HugeBytes(bytes)) => pieces.extend(huge(*bytes, heard.is_stream)),
            Some(FaultKind::ErrorInside { kind, after }) => {
                pieces.truncate(*after);
                let body = error_inside(format, kind);
                pieces.push(if heard.is_stream {
                    format!("data: {body}\n\n").into_bytes()
                } else {
                    body.to_string().into_bytes()
                });
            }
            _ => {}
        }
        let headers = headers(kind);
        Ok(ProviderReply { status: 200, headers, body: deliver(pieces, fault.as_ref()) })
    }
}

#[async_trait::async_trait]
impl Provider for ScriptedModel {
    async fn send(&self, request: &ProviderRequest) -> Result<ProviderReply, SendFault> {
        let route = Route::of(request.method.as_str(), &versioned(request));
        let Some(route) = route else {
            return Ok(error(request.format, 404, "", None));
        };
        match &route.verb {
            Verb::Models => Ok(plain(&forms::models(request.format, &MODELS))),
            Verb::CountTokens => {
                let count = request.body.len().div_ceil(4) as u64;
                Ok(plain(&forms::token_count(request.format, count)))
            }
            verb => match serde_json::from_slice(&request.body) {
                Ok(body) => self.generate(request, verb, &body).await,
                Err(_) => Ok(error(request.format, 400, "", None)),
            },
        }
    }
}

/// The path with the version that tells Gemini's list of models from the others'.
fn versioned(request: &ProviderRequest) -> String {
    let version = if request.format == WireFormat::Gemini { "v1beta" } else { "v1" };
    format!("/{version}{}", request.below_base)
}

fn headers(kind: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(kind) = HeaderValue::from_str(kind) {
        headers.insert(CONTENT_TYPE, kind);
    }
    headers
}

fn plain(body: &Value) -> ProviderReply {
    let body = Bytes::from(body.to_string());
    ProviderReply {
        status: 200,
        headers: headers("application/json"),
        body: futures_util::stream::iter([Ok(body)]).boxed(),
    }
}

fn error(
    format: WireFormat,
    status: u16,
    kind: &str,
    retry_after_sec: Option<f64>,
) -> ProviderReply {
    let status = StatusCode::from_u16(status).map_or(500, |status| status.as_u16());
    let mut body = error_body(format, status, "the script says so");
    if !kind.is_empty() {
        name_error(&mut body, kind);
    }
    let mut reply = plain(&body);
    reply.status = status;
    if let Some(seconds) = retry_after_sec
        && let Ok(value) = HeaderValue::try_from(seconds.to_string())
    {
        reply.headers.insert(RETRY_AFTER, value);
    }
    reply
}

/// An error of that kind as it stands in the middle of an answer.
fn error_inside(format: WireFormat, kind: &str) -> Value {
    let mut body = error_body(format, 500, "the script says so");
    name_error(&mut body, kind);
    if format == WireFormat::OpenAiResponses {
        return json!({"type": "response.failed",
            "response": {"status": "failed", "error": {"code": kind, "message": "scripted"}}});
    }
    body
}

fn name_error(body: &mut Value, kind: &str) {
    let field = if body["error"].get("status").is_some() { "status" } else { "type" };
    body["error"][field] = kind.into();
    if body["error"].get("code").is_some_and(Value::is_null) {
        body["error"]["code"] = kind.into();
    }
    // Gemini tells a number where others tell a word.
    if let Some(error) = body["error"].as_object_mut()
        && error.get("code").is_some_and(Value::is_number)
    {
        error.remove("code");
    }
}

/// More than there should be, in pieces that a client can skip.
fn huge(bytes: usize, is_stream: bool) -> impl Iterator<Item = Vec<u8>> {
    let piece = if is_stream {
        format!(": {}\n\n", "x".repeat(4_000)).into_bytes()
    } else {
        vec![b' '; 4_004]
    };
    std::iter::repeat_n(piece, bytes.div_ceil(4_004))
}

/// The pieces as they come, with what goes wrong on the way.
fn deliver(pieces: Vec<Vec<u8>>, fault: Option<&FaultKind>) -> ReplyBody {
    let pause = match fault {
        Some(FaultKind::DripMs(pause_ms)) => Duration::from_millis(*pause_ms),
        _ => Duration::ZERO,
    };
    let (stall, truncate) = match fault {
        Some(FaultKind::StallAfter(after)) => (Some(*after), None),
        Some(FaultKind::TruncateAfter(after)) => (None, Some(*after)),
        _ => (None, None),
    };
    let pieces = pieces.into_iter().enumerate().peekable();
    futures_util::stream::unfold((pieces, false), move |(mut pieces, is_over)| async move {
        if is_over {
            return None;
        }
        let (at, piece) = pieces.next()?;
        if stall == Some(at) {
            std::future::pending::<()>().await;
        }
        if truncate == Some(at) {
            let broken = BrokenBody("the script ends the connection".to_owned());
            return Some((Err(broken), (pieces, true)));
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Some((Ok(Bytes::from(piece)), (pieces, false)))
    })
    .boxed()
}
