//! The providers' four forms of requests and answers: which path means which ([`Route`]), what a request asks for
//! ([`Asked`]), what an answer says ([`Tally`]), and which tools the provider would run itself ([`hosted`]).

mod asked;
mod errors;
pub mod hosted;
pub mod prompted;
mod route;
mod sse;
mod tally;

pub use asked::Asked;
pub use errors::{Blame, ErrorReply, error_body};
pub use route::{Route, Verb};
pub use sse::{Sse, SseEvent, SseOverflow};
pub use tally::Tally;

use serde_json::Value;

/// A number of an answer, whole and not negative.
fn count(value: &Value, path: &str) -> Option<u64> {
    value.pointer(path)?.as_u64()
}

/// A text of an answer that is not empty.
fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path)?.as_str().filter(|text| !text.is_empty())
}

/// The elements of a list, none if it is none.
fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
