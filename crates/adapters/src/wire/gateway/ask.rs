//! Asking a provider until it answers or is given up ([`GatewaySession::answer`]), and what each outcome means for the agent.

use std::{borrow::Cow, collections::VecDeque, sync::Arc, time::SystemTime};

use domain::evidence::CallOutcome;
use futures_util::StreamExt;
use http_body_util::{Either, Full};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
};
use tokio::time::{Instant, timeout};

use super::{
    GatewaySession,
    arrival::{Admitted, Refusal, is_generation},
    call::{Given, OpenCall, millis},
    pause::Pause,
    relay::{Reading, Relay},
    until_blocked,
};
use crate::models::{
    exchange::Question,
    formats::{Blame, ErrorReply, Tally, Verb, error_body},
    patience::wanted_delay,
    provider::{ProviderReply, ProviderRequest, ReplyBody, SendFault, read_whole},
};

/// The body of an answer to the agent.
type AnswerBody = Either<Full<Bytes>, Relay>;

/// The most that is looked at before an answer is begun.
const LOOK_BYTES_MAX: usize = 64 << 10;

/// The most that is read of an error.
const ERROR_BYTES_MAX: usize = 1 << 20;

/// Headers of an answer that are not passed on.
const NOT_PASSED_BACK: [&str; 9] = [
    "connection",
    "content-length",
    "keep-alive",
    "openai-organization",
    "proxy-authenticate",
    "set-cookie",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What came of asking once.
enum Asking {
    /// An answer that is passed on as it comes.
    Stream { head: Head, first: VecDeque<Bytes>, body: ReplyBody, reading: Box<Reading> },
    /// An answer that is there whole.
    Whole { head: Head, bytes: Vec<u8>, outcome: CallOutcome, tally: Option<Box<Tally>> },
    /// It may be asked again.
    Again { why: String, after: Option<std::time::Duration> },
    /// The provider does not take key, account or configured model: asking again does not help.
    Ours { status: u16, why: String },
    /// It must not be asked again.
    Never { why: String },
}

/// Status and headers.
struct Head {
    status: u16,
    headers: HeaderMap,
}

impl GatewaySession {
    /// Answers one request of the agent.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Response<AnswerBody> {
        match self.admit(request).await {
            Ok(admitted) => self.ask(admitted).await,
            Err(refusal) => self.refuse(*refusal),
        }
    }

    fn refuse(self: &Arc<Self>, refusal: Refusal) -> Response<AnswerBody> {
        let Refusal { format, status, message, outcome, asked, hosted } = refusal;
        let mut call = OpenCall::new(self, format, asked, hosted);
        call.end(outcome, Given { status, ..Given::default() }, None);
        own_error(format, status, &message)
    }

    async fn ask(self: &Arc<Self>, admitted: Admitted) -> Response<AnswerBody> {
        let format = admitted.route.format;
        // Questions about models and lengths are no calls of a model.
        let mut call = is_generation(&admitted.route).then(|| {
            let (asked, hosted) = (admitted.asked.clone(), admitted.hosted.clone());
            let mut call = OpenCall::new(self, format, asked, hosted);
            call.asks(Question::of(&admitted.request));
            call.is_sent = true;
            call
        });
        let asking = tokio::select! {
            biased;
            () = until_blocked(self.blocked.subscribe()) => None,
            asking = self.ask_patiently(&admitted, &mut call) => Some(asking),
        };
        let mut end = |outcome, given, tally: Option<&Tally>| {
            if let Some(call) = &mut call {
                call.end(outcome, given, tally);
            }
        };
        match asking {
            None => {
                end(CallOutcome::Blocked, Given { status: 403, ..Given::default() }, None);
                own_error(format, 403, "no request to a model is let through any more")
            }
            Some(Asking::Ours { status, why }) => {
                // What a provider says of a key may show a part of it.
                let status = if status < 400 { 502 } else { status };
                end(CallOutcome::Unauthorised, Given { status, ..Given::default() }, None);
                self.failed_for_good(format!("key, account or model were not accepted: {why}"));
                own_error(format, status, "the provider does not accept this configuration")
            }
            Some(Asking::Again { why, .. } | Asking::Never { why }) => {
                self.failed_for_good(why.clone());
                end(CallOutcome::ProviderFailed, Given { status: 503, ..Given::default() }, None);
                own_error(format, 503, &format!("the provider of the model failed: {why}"))
            }
            Some(Asking::Whole { head, bytes, outcome, tally }) => {
                let content_type = content_type(&head.headers);
                let given = Given { status: head.status, content_type, bytes: Some(bytes.clone()) };
                end(outcome, given, tally.as_deref());
                respond(&head, Either::Left(Full::from(bytes)))
            }
            Some(Asking::Stream { head, first, body, reading }) => {
                let Some(call) = call else {
                    return own_error(format, 502, "a stream where none was asked for");
                };
                let kind = (head.status, content_type(&head.headers));
                let relay = Relay::new(self, call, kind, first, body, *reading);
                respond(&head, Either::Right(relay))
            }
        }
    }

    /// Asks until there is an answer, or the provider has failed for longer than the policy allows.
    async fn ask_patiently(
        self: &Arc<Self>,
        admitted: &Admitted,
        call: &mut Option<OpenCall>,
    ) -> Asking {
        let began = Instant::now();
        let mut pause: Option<Pause> = None;
        let mut retries = 0;
        loop {
            let asking = self.ask_once(admitted, call).await;
            let (why, after) = match asking {
                Asking::Again { why, after } => (why, after),
                never @ (Asking::Never { .. } | Asking::Ours { .. }) => return never,
                answer => {
                    *self.outage.lock().expect("no holder panics") = None;
                    if let (Some(call), Some(pause)) = (call, pause) {
                        call.is_failing = false;
                        call.paused_ms += millis(pause.lasted());
                    }
                    return answer;
                }
            };
            // What was lost on a provider that failed is lost from the first asking on.
            let pause = pause.get_or_insert_with(|| self.pauses.begin(began));
            if let Some(call) = call {
                call.is_failing = true;
            }
            let patience = &self.gateway.patience;
            let delay = patience.delay(retries, after, self.spread(retries));
            let since = *self.outage.lock().expect("no holder panics").get_or_insert(began);
            if since.elapsed() + delay > patience.outage_max {
                if let Some(call) = call {
                    call.paused_ms += millis(pause.lasted());
                }
                return Asking::Never { why };
            }
            tokio::time::sleep(delay).await;
            retries += 1;
            if let Some(call) = call {
                call.asked_again(retries);
            }
        }
    }

    /// Differs from session to session and from try to try, and not from run to run of a test.
    fn spread(&self, retries: u32) -> u8 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.terms.token.reveal().as_bytes()).update(&retries.to_le_bytes());
        hasher.finalize().as_bytes()[0]
    }

    async fn ask_once(&self, admitted: &Admitted, call: &mut Option<OpenCall>) -> Asking {
        let patience = &self.gateway.patience;
        let format = admitted.route.format;
        let providers = &self.gateway.providers;
        let own = providers.get_key_value(&format);
        // The path of a list of models is shared by forms: whoever is there answers it, with a key in its own way.
        let is_list = matches!(admitted.route.verb, Verb::Models);
        let other = || providers.first_key_value().filter(|_| is_list);
        let Some((spoken, provider)) = own.or_else(other) else {
            let why = format!("no provider of the form {} is configured", format.name());
            return Asking::Never { why };
        };
        let request = match *spoken == admitted.request.format {
            true => Cow::Borrowed(&admitted.request),
            false => Cow::Owned(ProviderRequest { format: *spoken, ..admitted.request.clone() }),
        };
        let began = Instant::now();
        let again = |why: String| Asking::Again { why, after: None };
        let reply = match timeout(patience.head_max, provider.send(&request)).await {
            Err(_) => return again(format!("no answer in {} s", patience.head_max.as_secs())),
            Ok(Err(SendFault::Unreachable(why))) => return again(why),
            Ok(Err(fault @ (SendFault::NotRecorded(_) | SendFault::Untrusted { .. }))) => {
                return Asking::Never { why: fault.to_string() };
            }
            Ok(Ok(reply)) => reply,
        };
        let is_good = (200..300).contains(&reply.status);
        if !is_good {
            return self.failed(admitted, reply).await;
        }
        let is_stream = content_type(&reply.headers).starts_with("text/event-stream")
            || (reply.headers.get(CONTENT_TYPE).is_none() && admitted.asked.is_stream);
        if is_stream && let Some(call) = call {
            return self.stream(format, reply, call, began).await;
        }
        let asking = self.whole(admitted, reply).await;
        if let Some(call) = call {
            call.first_byte_ms = Some(millis(began.elapsed()));
        }
        asking
    }

    /// An answer whose status says that it is an error.
    async fn failed(&self, admitted: &Admitted, mut reply: ProviderReply) -> Asking {
        let idle = self.gateway.patience.idle_max;
        let bytes = match read_whole(&mut reply.body, ERROR_BYTES_MAX, idle).await {
            Ok(bytes) => bytes,
            Err(unread) => {
                return Asking::Again { why: unread.to_string(), after: None };
            }
        };
        let error = ErrorReply::of_body(&bytes);
        let asks_ours = self.asks_ours(&admitted.asked.model);
        let why = format!("status {} {} {}", reply.status, error.kind, error.message);
        let outcome = match error.blame_of_status(reply.status, asks_ours) {
            Blame::Passing => {
                let after = wanted_delay(&reply.headers, &bytes, SystemTime::now());
                return Asking::Again { why, after };
            }
            Blame::Request => CallOutcome::BadRequest,
            Blame::Ours => return Asking::Ours { status: reply.status, why },
        };
        let head = Head { status: reply.status, headers: reply.headers };
        Asking::Whole { head, bytes, outcome, tally: None }
    }

    /// A request that names another model than the configured one does so on its own account.
    fn asks_ours(&self, model: &str) -> bool {
        self.terms.model.as_deref().is_none_or(|ours| ours == model)
    }

    /// A stream is begun once its first event is there: an error in its place can still be asked again.
    async fn stream(
        &self,
        format: domain::evidence::WireFormat,
        reply: ProviderReply,
        call: &mut OpenCall,
        began: Instant,
    ) -> Asking {
        let ProviderReply { status, headers, mut body } = reply;
        let mut reading = Box::new(Reading::new(Tally::new(format)));
        let mut first = VecDeque::new();
        let mut bytes = 0;
        while reading.events == 0 && bytes < LOOK_BYTES_MAX {
            let again = |why: String| Asking::Again { why, after: None };
            match timeout(self.gateway.patience.idle_max, body.next()).await {
                Err(_) => return again("the answer did not begin".to_owned()),
                Ok(Some(Err(broken))) => return again(broken.to_string()),
                Ok(None) => return again("the answer ended before it began".to_owned()),
                Ok(Some(Ok(piece))) => {
                    call.first_byte_ms.get_or_insert(millis(began.elapsed()));
                    bytes += piece.len();
                    reading.take_in(&piece);
                    first.push_back(piece);
                }
            }
        }
        if let Some(error) = &reading.tally.error
            && error.blame() == Blame::Passing
        {
            let why = format!("an error inside the answer: {} {}", error.kind, error.message);
            return Asking::Again { why, after: None };
        }
        Asking::Stream { head: Head { status, headers }, first, body, reading }
    }

    /// An answer that is no stream is passed on once it is there and can be read.
    async fn whole(&self, admitted: &Admitted, mut reply: ProviderReply) -> Asking {
        let gateway = &self.gateway;
        let (bytes_max, idle) = (gateway.bounds.whole_bytes_max, gateway.patience.idle_max);
        let again = |why: String| Asking::Again { why, after: None };
        let reading = read_whole(&mut reply.body, bytes_max, idle);
        let bytes = match timeout(gateway.patience.answer_max, reading).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(unread)) => return again(unread.to_string()),
            Err(_) => return again("the answer took too long".to_owned()),
        };
        let head = Head { status: reply.status, headers: reply.headers };
        if !is_generation(&admitted.route) {
            return Asking::Whole { head, bytes, outcome: CallOutcome::Answered, tally: None };
        }
        let mut tally = Tally::new(admitted.route.format);
        tally.body(&bytes);
        let outcome = match &tally.error {
            Some(error) => match error.blame() {
                Blame::Passing => {
                    return again(format!("an error inside: {} {}", error.kind, error.message));
                }
                Blame::Request => CallOutcome::BadRequest,
                Blame::Ours => {
                    let why = format!("{} {}", error.kind, error.message);
                    return Asking::Ours { status: 502, why };
                }
            },
            None if tally.is_malformed => {
                let kind = content_type(&head.headers);
                return again(format!("an answer of the type `{kind}` that cannot be read"));
            }
            None if !tally.is_finished => return again("the answer is not whole".to_owned()),
            None => CallOutcome::Answered,
        };
        Asking::Whole { head, bytes, outcome, tally: Some(Box::new(tally)) }
    }
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_ascii_lowercase()
}

fn respond(head: &Head, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in &head.headers {
        if !NOT_PASSED_BACK.contains(&name.as_str()) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    response
}

fn own_error(
    format: domain::evidence::WireFormat,
    status: u16,
    message: &str,
) -> Response<AnswerBody> {
    let body = error_body(format, status, message).to_string();
    let mut response = Response::new(Either::Left(Full::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
