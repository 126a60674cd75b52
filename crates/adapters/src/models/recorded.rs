//! Answers from a recording ([`Recorded`]): offline, and the same every time. A request that was never made is an error that
//! shows the nearest one and how they differ.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};

use domain::ids::Hash;
use futures_util::StreamExt;
use hyper::{
    HeaderMap,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};
use similar::{ChangeTag, TextDiff};

use super::{
    exchange::{Exchange, Question},
    provider::{Provider, ProviderReply, ProviderRequest, SendFault},
};

/// Recorded requests that a missing one is compared with, the newest first.
const COMPARED_MAX: usize = 200;

/// Lines of the difference that are shown.
const SHOWN_MAX: usize = 40;

/// Letters of a line that are shown.
const LINE_MAX: usize = 160;

/// A recording to be played.
pub struct Recorded {
    questions: Vec<Question>,
    /// Answers to the same request in their order; the last stays.
    answers: Mutex<BTreeMap<Hash, VecDeque<Exchange>>>,
}

impl Recorded {
    /// A recording of these exchanges, in the order in which they were made.
    pub fn new(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        let mut questions = Vec::new();
        let mut answers: BTreeMap<Hash, VecDeque<Exchange>> = BTreeMap::new();
        for exchange in exchanges {
            questions.push(exchange.request.clone());
            answers.entry(exchange.request_hash()).or_default().push_back(exchange);
        }
        Self { questions, answers: Mutex::new(answers) }
    }

    /// The answer to a request, if there is one.
    fn answer(&self, question: &Question) -> Option<Exchange> {
        let mut answers = self.answers.lock().expect("no holder panics");
        let known = answers.get_mut(&question.hash())?;
        if known.len() > 1 { known.pop_front() } else { known.front().cloned() }
    }

    /// What is missing, beside what comes nearest to it.
    fn missing(&self, question: &Question) -> String {
        let asked = question.lines(1);
        let nearest = self
            .questions
            .iter()
            .rev()
            .take(COMPARED_MAX)
            .map(|known| known.lines(1))
            .map(|known| (TextDiff::from_lines(known.as_str(), asked.as_str()).ratio(), known))
            .max_by(|(one, _), (other, _)| one.total_cmp(other));
        let head = format!("no recorded exchange has this request ({})", question.hash());
        let Some((_, nearest)) = nearest else {
            return format!("{head}: the recording is empty");
        };
        let difference = TextDiff::from_lines(nearest.as_str(), asked.as_str());
        let lines: Vec<String> = difference
            .iter_all_changes()
            .filter_map(|change| {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => return None,
                };
                let line: String = change.value().trim_end().chars().take(LINE_MAX).collect();
                Some(format!("{sign} {line}"))
            })
            .collect();
        let more = lines.len().saturating_sub(SHOWN_MAX);
        let more = if more > 0 { format!("\n… {more} more lines") } else { String::new() };
        let shown = lines.into_iter().take(SHOWN_MAX).collect::<Vec<_>>().join("\n");
        format!("{head}; the nearest one differs so (- recorded, + asked):\n{shown}{more}")
    }
}

#[async_trait::async_trait]
impl Provider for Recorded {
    async fn send(&self, request: &ProviderRequest) -> Result<ProviderReply, SendFault> {
        let question = Question::of(request);
        let Some(exchange) = self.answer(&question) else {
            return Err(SendFault::NotRecorded(self.missing(&question)));
        };
        let mut headers = HeaderMap::new();
        if let Ok(kind) = HeaderValue::from_str(&exchange.content_type) {
            headers.insert(CONTENT_TYPE, kind);
        }
        let body = Bytes::from(exchange.answer_bytes());
        let body = futures_util::stream::iter([Ok(body)]).boxed();
        Ok(ProviderReply { status: exchange.status, headers, body })
    }
}
