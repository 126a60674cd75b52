//! Which form and which verb a path means ([`Route`]).

use domain::evidence::WireFormat;

/// What is done at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// An answer of a model.
    Generate {
        /// The model, if the path names it (Gemini).
        model: Option<String>,
        /// Whether the path itself asks for a stream (Gemini).
        is_stream: bool,
    },
    /// How many tokens a request would have.
    CountTokens,
    /// Which models there are, or one of them.
    Models,
}

/// A path of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The form; that of a list of models is the one that its path is shared by.
    pub format: WireFormat,
    /// What is done.
    pub verb: Verb,
    /// The path below the provider's base, which ends in its version (`…/v1`).
    pub below_base: String,
}

impl Route {
    /// Reads method and path (without query); none if no provider has it.
    pub fn of(method: &str, path: &str) -> Option<Route> {
        let path = path.trim_end_matches('/');
        if let Some(below) = after_version(path, &["v1beta", "v1alpha"]) {
            return gemini(method, below);
        }
        let below = after_version(path, &["v1"]).unwrap_or(path);
        let generate = Verb::Generate { model: None, is_stream: false };
        let (format, verb) = match (method, below) {
            ("POST", "/chat/completions") => (WireFormat::OpenAiChat, generate),
            ("POST", "/responses") => (WireFormat::OpenAiResponses, generate),
            ("POST", "/responses/input_tokens") => (WireFormat::OpenAiResponses, Verb::CountTokens),
            ("POST", "/messages") => (WireFormat::AnthropicMessages, generate),
            ("POST", "/messages/count_tokens") => {
                (WireFormat::AnthropicMessages, Verb::CountTokens)
            }
            ("GET", "/models") => (WireFormat::OpenAiChat, Verb::Models),
            ("GET", one) if is_one_model(one) => (WireFormat::OpenAiChat, Verb::Models),
            _ => return gemini(method, below),
        };
        Some(Route { format, verb, below_base: below.to_owned() })
    }
}

/// What follows the version, which stands first or after a prefix that a client puts before it.
fn after_version<'a>(path: &'a str, versions: &[&str]) -> Option<&'a str> {
    versions.iter().find_map(|version| {
        let at = path.find(&format!("/{version}/"))?;
        Some(&path[at + 1 + version.len()..])
    })
}

/// Names of models may hold a slash, but nothing that leads elsewhere.
fn is_one_model(below: &str) -> bool {
    below.strip_prefix("/models/").is_some_and(is_plain_name)
}

fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@/".contains(c);
    !name.is_empty() && name.chars().all(is_plain) && !name.split('/').any(|part| part == "..")
}

fn gemini(method: &str, below: &str) -> Option<Route> {
    let format = WireFormat::Gemini;
    let below_base = below.to_owned();
    if method == "GET" && (below == "/models" || is_one_model(below)) {
        return Some(Route { format, verb: Verb::Models, below_base });
    }
    let (name, verb) = below.strip_prefix('/')?.rsplit_once(':')?;
    let model = name.strip_prefix("models/").filter(|name| is_plain_name(name))?;
    let model = Some(model.to_owned());
    let verb = match (method, verb) {
        ("POST", "generateContent") => Verb::Generate { model, is_stream: false },
        ("POST", "streamGenerateContent") => Verb::Generate { model, is_stream: true },
        ("POST", "countTokens") => Verb::CountTokens,
        _ => return None,
    };
    Some(Route { format, verb, below_base })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_forms() {
        use WireFormat::{AnthropicMessages, Gemini, OpenAiChat, OpenAiResponses};
        let check = |method: &str, path: &str, expected: Option<(WireFormat, &str)>| {
            let found = Route::of(method, path);
            let found = found.as_ref().map(|route| (route.format, route.below_base.as_str()));
            assert_eq!(found, expected, "{method} {path}");
        };
        check("POST", "/v1/chat/completions", Some((OpenAiChat, "/chat/completions")));
        check("POST", "/chat/completions/", Some((OpenAiChat, "/chat/completions")));
        check("POST", "/openai/v1/responses", Some((OpenAiResponses, "/responses")));
        check("POST", "/v1/messages", Some((AnthropicMessages, "/messages")));
        let counted = Some((AnthropicMessages, "/messages/count_tokens"));
        check("POST", "/v1/messages/count_tokens", counted);
        check("GET", "/v1/models", Some((OpenAiChat, "/models")));
        check("GET", "/v1/models/org/name-1.5", Some((OpenAiChat, "/models/org/name-1.5")));
        check("GET", "/v1beta/models", Some((Gemini, "/models")));
        let generate = Some((Gemini, "/models/g-3:generateContent"));
        check("POST", "/v1beta/models/g-3:generateContent", generate);
        check("POST", "/v1/models/g-3:generateContent", generate);
        // What is no form of a model stays shut.
        check("GET", "/v1/chat/completions", None);
        check("POST", "/v1/files", None);
        check("POST", "/v1/embeddings", None);
        check("POST", "/v1/responses/resp_1/cancel", None);
        check("GET", "/v1/responses/resp_1", None);
        check("GET", "/v1/models/../files", None);
        check("POST", "/v1beta/models/../x:generateContent", None);
        check("POST", "/v1beta/cachedContents", None);
        check("POST", "/v1beta/models/g-3:batchGenerateContent", None);
        check("GET", "", None);
    }

    #[test]
    fn gemini_names_model_and_stream_in_its_path() {
        let route = Route::of("POST", "/v1beta/models/g-3:streamGenerateContent").expect("a route");
        let model = Some("g-3".to_owned());
        assert_eq!(route.verb, Verb::Generate { model, is_stream: true });
    }
}
