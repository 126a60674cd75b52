//! A model of a provider for our own calls ([`Caller`], which is a [`Model`]): asked again while the provider fails for a
//! while, never more at once or in a minute than its caps allow, each exchange recorded.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use domain::{
    evidence::WireFormat,
    ids::Hash,
    usage::{PriceTable, Tokens},
};
use engine::ports::model::{Completion, Model, ModelFault, Prompt, ReplySchema, ToolUse};
use hyper::{
    HeaderMap, Method,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::Value;
use tokio::{sync::Semaphore, time::Instant};

use super::{
    exchange::{Exchange, Question},
    formats::{
        Blame, ErrorReply, Tally,
        prompted::{Replied, Stop, request, with_schema_in_words},
    },
    patience::{Patience, wanted_delay},
    provider::{Provider, ProviderRequest, SendFault, read_whole},
};

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// The version of Anthropic's form that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Letters of an answer that a fault shows.
const START_MAX: usize = 200;

/// Keeps an exchange and names it.
pub type Keep = Arc<dyn Fn(&[u8]) -> Result<Hash, String> + Send + Sync>;

/// How much is asked of one provider, shared by everybody who asks it.
#[derive(Debug)]
pub struct Caps {
    at_once: Semaphore,
    /// From one asking to the next.
    interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl Caps {
    /// So many calls at once, and so many begun in a minute; none bounds only the first.
    pub fn new(at_once: usize, per_minute: Option<u32>) -> Self {
        let interval = per_minute.map(|count| Duration::from_secs(60) / count.max(1));
        Self {
            at_once: Semaphore::new(at_once.max(1)),
            interval: interval.unwrap_or_default(),
            next: Mutex::default(),
        }
    }

    /// Waits until a call may begin.
    async fn slot(&self) {
        let wait_until = {
            let mut next = self.next.lock().expect("no holder panics");
            let now = Instant::now();
            let at = next.map_or(now, |next| next.max(now));
            *next = Some(at + self.interval);
            at
        };
        tokio::time::sleep_until(wait_until).await;
    }
}

/// A model of a provider.
pub struct Caller {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// The form that it speaks.
    pub format: WireFormat,
    /// The model.
    pub model: String,
    /// What models cost.
    pub prices: Arc<PriceTable>,
    /// How much may be asked.
    pub caps: Arc<Caps>,
    /// How long one call may take, waiting and asking again included.
    pub deadline: Duration,
    /// Where exchanges are kept; none records nothing.
    pub keep: Option<Keep>,
}

/// One answer, and what it took.
struct Answered {
    replied: Replied,
    model: Option<String>,
    tokens: Tokens,
    exchange: Option<Hash>,
}

#[async_trait::async_trait]
impl Model for Caller {
    async fn complete(&self, prompt: &Prompt) -> Result<Completion, ModelFault> {
        let began = Instant::now();
        let work = async {
            let _permit = self.caps.at_once.acquire().await;
            match &prompt.schema {
                Some(schema) => self.fitting(prompt, schema).await,
                None => self.plain(prompt).await.map(|answered| (answered, None)),
            }
        };
        let deadline_ms = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
        let done = tokio::time::timeout(self.deadline, work).await;
        let (answered, json) = done.map_err(|_| ModelFault::TimedOut { deadline_ms })??;
        let model = answered.model.unwrap_or_else(|| self.model.clone());
        let cost = |name: &str| self.prices.cost_microusd(name, &answered.tokens);
        Ok(Completion {
            cost_microusd: cost(&model).or_else(|| cost(&self.model)),
            text: answered.replied.text,
            json,
            calls: answered.replied.calls,
            model,
            tokens: answered.tokens,
            took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            exchange: answered.exchange,
        })
    }
}

impl Caller {
    async fn plain(&self, prompt: &Prompt) -> Result<Answered, ModelFault> {
        let answered = self.once(prompt).await?;
        if prompt.tool_use == ToolUse::Required && answered.replied.calls.is_empty() {
            return Err(ModelFault::NoToolCall(start(&answered.replied.text)));
        }
        Ok(answered)
    }

    /// An answer that fits a schema: in the provider's own way first, then with the schema in the prompt.
    async fn fitting(
        &self,
        prompt: &Prompt,
        schema: &ReplySchema,
    ) -> Result<(Answered, Option<Value>), ModelFault> {
        let validator = jsonschema::validator_for(&schema.schema).map_err(|error| {
            ModelFault::BadRequest(format!("`{}` is no JSON Schema: {error}", schema.name))
        })?;
        let fit = |text: &str| -> Result<Value, String> {
            let value = json_in(text).ok_or_else(|| "it is no JSON".to_owned())?;
            match validator.validate(&value) {
                Ok(()) => Ok(value),
                Err(error) => Err(error.to_string()),
            }
        };
        let mut spent = None;
        match self.plain(prompt).await {
            Ok(answered) => match fit(&answered.replied.text) {
                Ok(value) => return Ok((answered, Some(value))),
                Err(_) => spent = Some(answered.tokens),
            },
            // Some providers do not know the field.
            Err(ModelFault::BadRequest(_)) => {}
            Err(fault) => return Err(fault),
        }
        let mut answered = self.plain(&with_schema_in_words(prompt, schema)).await?;
        if let Some(spent) = spent {
            answered.tokens = sum(&spent, &answered.tokens);
        }
        match fit(&answered.replied.text) {
            Ok(value) => Ok((answered, Some(value))),
            Err(problem) => {
                Err(ModelFault::SchemaUnmet { problem, start: start(&answered.replied.text) })
            }
        }
    }

    /// Asks until there is an answer; the deadline of the call ends it from outside.
    async fn once(&self, prompt: &Prompt) -> Result<Answered, ModelFault> {
        let (below_base, body) = request(self.format, &self.model, prompt);
        let request = ProviderRequest {
            method: Method::POST,
            format: self.format,
            below_base,
            query: None,
            headers: self.headers(),
            body: Bytes::from(body.to_string()),
        };
        let patience = Patience::default();
        let mut retries = 0;
        loop {
            self.caps.slot().await;
            let (why, after) = match self.provider.send(&request).await {
                Err(SendFault::NotRecorded(why)) => return Err(ModelFault::NotRecorded(why)),
                Err(SendFault::Unreachable(why)) => (why, None),
                Err(untrusted @ SendFault::Untrusted { .. }) => {
                    return Err(ModelFault::Provider(untrusted.to_string()));
                }
                Ok(mut reply) => {
                    let read = read_whole(&mut reply.body, ANSWER_BYTES_MAX, self.deadline).await;
                    match read {
                        Err(unread) => (unread.to_string(), None),
                        Ok(bytes) if (200..300).contains(&reply.status) => {
                            let kind = reply.header(CONTENT_TYPE.as_str()).unwrap_or_default();
                            match self.understood(&request, kind, bytes)? {
                                Ok(answered) => return Ok(answered),
                                Err(why) => (why, None),
                            }
                        }
                        Ok(bytes) => {
                            let error = ErrorReply::of_body(&bytes);
                            let why =
                                format!("status {} {} {}", reply.status, error.kind, error.message);
                            match error.blame_of_status(reply.status, true) {
                                Blame::Ours => return Err(ModelFault::Unauthorised(why)),
                                Blame::Request => return Err(ModelFault::BadRequest(why)),
                                Blame::Passing => {
                                    let now = SystemTime::now();
                                    (why, wanted_delay(&reply.headers, &bytes, now))
                                }
                            }
                        }
                    }
                }
            };
            let delay = patience.delay(retries, after, 0);
            if delay >= self.deadline {
                return Err(ModelFault::Provider(why));
            }
            tokio::time::sleep(delay).await;
            retries += 1;
        }
    }

    /// An answer as it is meant; the inner `Err` says why it may be asked for again.
    fn understood(
        &self,
        request: &ProviderRequest,
        kind: &str,
        bytes: Vec<u8>,
    ) -> Result<Result<Answered, String>, ModelFault> {
        let mut tally = Tally::new(self.format);
        tally.body(&bytes);
        if let Some(error) = &tally.error {
            let why = format!("{} {}", error.kind, error.message);
            return match error.blame() {
                Blame::Passing => Ok(Err(why)),
                Blame::Request => Err(ModelFault::BadRequest(why)),
                Blame::Ours => Err(ModelFault::Unauthorised(why)),
            };
        }
        let value: Option<Value> = serde_json::from_slice(&bytes).ok();
        let replied = value.as_ref().and_then(|value| Replied::read(self.format, value));
        let Some(replied) = replied else {
            let text = String::from_utf8_lossy(&bytes);
            return Err(ModelFault::Unreadable(start(&text)));
        };
        match replied.stop {
            Stop::Done => {}
            Stop::Length => return Err(ModelFault::CutShort(start(&replied.text))),
            Stop::Declined => return Err(ModelFault::Declined(start(&replied.text))),
        }
        let exchange = self.keep.as_ref().and_then(|keep| {
            keep(&Exchange::new(Question::of(request), 200, kind, bytes).to_bytes()).ok()
        });
        Ok(Ok(Answered { replied, model: tally.model, tokens: tally.tokens, exchange }))
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.format == WireFormat::AnthropicMessages {
            let name = HeaderName::from_static("anthropic-version");
            headers.insert(name, HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        headers
    }
}

fn start(text: &str) -> String {
    text.chars().take(START_MAX).collect()
}

/// The JSON of a text: all of it, what a fence holds, or what stands between the outermost braces.
fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    let fenced = text.split("```").nth(1).map(|inner| inner.trim_start_matches("json"));
    let braced = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    [Some(text), fenced, braced]
        .into_iter()
        .flatten()
        .find_map(|candidate| serde_json::from_str(candidate.trim()).ok())
}

/// Unknown and known together are unknown.
fn sum(one: &Tokens, other: &Tokens) -> Tokens {
    let add = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    Tokens {
        input: add(one.input, other.input),
        cached_input: add(one.cached_input, other.cached_input),
        cache_write: add(one.cache_write, other.cache_write),
        output: add(one.output, other.output),
        reasoning: add(one.reasoning, other.reasoning),
        hosted_uses: add(one.hosted_uses, other.hosted_uses),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_in_what_models_put_around_it() {
        let check = |text: &str, expected: Option<Value>| assert_eq!(json_in(text), expected);
        check(r#" {"a": 1} "#, Some(json!({"a": 1})));
        check("Here:\n```json\n{\"a\": 1}\n```\nDone.", Some(json!({"a": 1})));
        check("```\n[1]\n```", Some(json!([1])));
        check(r#"The answer is {"a": {"b": 2}}, I think."#, Some(json!({"a": {"b": 2}})));
        check("no", None);
        check("}{", None);
    }
}
