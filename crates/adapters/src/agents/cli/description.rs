//! How a command-line agent is driven, as data ([`CliDescription`]): its commands, where the name of its session stands, and
//! what its lines mean.

use std::{collections::BTreeMap, sync::LazyLock};

use domain::session::ToolKind;
use regex::Regex;
use serde::Deserialize;
use thiserror::Error;

/// Why a description cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadDescription {
    /// It is no TOML, or holds a key or value that is not known.
    #[error("{0}")]
    Toml(String),
    /// It is written well and makes no sense; says what and how to mend it.
    #[error("{0}")]
    Sense(String),
}

/// How an agent is driven that is started anew for each turn.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CliDescription {
    /// As it is called in rows.
    pub name: String,
    /// A command that prints its version; it is run once, before the session.
    #[serde(default)]
    pub version: Vec<String>,
    /// The command of the first turn. `{prompt}`, `{session}`, `{state}` (a folder for what the agent keeps), the gateway's
    /// address and token and the model are put in.
    pub first: Vec<String>,
    /// The command of every other turn.
    pub next: Vec<String>,
    /// How it gets the message.
    #[serde(default)]
    pub prompt: PromptBy,
    /// What it prints.
    #[serde(default)]
    pub output: Output,
    /// Exit codes with which it gives control back; with any other it crashed.
    #[serde(default = "success")]
    pub finished: Vec<i32>,
    /// Its variables; but for the message and the session, the same is put in.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where the name of its session stands.
    pub session: Option<SessionName>,
    /// Lines of text that fit one of these regular expressions are notes, and no words to the user.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What its events mean; every one that fits counts.
    #[serde(default)]
    pub event: Vec<EventMeaning>,
}

/// How an agent gets the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    /// Where its arguments say `{prompt}`.
    #[default]
    Argument,
    /// On its standard input, which ends there.
    Stdin,
    /// In a file that stands as long as the turn; `{prompt}` is its path.
    File,
}

/// What an agent prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// A JSON object a line; other lines are kept as notes.
    #[default]
    Events,
    /// Words.
    Text,
}

/// Where the name of a session stands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionName {
    /// In an event: the first of these places that holds one.
    #[serde(default)]
    pub at: Vec<Place>,
    /// Only in events that look like this.
    #[serde(default)]
    pub when: BTreeMap<Place, Expected>,
    /// In a line that is no event: what the first group of this regular expression matches.
    pub pattern: Option<String>,
    /// The agent takes this one.
    pub chosen: Option<String>,
}

/// What an event means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventMeaning {
    /// What must stand in it.
    #[serde(default)]
    pub when: BTreeMap<Place, Expected>,
    /// A list in it, whose elements are looked at one by one: places are then the element's.
    pub each: Option<Place>,
    /// Words to the user.
    pub says: Option<Place>,
    /// A thought.
    pub thinks: Option<Place>,
    /// Names the message that words or thoughts are a piece of; without it they are whole.
    pub message: Option<Place>,
    /// A tool is called.
    pub calls: Option<CallMeaning>,
    /// A tool came back.
    pub returns: Option<ReturnMeaning>,
    /// Tokens.
    pub uses: Option<UseMeaning>,
    /// Something worth a note.
    pub notes: Option<Place>,
    /// The turn failed: why.
    pub fails: Option<Place>,
}

/// A call of a tool in an event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallMeaning {
    /// The agent's own name of the call.
    pub id: Option<Place>,
    /// The tool.
    pub title: Place,
    /// Its kind; without it, what its title means.
    pub kind: Option<KindWord>,
    /// What it was given.
    pub input: Option<Place>,
}

/// A tool's return in an event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReturnMeaning {
    /// The agent's own name of the call.
    pub id: Option<Place>,
    /// What it gave back: the first of these that holds something.
    #[serde(default)]
    pub output: Vec<Place>,
    /// The exit code of its command.
    pub exit_code: Option<Place>,
    /// It failed if one of these stands there.
    #[serde(default)]
    pub failed: BTreeMap<Place, Expected>,
}

/// Tokens in an event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UseMeaning {
    /// What the figures span.
    pub span: UseSpan,
    /// Tokens read.
    pub input: Option<Place>,
    /// Tokens read from a cache.
    pub cached: Option<Place>,
    /// Tokens written.
    pub output: Option<Place>,
    /// Tokens of thoughts.
    pub reasoning: Option<Place>,
    /// US dollars.
    pub cost_usd: Option<Place>,
}

/// What figures of an event span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseSpan {
    /// The turn.
    Turn,
    /// The session so far: the difference to the turn before is told.
    Session,
    /// One request: the sum of the turn is told.
    Request,
}

/// A kind of tool as a description writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KindWord {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Runs a command.
    Execute,
    /// Searches.
    Search,
    /// Fetches something from elsewhere.
    Fetch,
    /// Anything else.
    Other,
}

impl From<KindWord> for ToolKind {
    fn from(word: KindWord) -> Self {
        match word {
            KindWord::Read => ToolKind::Read,
            KindWord::Edit => ToolKind::Edit,
            KindWord::Execute => ToolKind::Execute,
            KindWord::Search => ToolKind::Search,
            KindWord::Fetch => ToolKind::Fetch,
            KindWord::Other => ToolKind::Other,
        }
    }
}

/// Where a value stands: a JSON pointer into the element that is looked at, one into the whole event (`^/…`), or the value
/// itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub enum Place {
    /// In the element, or in the event if there is none.
    Element(String),
    /// In the event.
    Event(String),
    /// Nowhere: this very text.
    Literal(String),
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        match text.strip_prefix('^') {
            Some(pointer) if pointer.starts_with('/') => Place::Event(pointer.to_owned()),
            _ if text.starts_with('/') => Place::Element(text),
            _ => Place::Literal(text),
        }
    }
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "toml::Value")]
pub struct Expected {
    /// It is one of these, written as text; none: anything that is not null.
    pub any_of: Option<Vec<String>>,
}

impl From<toml::Value> for Expected {
    fn from(value: toml::Value) -> Self {
        let text =
            |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let any_of = match &value {
            toml::Value::String(star) if star == "*" => None,
            toml::Value::Array(list) => Some(list.iter().map(text).collect()),
            one => Some(vec![text(one)]),
        };
        Expected { any_of }
    }
}

fn success() -> Vec<i32> {
    vec![0]
}

/// What may be put into arguments.
const KNOWN: [&str; 3] = ["{prompt}", "{session}", "{state}"];

/// What may be put in of a session's gateway.
pub(super) const OF_GATEWAY: [&str; 5] =
    ["{gateway.openai}", "{gateway.anthropic}", "{gateway.gemini}", "{gateway.token}", "{model}"];

static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{[a-z][a-z_.]*\}").expect("the pattern is right"));

impl CliDescription {
    /// Reads a description.
    ///
    /// # Errors
    /// It is no TOML, holds an unknown key, or could not be used; says where and what.
    pub fn read(text: &str) -> Result<Self, BadDescription> {
        let read: Self = toml::from_str(text)
            .map_err(|error| BadDescription::Toml(error.to_string().trim_end().to_owned()))?;
        read.makes_sense().map_err(BadDescription::Sense)?;
        Ok(read)
    }

    /// Whether it can be driven only in a session that has a model.
    pub fn wants_model(&self) -> bool {
        let commands = self.first.iter().chain(&self.next);
        commands.chain(self.env.values()).any(|text| OF_GATEWAY.iter().any(|at| text.contains(at)))
    }

    fn makes_sense(&self) -> Result<(), String> {
        let chosen = self.session.as_ref().is_some_and(|session| session.chosen.is_some());
        for (key, command) in [("first", &self.first), ("next", &self.next)] {
            if command.is_empty() {
                return Err(format!("{key}: it names no program"));
            }
            let unknown = command
                .iter()
                .flat_map(|argument| PLACEHOLDER.find_iter(argument))
                .find(|found| !KNOWN.iter().chain(&OF_GATEWAY).any(|name| *name == found.as_str()));
            if let Some(unknown) = unknown {
                let known = [&KNOWN[..], &OF_GATEWAY].concat().join(", ");
                return Err(format!("{key}: {} is not known; there are {known}", unknown.as_str()));
            }
            if holds(command, "{prompt}") == (self.prompt == PromptBy::Stdin) {
                return Err(match self.prompt {
                    PromptBy::Stdin => format!(
                        "{key}: {{prompt}} stands in it, and prompt = \"stdin\"; leave one of them out"
                    ),
                    _ => format!(
                        "{key}: the message has no place; write {{prompt}}, or prompt = \"stdin\""
                    ),
                });
            }
        }
        if holds(&self.first, "{session}") && !chosen {
            return Err(
                "first: no session has a name yet; only one that is `chosen` has".to_owned()
            );
        }
        if holds(&self.next, "{session}") && self.session.is_none() {
            return Err(
                "next: {session} is not told; a table [session] says where it stands".to_owned()
            );
        }
        self.session.as_ref().map_or(Ok(()), SessionName::makes_sense)?;
        for pattern in &self.notes {
            Regex::new(pattern).map_err(|error| format!("notes: {error}"))?;
        }
        if self.finished.is_empty() {
            return Err("finished: with no exit code would it ever give control back".to_owned());
        }
        match self.output {
            Output::Text if !self.event.is_empty() => {
                Err("event: there are none where output = \"text\"".to_owned())
            }
            Output::Events if !self.event.iter().any(|event| event.says.is_some()) => {
                Err("event: none `says` anything, so that the user would hear nothing".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl SessionName {
    fn makes_sense(&self) -> Result<(), String> {
        let ways = [!self.at.is_empty(), self.pattern.is_some(), self.chosen.is_some()];
        if ways.iter().filter(|way| **way).count() != 1 {
            return Err("session: write exactly one of at, pattern and chosen".to_owned());
        }
        match &self.pattern {
            None => Ok(()),
            Some(pattern) => match Regex::new(pattern) {
                Ok(regex) if regex.captures_len() == 2 => Ok(()),
                Ok(_) => Err("session: the pattern needs one group, which is the name".to_owned()),
                Err(error) => Err(format!("session: {error}")),
            },
        }
    }
}

/// Whether a placeholder stands in a command.
pub(super) fn holds(command: &[String], placeholder: &str) -> bool {
    command.iter().any(|argument| argument.contains(placeholder))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
name = 'mine'
first = ['mine', '{prompt}']
next = ['mine', '--resume={session}', '{prompt}']
session = { at = ['/id'] }
[[event]]
when = { '/type' = ['text', 'words'], '/n' = 1, '/x' = '*' }
says = '/text'
";

    #[test]
    fn what_makes_no_sense_is_said() {
        let check = |from: &str, to: &str, expect: &str| {
            let text = GOOD.replace(from, to);
            let refused = CliDescription::read(&text).expect_err(to).to_string();
            assert!(refused.contains(expect), "{refused}");
        };
        assert_eq!(CliDescription::read(GOOD).map(|read| read.name), Ok("mine".to_owned()));
        check("says = ", "sais = ", "unknown field `sais`");
        check("says = ", "notes = ", "none `says` anything");
        check("'{prompt}']\nnext", "'{promt}']\nnext", "{promt} is not known");
        check("'{prompt}']\nnext", "'x']\nnext", "first: the message has no place");
        check("name", "prompt = 'stdin'\nname", "leave one of them out");
        check("name", "output = 'text'\nname", "event: there are none");
        check("name", "finished = []\nname", "finished: ");
        check("name", "notes = ['(']\nname", "notes: regex parse error");
        check("session = { at = ['/id'] }", "", "next: {session} is not told");
        check("at = ['/id']", "pattern = 'id: x'", "needs one group");
        check("at = ['/id']", "at = ['/id'], chosen = 'a'", "exactly one of");
        check("first = ['mine', ", "first = ['{session}', ", "no session has a name yet");
        check("first = ['mine', '{prompt}']", "first = []", "it names no program");
    }
}
