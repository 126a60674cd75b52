//! Why a wording is not sent ([`Rejection`]).

use alloc::string::String;

/// One reason of the review; the text names the offending words for a second try, never what is hidden.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rejection {
    /// Nothing was said.
    Empty,
    /// More words than the persona says.
    TooLong {
        /// Words said.
        words: u32,
        /// Words allowed.
        words_max: u32,
    },
    /// Another language than the persona's.
    Language,
    /// A literal that the plan requires is missing or negated.
    LeavesOut(String),
    /// Something hidden, or a number, path, identifier or quotation from nowhere.
    SaysTooMuch(String),
    /// Assent without a grant.
    Assents(String),
    /// Code, a patch or a command.
    Code,
    /// The statement is not verbatim.
    StatementChanged,
    /// Speaks as an assistant.
    RoleFlip(String),
    /// Speaks of benchmark, test harness or simulator.
    BreaksFrame(String),
    /// More questions than allowed.
    Questions,
}
