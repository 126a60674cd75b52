//! What a scripted model says and when ([`ModelScript`]), read from TOML.

use std::collections::BTreeMap;

use domain::usage::Tokens;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// Why a script cannot be read.
#[derive(Debug, Error)]
pub enum ScriptProblem {
    /// It is no such TOML.
    #[error("model script: {0}")]
    Toml(#[from] toml::de::Error),
    /// A pattern is no regular expression.
    #[error("model script, [[on]] number {nth}: `user` is no regular expression: {source}")]
    Pattern {
        /// Which block, from 1.
        nth: usize,
        /// Why.
        source: regex::Error,
    },
    /// A block has nothing to say.
    #[error("model script, [[on]] number {0}: give it at least one [[on.answer]]")]
    Empty(usize),
}

/// A script: blocks in order, of which the first that fits a request counts.
#[derive(Debug)]
pub struct ModelScript {
    /// The blocks.
    pub(super) blocks: Vec<Block>,
}

/// Answers to one message of the user, round by round.
#[derive(Debug)]
pub(super) struct Block {
    /// What the last message of the user must hold; none fits every message.
    pub(super) user: Option<Regex>,
    /// The answers: the first to the message, the next ones to the results of tools.
    pub(super) answers: Vec<ScriptedAnswer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScript {
    #[serde(default, rename = "on")]
    blocks: Vec<WrittenBlock>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBlock {
    user: Option<String>,
    #[serde(default, rename = "answer")]
    answers: Vec<ScriptedAnswer>,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScriptedAnswer {
    /// Reasoning before it.
    pub(super) think: Option<String>,
    /// Its text.
    pub(super) say: Option<String>,
    /// Commands for the agent's own shell tool.
    pub(super) run: Vec<String>,
    /// Files for the agent's own writing tool, else its shell, by path.
    pub(super) write: BTreeMap<String, String>,
    /// Calls of tools by their names.
    pub(super) call: Vec<ScriptedCall>,
    /// What is said where the request wants JSON; without it the least that fits the schema.
    pub(super) json: Option<Value>,
    /// The model that says it answered; without it the one asked for.
    pub(super) model: Option<String>,
    /// The tokens that are told; without them they are counted from the text.
    pub(super) usage: Option<ScriptedUsage>,
    /// No tokens are told at all.
    pub(super) omit_usage: bool,
    /// What goes wrong.
    pub(super) fault: Option<ScriptedFault>,
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    /// The tool's name.
    pub(super) tool: String,
    /// Its input: a table, or the text of a freeform tool.
    #[serde(default)]
    pub(super) input: Value,
}

/// Tokens with one meaning for all forms: cached input and writes are part of the input, reasoning of the output.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScriptedUsage {
    input: u64,
    cached_input: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
}

impl ScriptedUsage {
    pub(super) fn tokens(self) -> Tokens {
        Tokens {
            input: Some(self.input),
            cached_input: Some(self.cached_input),
            cache_write: Some(self.cache_write),
            output: Some(self.output),
            reasoning: Some(self.reasoning),
            hosted_uses: None,
        }
    }
}

/// What goes wrong with an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedFault {
    /// The first so many requests meet it, all of them without it.
    pub(super) times: Option<u32>,
    /// How.
    pub(super) how: FaultKind,
}

/// How an answer goes wrong.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum FaultKind {
    /// An error by its status.
    Status {
        /// The status.
        status: u16,
        /// The kind of the error in the provider's word.
        #[serde(default)]
        kind: String,
        /// After how many seconds it may be asked again.
        retry_after_sec: Option<f64>,
    },
    /// No answer begins.
    Hang,
    /// So many milliseconds between the pieces.
    DripMs(u64),
    /// Silence after so many pieces.
    StallAfter(usize),
    /// The connection ends after so many pieces.
    TruncateAfter(usize),
    /// The piece of that number, from 0, is no JSON.
    MalformedEvent(usize),
    /// An error of that kind after so many pieces, under a good status.
    ErrorInside {
        /// The kind.
        kind: String,
        /// After how many pieces.
        #[serde(default)]
        after: usize,
    },
    /// So many bytes more than there should be.
    HugeBytes(usize),
    /// The answer says that it is of that type.
    ContentType(String),
    /// The connection ends before any answer.
    Disconnect,
}

impl ModelScript {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Self, ScriptProblem> {
        let written: WrittenScript = toml::from_str(text)?;
        let mut blocks = Vec::new();
        for (at, block) in written.blocks.into_iter().enumerate() {
            if block.answers.is_empty() {
                return Err(ScriptProblem::Empty(at + 1));
            }
            let user = block.user.as_deref().map(Regex::new).transpose();
            let user = user.map_err(|source| ScriptProblem::Pattern { nth: at + 1, source })?;
            blocks.push(Block { user, answers: block.answers });
        }
        Ok(Self { blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_or_refused_with_a_reason() {
        let check = |text: &str, expected: Result<usize, &str>| match expected {
            Ok(blocks) => {
                assert_eq!(ModelScript::parse(text).expect("a script").blocks.len(), blocks);
            }
            Err(part) => {
                let problem = ModelScript::parse(text).expect_err("no script").to_string();
                assert!(problem.contains(part), "{problem}");
            }
        };
        check("", Ok(0));
        check("[[on]]\n[[on.answer]]\nsay = \"a\"", Ok(1));
        let faults = "[[on]]\n[[on.answer]]\nfault = { how = \"hang\" }\n[[on.answer]]\n\
            fault = { times = 2, how = { status = { status = 429, retry_after_sec = 1.5 } } }\n\
            [[on.answer]]\nfault = { how = { truncate_after = 3 } }";
        check(faults, Ok(1));
        check("[[on]]\nuser = \"(\"\n[[on.answer]]", Err("number 1: `user`"));
        check("[[on]]\nuser = \"a\"", Err("number 1: give it"));
        check("[[on]]\n[[on.answer]]\nsays = \"a\"", Err("unknown field `says`"));
        check("[[on]]\n[[on.answer]]\nfault = { how = \"explode\" }", Err("unknown variant"));
    }
}
