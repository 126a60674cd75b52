//! A recorded exchange ([`Exchange`]): the request without what changes by itself, the answer as it came. The same request
//! has the same [`Exchange::request_hash`] on every machine.

use std::collections::BTreeMap;

use domain::{evidence::WireFormat, ids::Hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::provider::ProviderRequest;

/// Fields that name a caller or a place of a cache, not what is asked.
const VOLATILE: [&str; 6] = [
    "metadata",
    "client_metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "user",
];

/// What was asked, as it is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The form by its name.
    pub format: String,
    /// The path below the provider's base.
    pub path: String,
    /// What stands behind the path; none if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The body without what changes by itself; text where it is no JSON.
    pub body: Value,
}

/// One exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// What was asked.
    pub request: Question,
    /// The status of the answer.
    pub status: u16,
    /// What the answer says it is.
    pub content_type: String,
    /// The answer, each byte a character of the same number where it is not UTF-8.
    pub answer: String,
    /// Whether the answer is UTF-8 as it stands.
    pub is_text: bool,
}

/// Why a recorded exchange cannot be read.
#[derive(Debug, Error)]
#[error("recorded exchange cannot be read")]
pub struct UnreadExchange(#[from] serde_json::Error);

impl Question {
    /// What a request asks.
    pub fn of(request: &ProviderRequest) -> Self {
        let mut body = serde_json::from_slice(&request.body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&request.body).into_owned()));
        if let Some(fields) = body.as_object_mut() {
            fields.retain(|name, _| !VOLATILE.contains(&name.as_str()));
        }
        Self {
            format: request.format.name().to_owned(),
            path: request.below_base.clone(),
            query: request.query.clone().filter(|query| !query.is_empty()),
            body,
        }
    }

    /// The hash by which it is found.
    pub fn hash(&self) -> Hash {
        Hash::new(blake3::hash(self.lines(0).as_bytes()).to_hex().as_str())
    }

    /// Form, path and body as text with fields in order, indented by so many blanks; 0 puts all on one line.
    pub fn lines(&self, indent: usize) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let mut text = format!("{} {}{query}\n", self.format, self.path);
        write_ordered(&self.body, indent, 0, &mut text);
        text
    }

    /// The form.
    pub fn format(&self) -> Option<WireFormat> {
        WireFormat::parse(&self.format)
    }
}

impl Exchange {
    /// An exchange whose answer has these bytes.
    pub fn new(request: Question, status: u16, content_type: &str, answer: Vec<u8>) -> Self {
        let content_type = content_type.to_owned();
        let (answer, is_text) = match String::from_utf8(answer) {
            Ok(text) => (text, true),
            Err(error) => (error.into_bytes().into_iter().map(char::from).collect(), false),
        };
        Self { request, status, content_type, answer, is_text }
    }

    /// The bytes of the answer.
    pub fn answer_bytes(&self) -> Vec<u8> {
        if self.is_text {
            self.answer.clone().into_bytes()
        } else {
            self.answer.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
        }
    }

    /// The bytes that are kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("text and JSON can always be written")
    }

    /// Reads what was kept.
    pub fn read(bytes: &[u8]) -> Result<Self, UnreadExchange> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// The hash by which a replay finds it.
    pub fn request_hash(&self) -> Hash {
        self.request.hash()
    }
}

fn write_ordered(value: &Value, indent: usize, level: usize, text: &mut String) {
    let new_line = |level: usize, text: &mut String| {
        if indent > 0 {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', indent * level));
        }
    };
    match value {
        Value::Object(fields) => {
            let ordered: BTreeMap<&String, &Value> = fields.iter().collect();
            text.push('{');
            for (at, (name, inner)) in ordered.into_iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                new_line(level + 1, text);
                text.push_str(&Value::String(name.clone()).to_string());
                text.push(':');
                write_ordered(inner, indent, level + 1, text);
            }
            new_line(level, text);
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for (at, inner) in list.iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                new_line(level + 1, text);
                write_ordered(inner, indent, level + 1, text);
            }
            new_line(level, text);
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, Method};

    use super::*;

    fn question(body: &str) -> Question {
        Question::of(&ProviderRequest {
            method: Method::POST,
            format: WireFormat::OpenAiChat,
            below_base: "/chat/completions".to_owned(),
            query: None,
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        })
    }

    #[test]
    fn requests_that_ask_the_same_have_the_same_hash() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(question(one).hash() == question(other).hash(), expected, "{one} {other}");
        };
        check(r#"{"model": "m", "stream": true}"#, r#"{"stream":true,"model":"m"}"#, true);
        check(r#"{"a": {"c": 1, "b": 2}}"#, r#"{"a": {"b": 2, "c": 1}}"#, true);
        check(
            r#"{"a": 1, "user": "x"}"#,
            r#"{"a": 1, "user": "y", "prompt_cache_key": "z"}"#,
            true,
        );
        check(r#"{"a": 1}"#, r#"{"a": 2}"#, false);
        check(r#"{"a": [1, 2]}"#, r#"{"a": [2, 1]}"#, false);
        // Only callers' names at the top are left out.
        check(r#"{"a": {"user": "x"}}"#, r#"{"a": {"user": "y"}}"#, false);
    }

    #[test]
    fn what_is_kept_is_read_back() {
        for answer in [b"text \xc3\xbc".to_vec(), vec![0, 255, 128, 10], Vec::new()] {
            let kept = Exchange::new(question("{}"), 200, "text/plain", answer.clone());
            let read = Exchange::read(&kept.to_bytes()).expect("an exchange");
            assert_eq!(read, kept);
            assert_eq!(read.answer_bytes(), answer);
        }
        assert!(Exchange::read(b"{}").is_err());
    }
}
