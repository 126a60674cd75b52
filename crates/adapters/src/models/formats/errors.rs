//! Errors in each form ([`ErrorReply`]): whose doing one is ([`Blame`]), and how the gateway words its own
//! ([`error_body`]).

use domain::evidence::WireFormat;
use serde_json::{Value, json};

use super::text;

/// An error that a provider told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReply {
    /// Its kind in the provider's word; empty if it has none.
    pub kind: String,
    /// What it says.
    pub message: String,
}

/// Whose doing an error is, and whether asking again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The provider's, for a while: the same request may be asked again.
    Passing,
    /// Of the request.
    Request,
    /// Of the key, the account or the configured model: asking again does not help.
    Ours,
}

/// Kinds that say that the request is at fault, whatever the status.
const OF_REQUESTS: [&str; 9] = [
    "invalid_request_error",
    "invalid_prompt",
    "context_length_exceeded",
    "content_filter",
    "content_policy_violation",
    "request_too_large",
    "INVALID_ARGUMENT",
    "FAILED_PRECONDITION",
    "string_above_max_length",
];

/// Words of a message or kinds that say that an account is at fault, whatever the status.
const OF_ACCOUNTS: [&str; 9] = [
    "insufficient_quota",
    "billing_not_active",
    "credit balance is too low",
    "API_KEY_INVALID",
    "API key not valid",
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "exceeded your current quota",
];

impl ErrorReply {
    /// The error that an answer or an event holds; none if it holds none.
    pub fn inside(value: &Value) -> Option<ErrorReply> {
        let error = [value.get("error"), value.pointer("/response/error")]
            .into_iter()
            .flatten()
            .find(|error| !error.is_null());
        if let Some(error) = error {
            return Some(ErrorReply {
                kind: ["/code", "/type", "/status"]
                    .into_iter()
                    .find_map(|path| text(error, path))
                    .unwrap_or_default()
                    .to_owned(),
                message: text(error, "/message")
                    .or_else(|| error.as_str())
                    .unwrap_or_default()
                    .to_owned(),
            });
        }
        let kind = text(value, "/type")?;
        matches!(kind, "error" | "response.failed").then(|| ErrorReply {
            kind: text(value, "/code").unwrap_or_default().to_owned(),
            message: text(value, "/message").unwrap_or_default().to_owned(),
        })
    }

    /// The error of an answer whose status says that it is one.
    pub fn of_body(bytes: &[u8]) -> ErrorReply {
        let value: Option<Value> = serde_json::from_slice(bytes).ok();
        // Gemini puts its errors into a list where it streams.
        let value = value.map(|value| match value {
            Value::Array(mut list) if list.len() == 1 => list.remove(0),
            other => other,
        });
        value.as_ref().and_then(Self::inside).unwrap_or_else(|| ErrorReply {
            kind: String::new(),
            message: String::from_utf8_lossy(bytes).chars().take(400).collect(),
        })
    }

    /// Whose doing it is if it came within an answer whose status was good.
    pub fn blame(&self) -> Blame {
        if self.is_of_account() {
            Blame::Ours
        } else if OF_REQUESTS.contains(&self.kind.as_str()) {
            Blame::Request
        } else {
            Blame::Passing
        }
    }

    /// Whose doing it is if it came with a status; `asks_ours` says whether the request names the
    /// configured model.
    pub fn blame_of_status(&self, status: u16, asks_ours: bool) -> Blame {
        match status {
            401..=403 => Blame::Ours,
            _ if self.is_of_account() => Blame::Ours,
            404 if asks_ours && self.is_of_model() => Blame::Ours,
            408 | 409 | 425 | 429 => Blame::Passing,
            501 | 505 => Blame::Request,
            500.. => Blame::Passing,
            // A request is answered by a proxy on the way, or sent elsewhere: nothing that an agent does.
            300..=399 => Blame::Ours,
            _ => Blame::Request,
        }
    }

    fn is_of_account(&self) -> bool {
        OF_ACCOUNTS.iter().any(|words| self.kind == *words || self.message.contains(words))
    }

    /// Any 404 of a known path is about the model, unless it says otherwise.
    fn is_of_model(&self) -> bool {
        self.kind != "previous_response_not_found"
    }
}

/// The body of an error of the gateway's own, in the form that the client expects.
pub fn error_body(format: WireFormat, status: u16, message: &str) -> Value {
    let (openai, anthropic, gemini) = match status {
        400 | 404 | 413 | 415 => {
            ("invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT")
        }
        401 => ("authentication_error", "authentication_error", "UNAUTHENTICATED"),
        403 => ("permission_error", "permission_error", "PERMISSION_DENIED"),
        429 => ("rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        _ => ("server_error", "api_error", "UNAVAILABLE"),
    };
    match format {
        WireFormat::OpenAiChat | WireFormat::OpenAiResponses => json!({
            "error": {"message": message, "type": openai, "param": null, "code": null}
        }),
        WireFormat::AnthropicMessages => json!({
            "type": "error", "error": {"type": anthropic, "message": message}
        }),
        WireFormat::Gemini => json!({
            "error": {"code": status, "message": message, "status": gemini}
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blame_falls_where_it_belongs() {
        let check = |status: u16, body: Value, asks_ours: bool, expected: Blame| {
            let reply = ErrorReply::of_body(body.to_string().as_bytes());
            assert_eq!(reply.blame_of_status(status, asks_ours), expected, "{status} {body}");
        };
        let plain = json!({});
        for status in [429, 500, 502, 503, 504, 529, 408, 409] {
            check(status, plain.clone(), true, Blame::Passing);
        }
        for status in [400, 405, 413, 415, 422, 501] {
            check(status, plain.clone(), true, Blame::Request);
        }
        for status in [301, 401, 402, 403] {
            check(status, plain.clone(), true, Blame::Ours);
        }
        check(404, json!({"error": {"code": "model_not_found"}}), true, Blame::Ours);
        check(404, json!({"error": {"code": "model_not_found"}}), false, Blame::Request);
        let gone = json!({"error": {"code": "previous_response_not_found"}});
        check(404, gone, true, Blame::Request);
        check(429, json!({"error": {"code": "insufficient_quota"}}), true, Blame::Ours);
        let poor = json!({"error": {"type": "invalid_request_error",
            "message": "Your credit balance is too low to access the API."}});
        check(400, poor, true, Blame::Ours);
        let key = json!([{"error": {"code": 400, "message": "API key not valid.",
            "status": "INVALID_ARGUMENT"}}]);
        check(400, key, true, Blame::Ours);
        check(503, json!("<html>"), true, Blame::Passing);
    }

    #[test]
    fn errors_inside_answers_are_found() {
        let check = |value: Value, expected: Option<Blame>| {
            assert_eq!(ErrorReply::inside(&value).map(|e| e.blame()), expected, "{value}");
        };
        let overloaded = json!({"type": "error", "error": {"type": "overloaded_error"}});
        check(overloaded, Some(Blame::Passing));
        check(json!({"type": "error", "code": "rate_limit_exceeded"}), Some(Blame::Passing));
        let failed = json!({"type": "response.failed",
            "response": {"error": {"code": "server_error", "message": "m"}}});
        check(failed, Some(Blame::Passing));
        let failed = json!({"type": "response.failed",
            "response": {"error": {"code": "context_length_exceeded"}}});
        check(failed, Some(Blame::Request));
        check(json!({"error": "plain words"}), Some(Blame::Passing));
        check(json!({"error": null, "type": "message"}), None);
        check(json!({"object": "response", "error": null}), None);
    }

    #[test]
    fn our_own_errors_are_read_back_in_every_form() {
        for format in WireFormat::ALL {
            let body = error_body(format, 403, "shut");
            let reply = ErrorReply::inside(&body).expect("an error");
            assert_eq!(reply.message, "shut", "{format:?}");
            assert!(!reply.kind.is_empty(), "{format:?}");
        }
    }
}
