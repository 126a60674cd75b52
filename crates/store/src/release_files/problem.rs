//! What is wrong with a file of a release: [`Problem`], collected as [`Problems`].

use std::{collections::BTreeMap, fmt, ops::Range, sync::Arc};

/// One thing wrong, with its place and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, relative to the release's folder, with forward slashes.
    pub file: String,
    /// The place in the file; none if the file as a whole is meant.
    pub spot: Option<Spot>,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// A place in a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Bytes of the file, on one line.
    pub span: Range<usize>,
    /// The offending text.
    pub snippet: String,
}

impl Spot {
    /// The place of a byte range; a range over several lines is cut after its first.
    pub fn new(text: &str, span: Range<usize>) -> Spot {
        let start = floor_boundary(text, span.start.min(text.len()));
        let end = floor_boundary(text, span.end.clamp(start, text.len()));
        let length = text[start..end].find(['\n', '\r']).unwrap_or(end - start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let count = |part: &str, what: fn(&char) -> bool| part.chars().filter(what).count() as u32;
        Spot {
            line: 1 + count(&text[..start], |c| *c == '\n'),
            column: 1 + count(&text[line_start..start], |_| true),
            span: start..start + length,
            snippet: text[start..start + length].to_owned(),
        }
    }
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Everything wrong with a release, in order of file and place; never empty when it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    warnings: Vec<Problem>,
    sources: BTreeMap<String, Arc<str>>,
}

impl Problems {
    /// The problems in order of file and place.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The text of a file that has a problem with a place.
    pub fn source(&self, file: &str) -> Option<&Arc<str>> {
        self.sources.get(file)
    }

    pub(crate) fn add(&mut self, problem: Problem) {
        self.list.push(problem);
    }

    /// Takes down what a reader does not refuse.
    pub(crate) fn warn(&mut self, warning: Problem) {
        self.warnings.push(warning);
    }

    /// What was not refused, in order of file and place.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    pub(crate) fn add_whole_file(
        &mut self,
        file: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (file, message, remedy) = (file.into(), message.into(), remedy.into());
        self.list.push(Problem { file, spot: None, message, remedy });
    }

    pub(crate) fn add_source(&mut self, file: &str, text: &str) {
        self.sources.entry(file.to_owned()).or_insert_with(|| Arc::from(text));
    }

    /// Puts them in order and keeps the sources that are needed.
    pub(crate) fn sorted(mut self) -> Problems {
        let key = |problem: &Problem| {
            let start = problem.spot.as_ref().map(|spot| spot.span.start);
            (problem.file.clone(), start, problem.message.clone())
        };
        for list in [&mut self.list, &mut self.warnings] {
            list.sort_by_cached_key(key);
            list.dedup();
        }
        let named = || self.list.iter().chain(&self.warnings).map(|problem| &problem.file);
        self.sources.retain(|file, _| named().any(|name| name == file));
        self
    }

    /// The value if nothing is wrong.
    pub(crate) fn or<T>(self, value: Option<T>) -> Result<T, Problems> {
        match value {
            Some(value) if self.is_empty() => Ok(value),
            _ => Err(self.sorted()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file)?;
        if let Some(spot) = &self.spot {
            write!(formatter, ":{}:{}", spot.line, spot.column)?;
        }
        write!(formatter, ": {}", self.message)?;
        match &self.spot {
            Some(spot) if !spot.snippet.is_empty() => {
                write!(formatter, "\n  at `{}`", spot.snippet)?;
            }
            _ => {}
        }
        write!(formatter, "\n  {}", self.remedy)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.list.iter().enumerate() {
            let gap = if at == 0 { "" } else { "\n" };
            write!(formatter, "{gap}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
