//! Texts of an agent's launch that name what only a session knows ([`Fillable`]): where its gateway is, the token that opens it,
//! and its model.
//!
//! How it is used. Whoever reads a launch (an `env.` setting, a file that a preset writes) keeps such a text as a [`Fillable`]:
//! [`Fillable::parse`] refuses a placeholder that there is not, and [`Fillable::wants_model`] says before any run that the agent
//! needs a model. A driver fills it when it opens the agent, by [`Fillable::fill`] with the brief's [`ModelAccess`].
//!
//! `{gateway.openai}`, `{gateway.anthropic}` and `{gateway.gemini}` are base addresses as clients of these providers want them
//! (with `/v1`, and without a version), `{gateway.token}` stands for a key, `{model}` is the model as its provider calls it. Other
//! braces, those of JSON for instance, mean nothing; `{{model}}` is the word in braces itself.

use engine::ports::gateway::ModelAccess;
use thiserror::Error;

/// What a placeholder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The base address for clients of OpenAI's forms; it ends in the version.
    OpenAi,
    /// The base address for clients of Anthropic's form, which add the version.
    Anthropic,
    /// The base address for clients of Gemini's form, which add the version.
    Gemini,
    /// What stands for a key.
    Token,
    /// The model, as its provider calls it.
    Model,
}

impl Place {
    /// Every place by its name.
    pub const NAMES: [(&str, Self); 5] = [
        ("gateway.openai", Place::OpenAi),
        ("gateway.anthropic", Place::Anthropic),
        ("gateway.gemini", Place::Gemini),
        ("gateway.token", Place::Token),
        ("model", Place::Model),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find_map(|(known, place)| (known == name).then_some(place))
    }

    fn value(self, access: &ModelAccess) -> Option<String> {
        let address = &access.address;
        match self {
            Place::OpenAi => Some(format!("{address}/v1")),
            Place::Anthropic | Place::Gemini => Some(address.clone()),
            Place::Token => Some(access.token.clone()),
            Place::Model => access.model.clone(),
        }
    }

    fn name(self) -> &'static str {
        let mut names = Self::NAMES.into_iter();
        names.find_map(|(name, place)| (place == self).then_some(name)).unwrap_or_default()
    }
}

/// A placeholder that there is not.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "no placeholder {{{0}}}: there are {known}; {{{{{0}}}}} writes it as it is",
    known = Place::NAMES.map(|(name, _)| format!("{{{name}}}")).join(", ")
)]
pub struct UnknownPlace(pub String);

/// A session that has no such thing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{{{0}}} is wanted, and the session has no model")]
pub struct NoSuchThing(pub &'static str);

/// A text with places for what a session knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fillable {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(Place),
}

impl Fillable {
    /// Reads the placeholders of a text.
    pub fn parse(text: &str) -> Result<Self, UnknownPlace> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(name) = name_in(&from[1..])
                && from[name.len() + 3..].starts_with('}')
            {
                plain.push_str(&from[1..name.len() + 3]);
                rest = &from[name.len() + 4..];
            } else if let Some(name) = name_in(from) {
                let place = Place::named(name).ok_or_else(|| UnknownPlace(name.to_owned()))?;
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
                pieces.push(Piece::Place(place));
                rest = &from[name.len() + 2..];
            } else {
                plain.push('{');
                rest = &from[1..];
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Ok(Self { pieces })
    }

    /// Whether it can be filled only in a session that has a model.
    pub fn wants_model(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Place(_)))
    }

    /// The text with everything in its place.
    pub fn fill(&self, access: Option<&ModelAccess>) -> Result<String, NoSuchThing> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Place(place) => {
                    let value = access.and_then(|access| place.value(access));
                    text.push_str(&value.ok_or(NoSuchThing(place.name()))?);
                }
            }
        }
        Ok(text)
    }
}

/// The name between the braces with which a text begins: small letters, digits, dots and `_`.
fn name_in(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_part);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let access = ModelAccess {
            address: "http://127.0.0.1:3129".to_owned(),
            token: "sk-session-1".to_owned(),
            model: Some("m-1".to_owned()),
            line: None,
        };
        let filled = Fillable::parse(text).map_err(|unknown| unknown.0);
        let filled = filled.map(|text| text.fill(Some(&access)).expect("all is there"));
        assert_eq!(filled.as_deref().map_err(String::as_str), expect, "{text}");
    }

    #[test]
    fn places_are_filled_and_other_braces_stay() {
        check("plain", Ok("plain"));
        check("{gateway.openai}", Ok("http://127.0.0.1:3129/v1"));
        check("{gateway.anthropic}", Ok("http://127.0.0.1:3129"));
        check("{gateway.gemini}/v1beta", Ok("http://127.0.0.1:3129/v1beta"));
        check("openai/{model}:{gateway.token}!", Ok("openai/m-1:sk-session-1!"));
        let json = r#"{"a":{"b":"{model}"},"c":{}}"#;
        check(json, Ok(r#"{"a":{"b":"m-1"},"c":{}}"#));
        check("{ model } {Model} {model", Ok("{ model } {Model} {model"));
        check("{{model}} {{other}}", Ok("{model} {other}"));
        check("a{gateway.smoke}", Err("gateway.smoke"));
        check("{x}{model}", Err("x"));
    }

    #[test]
    fn what_a_session_lacks_is_told() {
        let text = Fillable::parse("a {gateway.token}").expect("known");
        assert!(text.wants_model());
        assert_eq!(text.fill(None), Err(NoSuchThing("gateway.token")));
        let plain = Fillable::parse("{{model}}").expect("known");
        assert!(!plain.wants_model());
        assert_eq!(plain.fill(None).as_deref(), Ok("{model}"));
    }

    #[test]
    fn an_unknown_place_is_told_with_what_there_is() {
        let told = UnknownPlace("url".to_owned()).to_string();
        assert!(told.starts_with("no placeholder {url}: there are {gateway.openai}, "), "{told}");
        assert!(told.ends_with("{model}; {{url}} writes it as it is"), "{told}");
    }
}
