//! What must be so of files that were handed over ([`ArtifactCheck`]): each opens as what it says it is.

use alloc::{string::String, vec::Vec};

/// A demand on what was handed over (E10); all keys given must hold for every file that fits, and one must fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactCheck {
    /// Globs of the files meant.
    pub path: Vec<String>,
    /// It parses as this.
    pub format: Option<ArtifactFormat>,
    /// It refers to nothing outside itself, links that a reader may follow aside.
    pub self_contained: bool,
    /// CSS selectors, each of which some element fits.
    pub has: Vec<String>,
    /// CSS selectors, none of which any element fits.
    pub lacks: Vec<String>,
    /// Patterns, each of which the visible text matches.
    pub text: Vec<String>,
    /// Rows below the heading, at the least.
    pub rows_min: Option<u32>,
    /// The heading's names, in order; empty means any.
    pub columns: Vec<String>,
    /// What separates fields.
    pub delimiter: char,
    /// A program with its arguments that ends with 0 where there is little but a shell.
    pub runs: Vec<String>,
    /// What that program's standard output matches.
    pub prints: Option<String>,
    /// Time limit of the program.
    pub timeout_sec: u32,
}

/// A format that a file can be handed over in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArtifactFormat {
    /// A page for a browser.
    Html,
    /// A vector picture.
    Svg,
    /// Well-formed XML.
    Xml,
    /// A table of one width with a heading.
    Csv,
    /// A JSON object or list.
    Json,
    /// Text without control characters.
    Text,
    /// A sound SQLite database.
    Sqlite,
    /// An archive whose members can all be unpacked.
    Zip,
}

impl ArtifactFormat {
    /// All formats with the words that name them in files.
    pub const NAMED: [(&'static str, Self); 8] = [
        ("html", Self::Html),
        ("svg", Self::Svg),
        ("xml", Self::Xml),
        ("csv", Self::Csv),
        ("json", Self::Json),
        ("text", Self::Text),
        ("sqlite", Self::Sqlite),
        ("zip", Self::Zip),
    ];

    /// Whether it has elements that selectors can fit.
    pub fn has_elements(self) -> bool {
        matches!(self, Self::Html | Self::Svg)
    }

    /// Whether it has text that a person can read in it.
    pub fn has_text(self) -> bool {
        !matches!(self, Self::Sqlite | Self::Zip)
    }
}
