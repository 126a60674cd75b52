//! Where each key of a release stands, so that a lint's note can name file, line and column: [`Location`].

use std::{collections::BTreeMap, ops::Range};

use super::{problem::Spot, tree::ReleaseTree};

/// The place that a note means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, relative to the release's folder.
    pub file: String,
    /// The place in it; none if the file as a whole is meant.
    pub spot: Option<Spot>,
}

/// The places of keys by file and path of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Locations {
    spans: BTreeMap<String, BTreeMap<String, Range<usize>>>,
}

impl Locations {
    pub(crate) fn add(&mut self, file: &str, spans: BTreeMap<String, Range<usize>>) {
        self.spans.insert(file.to_owned(), spans);
    }

    /// The place of a path of keys (`requirement.ID.say`), or of the nearest table around it.
    pub(crate) fn find(&self, tree: &ReleaseTree, file: &str, path: &str) -> Location {
        let spans = self.spans.get(file);
        let text = tree.bytes(file).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let mut path = path;
        let span = loop {
            if let Some(span) = spans.and_then(|spans| spans.get(path)) {
                break Some(span.clone());
            }
            match path.rfind('.') {
                Some(end) => path = &path[..end],
                None => break None,
            }
        };
        let spot = span.zip(text).map(|(span, text)| Spot::new(text, span));
        Location { file: file.to_owned(), spot }
    }
}
