//! A page or a picture as a tree of elements ([`Page`]): what selectors fit, what a person reads, what it refers to.

use domain::release::ArtifactCheck;
use html5ever::{driver, tendril::TendrilSink};
use regex::Regex;
use scraper::{ElementRef, Html, HtmlTreeSink, Node, Selector};

use super::{Fault, NODES_MAX, TREE_BYTES_MAX, Unread, outside, unmatched};

/// So deep at the most; browsers give up there too.
const DEPTH_MAX: usize = 512;

/// Between two looks at how large the tree has become.
const PIECE_LETTERS: usize = 4096;

/// A document that was read whole.
pub(super) struct Page {
    tree: Html,
}

impl Page {
    /// A page for a browser: it begins as one and shows something.
    pub(super) fn of_html(text: &str) -> Result<Self, String> {
        if !begins_as_page(text) {
            return Err("it does not begin as a page".into());
        }
        let page = Self::parse(text)?;
        if page.shown().trim().is_empty() && !page.shows_picture() {
            return Err("the page shows nothing".into());
        }
        Ok(page)
    }

    /// A picture that is known to be well-formed.
    pub(super) fn of_svg(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    /// A document of markup, within the bounds of size and depth.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > TREE_BYTES_MAX {
            return Err("the document is larger than 8 MiB".into());
        }
        let sink = HtmlTreeSink::new(Html::new_document());
        let mut options = driver::ParseOpts::default();
        // What is shown only where scripts do not run is loaded there.
        options.tree_builder.scripting_enabled = false;
        let mut parser = driver::parse_document(sink, options);
        let mut rest = text;
        let mut looked_at = 0;
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8());
            let end = ends.take(PIECE_LETTERS).last().unwrap_or(rest.len());
            parser.process(rest[..end].into());
            rest = &rest[end..];
            let sink = &parser.tokenizer.sink.sink;
            let document = sink.0.borrow();
            let nodes = document.tree.nodes();
            let total = nodes.len();
            if total > NODES_MAX as usize {
                return Err("the document has more than a million nodes".into());
            }
            let is_deep = |node: ego_tree::NodeRef<'_, Node>| {
                node.ancestors().take(DEPTH_MAX + 1).count() > DEPTH_MAX
            };
            if nodes.rev().take(total - looked_at).any(is_deep) {
                return Err(format!("the document is nested deeper than {DEPTH_MAX}"));
            }
            looked_at = total;
        }
        Ok(Self { tree: parser.finish() })
    }

    /// What breaks a demand.
    pub(super) fn fault(
        &self,
        demand: &ArtifactCheck,
        patterns: &[Regex],
    ) -> Result<Fault, Unread> {
        for (wanted, selectors) in [(true, &demand.has), (false, &demand.lacks)] {
            for text in selectors {
                let selector =
                    Selector::parse(text).map_err(|_| Unread::NoSelector(text.clone()))?;
                let found = self.tree.select(&selector).next();
                match (wanted, found) {
                    (true, None) => return Ok(Some(format!("no element fits `{text}`"))),
                    (false, Some(element)) => {
                        let name = element.value().name();
                        return Ok(Some(format!("a `{name}` fits `{text}`")));
                    }
                    _ => {}
                }
            }
        }
        if demand.self_contained
            && let Some(reference) = self.outside(0)
        {
            return Ok(Some(format!("it refers to {reference}")));
        }
        Ok(unmatched(&self.shown(), patterns))
    }

    /// The text that a person reads, with single spaces.
    fn shown(&self) -> String {
        let mut text = String::new();
        let mut hidden_in = None;
        for edge in self.tree.tree.root().traverse() {
            match edge {
                ego_tree::iter::Edge::Open(node) => match node.value() {
                    Node::Text(words) if hidden_in.is_none() => text.push_str(words),
                    Node::Element(_) if hidden_in.is_none() => {
                        if ElementRef::wrap(node).is_some_and(is_hidden) {
                            hidden_in = Some(node.id());
                        } else if parts_words(node) {
                            text.push(' ');
                        }
                    }
                    _ => {}
                },
                ego_tree::iter::Edge::Close(node) => {
                    if hidden_in == Some(node.id()) {
                        hidden_in = None;
                    } else if hidden_in.is_none() && parts_words(node) {
                        text.push(' ');
                    }
                }
            }
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The first thing outside that it needs, as a page within so many others.
    pub(super) fn outside(&self, within: usize) -> Option<String> {
        outside::first(&self.tree, within)
    }

    fn shows_picture(&self) -> bool {
        const PICTURES: [&str; 5] = ["img", "svg", "canvas", "video", "object"];
        let elements = self.tree.tree.nodes().filter_map(ElementRef::wrap);
        elements
            .filter(|element| !is_hidden(*element))
            .any(|e| PICTURES.contains(&e.value().name()))
    }
}

/// Whether a document begins with what only a page begins with.
fn begins_as_page(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        rest = rest.trim_start();
        let skipped = [("<!--", "-->"), ("<?xml", "?>")].iter().find_map(|(open, close)| {
            let inner = rest.strip_prefix(open)?;
            inner.find(close).map(|at| &inner[at + close.len()..])
        });
        match skipped {
            Some(after) => rest = after,
            None => break,
        }
    }
    let Some(inside) = rest.strip_prefix('<') else { return false };
    let lower: String = inside.chars().take(32).collect::<String>().to_ascii_lowercase();
    if let Some(kind) = lower.strip_prefix("!doctype") {
        return kind.trim_start().starts_with("html");
    }
    let end = lower.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(lower.len());
    FIRST_ELEMENTS.contains(&&lower[..end])
}

/// Elements that a page, or what is meant to be one, begins with.
const FIRST_ELEMENTS: [&str; 27] = [
    "html", "head", "body", "title", "meta", "style", "main", "header", "nav", "section",
    "article", "aside", "div", "p", "h1", "h2", "h3", "table", "ul", "ol", "form", "figure",
    "center", "span", "link", "script", "base",
];

fn is_hidden(element: ElementRef<'_>) -> bool {
    const UNSEEN: [&str; 8] =
        ["head", "script", "style", "template", "noscript", "title", "datalist", "noframes"];
    let element = element.value();
    let style = element.attr("style").unwrap_or_default().to_ascii_lowercase();
    let style = outside::without_comments(&style);
    let style: String = style.chars().filter(|letter| !letter.is_whitespace()).collect();
    UNSEEN.contains(&element.name())
        || element.attr("hidden").is_some()
        || style.split(';').any(is_hiding)
        || (element.name() == "dialog" && element.attr("open").is_none())
}

/// Whether a declaration, in small letters and without blanks, leaves nothing to be seen.
fn is_hiding(declaration: &str) -> bool {
    let (name, value) = declaration.split_once(':').unwrap_or_default();
    let value = value.trim_end_matches("!important");
    match name {
        "display" => value == "none",
        "visibility" => matches!(value, "hidden" | "collapse"),
        "opacity" | "font-size" => {
            let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
            number.parse::<f64>().is_ok_and(|number| number == 0.0)
        }
        _ => false,
    }
}

/// Whether a blank stands where it begins and ends: texts, and elements within a line, stick to what is beside them.
fn parts_words(node: ego_tree::NodeRef<'_, Node>) -> bool {
    const INLINE: [&str; 20] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "em", "i", "kbd", "mark", "q", "s",
        "small", "span", "strong", "sub", "sup", "u",
    ];
    ElementRef::wrap(node).is_some_and(|element| !INLINE.contains(&element.value().name()))
}
