//! The words of a text in plain form ([`Words`]), and how words and phrases are found among them.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::ops::{Deref, Range};

/// Whether the text holds the literal word for word: without case, on word boundaries, hyphen and space alike.
pub fn holds(text: &str, literal: &str) -> bool {
    // Bare punctuation has no words to be found by.
    let bare = !literal.chars().any(char::is_alphanumeric);
    bare && text.contains(literal.trim())
        || find(&tokens(text), &tokens(literal), Fit::Exact).next().is_some()
}

/// The words of the text that are the term or a form of it: `install` is found in "installing" and "install.sh".
pub fn find_term<'a>(text: &'a str, term: &str) -> Option<&'a str> {
    find_term_in(&tokens(text), term).map(|range| &text[range])
}

/// The same over words that were read before: where the term stands in their text.
pub fn find_term_in(words: &Words, term: &str) -> Option<Range<usize>> {
    let term = tokens(term);
    let whole = find(words, &term, Fit::Inflected).next();
    let inside = || match &term[..] {
        [only] => words
            .iter()
            .position(|word| word.text.split(['.', '_']).any(|part| is_form_of(part, &only.text))),
        _ => None,
    };
    let start = whole.or_else(inside)?;
    let end = start + term.len() - 1;
    Some(words[start].start..words[end].end)
}

/// One word in its plain form: lower case, contractions spelled out ("don't" is "do", "not").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The plain form.
    pub text: String,
    /// Where it begins in the text.
    pub start: usize,
    /// Where it ends in the text.
    pub end: usize,
    /// What stands between the word before and this one.
    pub before: Break,
}

/// The words of a text in plain form, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    list: Vec<Token>,
    /// All of them with single spaces, so that most phrases are ruled out by one search.
    flat: String,
    /// First bytes of the words, a bit each, so that most phrases need no search.
    initials: u64,
}

/// The bit of a word's first byte.
fn initial(word: &str) -> u64 {
    word.bytes().next().map_or(0, |byte| 1 << (byte % 64))
}

impl Deref for Words {
    type Target = [Token];

    fn deref(&self) -> &[Token] {
        &self.list
    }
}

/// How strongly two neighbouring words are parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Break {
    /// White space or a hyphen.
    None,
    /// A comma.
    Comma,
    /// A colon, semicolon, dash or bracket.
    Clause,
    /// The end of a sentence or a blank line.
    Sentence,
}

/// How exactly a word must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The same word.
    Exact,
    /// The same word, or its last word in a usual English form.
    Inflected,
}

/// The words of a text in plain form.
pub fn tokens(text: &str) -> Words {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::new();
    let mut before = Break::Sentence;
    let mut at = 0;
    while at < chars.len() {
        let (start, c) = chars[at];
        if !is_word_char(c) {
            before = before.max(break_of(&chars, at));
            at += 1;
            continue;
        }
        let mut next = at + 1;
        while next < chars.len()
            && (is_word_char(chars[next].1)
                || is_inner_mark(chars[next].1)
                    && chars.get(next + 1).is_some_and(|(_, c)| is_word_char(*c)))
        {
            next += 1;
        }
        let end = chars.get(next).map_or(text.len(), |(end, _)| *end);
        push_plain(&text[start..end], start, end, before, &mut found);
        before = Break::None;
        at = next;
    }
    let flat = found.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let initials = found.iter().fold(0, |bits, word| bits | initial(&word.text));
    Words { list: found, flat, initials }
}

/// Where the phrase begins in the words, each place once; never across the end of a sentence.
pub fn find(words: &[Token], phrase: &[Token], fit: Fit) -> impl Iterator<Item = usize> {
    let last = if phrase.is_empty() { 0 } else { (words.len() + 1).saturating_sub(phrase.len()) };
    (0..last).filter(move |&start| {
        phrase.iter().enumerate().all(|(offset, wanted)| {
            let word = &words[start + offset];
            let is_last = offset + 1 == phrase.len();
            (offset == 0 || word.before < Break::Sentence)
                && (word.text == wanted.text
                    || fit == Fit::Inflected && is_last && is_form_of(&word.text, &wanted.text))
        })
    })
}

/// Whether one of the phrases, each in plain form with single spaces, stands in the words; which one and where.
pub fn find_phrase<'p>(words: &Words, phrases: &[&'p str]) -> Option<(usize, &'p str)> {
    phrases.iter().find_map(|phrase| phrase_places(words, phrase).next().map(|at| (at, *phrase)))
}

/// Where a phrase in plain form stands in the words.
pub fn phrase_places<'a>(words: &'a Words, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let may_hold = words.initials & initial(phrase) != 0;
    let last = if may_hold && words.flat.contains(phrase) { words.len() } else { 0 };
    (0..last).filter(move |&start| {
        let mut at = start;
        phrase.split(' ').all(|wanted| {
            let fits = words.get(at).is_some_and(|word| {
                word.text == wanted && (at == start || word.before < Break::Sentence)
            });
            at += 1;
            fits
        })
    })
}

/// Whether `word` is `base` in a usual English form: plural, tense, agent noun, `-ation`.
pub(super) fn is_form_of(word: &str, base: &str) -> bool {
    if word == base {
        return true;
    }
    let one = base.strip_suffix('s').filter(|one| one.len() > 3 && !one.ends_with('s'));
    if one.is_some_and(|one| is_form_of(word, one)) {
        return true;
    }
    let endings = ["s", "es", "ed", "d", "ing", "er", "ers", "ation", "ations", "able"];
    let with = |stem: &str, endings: &[&str]| {
        word.strip_prefix(stem).is_some_and(|ending| endings.contains(&ending))
    };
    if base.chars().count() < 3 || !base.chars().all(char::is_alphabetic) {
        return false;
    }
    let last = base.chars().next_back().unwrap_or(' ');
    let short = &base[..base.len() - last.len_utf8()];
    let doubled = {
        let mut stem = base.to_string();
        stem.push(last);
        with(&stem, &["ed", "ing", "er", "ers", "able"])
    };
    with(base, &endings)
        || doubled
        || last == 'e' && with(short, &["ing", "able", "ation", "ations"])
        || last == 'y' && with(short, &["ies", "ied"])
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_inner_mark(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '.')
}

fn break_of(chars: &[(usize, char)], at: usize) -> Break {
    let next = chars.get(at + 1).map(|(_, c)| *c);
    match chars[at].1 {
        ',' => Break::Comma,
        ':' | ';' | '(' | ')' | '[' | ']' | '\u{2014}' | '\u{2013}' => Break::Clause,
        '-' if next == Some(' ') => Break::Clause,
        '.' | '!' | '?' | '\u{2026}' if next.is_none_or(|c| !is_word_char(c)) => Break::Sentence,
        '\n' if next == Some('\n') => Break::Sentence,
        _ => Break::None,
    }
}

/// Pushes the plain form of one written word: one token, or two for a contraction.
fn push_plain(word: &str, start: usize, end: usize, before: Break, found: &mut Vec<Token>) {
    let lower = word.to_lowercase().replace('\u{2019}', "'");
    let (first, second) = match lower.as_str() {
        "can't" | "cannot" => ("can", Some("not")),
        "won't" => ("will", Some("not")),
        "shan't" => ("shall", Some("not")),
        "let's" => ("let", Some("us")),
        "it's" | "that's" | "there's" | "here's" | "what's" | "where's" | "who's" | "how's"
        | "he's" | "she's" | "everything's" => (&lower[..lower.len() - 2], Some("is")),
        _ => match lower.split_once('\'') {
            Some((first, "t")) if first.ends_with('n') => (&first[..first.len() - 1], Some("not")),
            Some((first, "d")) => (first, Some("would")),
            Some((first, "ll")) => (first, Some("will")),
            Some((first, "ve")) => (first, Some("have")),
            Some((first, "re")) => (first, Some("are")),
            Some((first, "m")) => (first, Some("am")),
            Some((first, "s")) => (first, None),
            _ => (lower.as_str(), None),
        },
    };
    found.push(Token { text: first.to_string(), start, end, before });
    if let Some(second) = second {
        found.push(Token { text: second.to_string(), start, end, before: Break::None });
    }
}
