//! Whether a word is affirmed or negated where it stands ([`Polarity`]), by the clause around it.

use alloc::{string::String, vec::Vec};

use super::text::{Break, Fit, Token, find, prose, tokens};

/// How a literal stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Polarity {
    /// Plainly.
    Affirmed,
    /// Under a negation or an exclusion.
    Negated,
}

/// Whether one of the aliases stands in the message outside code and quotes, not negated.
pub fn mentions(message: &str, aliases: &[String]) -> bool {
    let prose = prose(message);
    let words = tokens(&prose);
    aliases.iter().any(|alias| {
        let alias = tokens(alias);
        find(&words, &alias, Fit::Exact)
            .any(|start| polarity_at(&words, start, start + alias.len()) == Polarity::Affirmed)
    })
}

/// How the literal stands at each of its places, in order; empty if it is nowhere.
pub fn polarity(text: &str, literal: &str) -> Vec<Polarity> {
    let words = tokens(text);
    let literal = tokens(literal);
    find(&words, &literal, Fit::Exact)
        .map(|start| polarity_at(&words, start, start + literal.len()))
        .collect()
}

/// How the words from `start` to `end` stand among the others, negations over a list of short entries counted.
pub(crate) fn polarity_at(words: &[Token], start: usize, end: usize) -> Polarity {
    judge(words, start, end, Scope::List)
}

/// The same between two commas alone.
pub(crate) fn polarity_in_clause(words: &[Token], start: usize, end: usize) -> Polarity {
    judge(words, start, end, Scope::Clause)
}

/// How far a negation is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Clause,
    List,
}

fn judge(words: &[Token], start: usize, end: usize, scope: Scope) -> Polarity {
    let before = negations_before(words, start, scope);
    let after = u32::from(is_negated_after(words, end));
    if (before + after) % 2 == 1 { Polarity::Negated } else { Polarity::Affirmed }
}

/// Words that end the reach of a negation.
const TURNS: &[&str] = &[
    "but", "so", "because", "while", "although", "though", "since", "then", "instead", "however",
    "yet", "which", "if", "when", "until", "unless", "before", "after",
];

/// A negation reaches over six words and over a list of short entries, not into another clause.
const REACH: usize = 6;

fn negations_before(words: &[Token], start: usize, scope: Scope) -> u32 {
    let mut found = 0;
    let mut segment_end = start;
    let mut at = start;
    while at > 0 {
        match words[at].before {
            Break::Sentence | Break::Clause => break,
            Break::Comma if scope == Scope::Clause || !is_short_entry(words, at) => break,
            Break::Comma => segment_end = at,
            Break::None => {}
        }
        at -= 1;
        let word = words[at].text.as_str();
        if segment_end - at > REACH || TURNS.contains(&word) && at + 1 < start {
            break;
        }
        let next = words.get(at + 1);
        if word == "and" && next.is_some_and(|next| is_subject(&next.text)) {
            break;
        }
        if is_negator(word, next) || is_exclusion(word, next) {
            found += 1;
        }
    }
    found
}

/// Whether what follows the comma is an entry of a list: at most two words, or what "or" adds.
fn is_short_entry(words: &[Token], comma: usize) -> bool {
    if matches!(words[comma].text.as_str(), "or" | "nor") {
        return true;
    }
    let behind = words[comma + 1..].iter().take_while(|word| word.before == Break::None);
    let entry = core::iter::once(&words[comma]).chain(behind);
    entry.filter(|word| word.text != "and").count() <= 2
}

fn is_subject(word: &str) -> bool {
    matches!(word, "i" | "it" | "this" | "we" | "you" | "there" | "that" | "they" | "the")
}

fn is_negator(word: &str, next: Option<&Token>) -> bool {
    let follows = next.map_or("", |next| next.text.as_str());
    match word {
        "not" => !matches!(follows, "only" | "just" | "merely" | "least"),
        "no" => {
            next.is_some_and(|next| next.before == Break::None)
                && !matches!(follows, "doubt" | "problem" | "problems" | "worries" | "matter")
        }
        "nothing" => follows != "else",
        "never" | "without" | "neither" | "nor" | "none" | "nobody" | "unable" => true,
        _ => false,
    }
}

fn is_exclusion(word: &str, next: Option<&Token>) -> bool {
    let follows = next.map_or("", |next| next.text.as_str());
    match word {
        "avoid" | "avoids" | "avoided" | "avoiding" | "omit" | "omits" | "omitted" | "omitting"
        | "skip" | "skips" | "skipped" | "skipping" | "exclude" | "excluded" | "excluding"
        | "refrain" | "forbid" | "forbidden" | "stop" | "lack" | "lacks" => true,
        "leave" | "leaves" | "left" | "leaving" => follows == "out",
        "free" => matches!(follows, "of" | "from"),
        "fail" | "failed" | "fails" => follows == "to",
        _ => false,
    }
}

/// "… is not covered", "… was never explained": a negation behind the words, of what is said of them.
fn is_negated_after(words: &[Token], end: usize) -> bool {
    let mut rest = words[end.min(words.len())..]
        .iter()
        .take_while(|word| word.before == Break::None)
        .map(|word| word.text.as_str());
    let verb = rest.next().unwrap_or("");
    if !matches!(
        verb,
        "is" | "are"
            | "was"
            | "were"
            | "has"
            | "have"
            | "does"
            | "do"
            | "did"
            | "can"
            | "could"
            | "will"
            | "would"
            | "should"
            | "must"
            | "need"
    ) {
        return false;
    }
    if !matches!(rest.next(), Some("not" | "never")) {
        return false;
    }
    rest.take(3).any(|word| {
        matches!(
            word,
            "covered"
                | "included"
                | "explained"
                | "described"
                | "mentioned"
                | "discussed"
                | "needed"
                | "required"
                | "necessary"
                | "allowed"
                | "possible"
                | "tested"
                | "done"
                | "given"
                | "addressed"
                | "known"
                | "provided"
                | "there"
                | "important"
                | "wanted"
                | "relevant"
                | "matter"
                | "apply"
                | "exist"
                | "have"
                | "be"
                | "part"
        )
    })
}
