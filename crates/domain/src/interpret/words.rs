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
    let part_of = |only: &str| {
        words.iter().position(|word| word.text.split(['.', '_']).any(|part| is_form_of(part, only)))
    };
    let (start, length) = if is_plain(term) {
        let inside = || if term.contains(' ') { None } else { part_of(term) };
        let start = find_plain(words, term).or_else(inside)?;
        (start, term.split(' ').count())
    } else {
        let term = tokens(term);
        let inside = || match &term[..] {
            [only] => part_of(&only.text),
            _ => None,
        };
        (find(words, &term, Fit::Inflected).next().or_else(inside)?, term.len())
    };
    Some(words[start].start..words[start + length - 1].end)
}

/// Where the words, or a form of them, stand first: from and behind.
pub(super) fn find_form(words: &Words, wanted: &str) -> Option<(usize, usize)> {
    if is_plain(wanted) {
        let start = find_plain(words, wanted)?;
        return Some((start, start + wanted.split(' ').count()));
    }
    let wanted = tokens(wanted);
    find(words, &wanted, Fit::Inflected).next().map(|start| (start, start + wanted.len()))
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
    /// All of them with single spaces, so that a phrase is found by its bytes.
    flat: String,
    /// Where each word begins in `flat`.
    begins: Vec<usize>,
    /// The keys of the words, a bit each, so that most phrases need no search.
    keys: [u64; 4],
}

impl Words {
    fn may_hold(&self, word: u8) -> bool {
        self.keys[usize::from(word >> 6)] & (1 << (word & 63)) != 0
    }
}

/// A small number for the first word of a text in plain form, made of its first four bytes.
fn key(text: &str) -> u8 {
    let first = text.bytes().take(4).take_while(|byte| *byte != b' ');
    let head = first.fold(0_u32, |head, byte| head << 8 | u32::from(byte));
    (head.wrapping_mul(0x9e37_79b1) >> 24) as u8
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
    let mut found = Vec::with_capacity(text.len() / 5);
    let mut before = Break::Sentence;
    let mut at = 0;
    while let Some(c) = char_at(text, at) {
        let behind = at + c.len_utf8();
        if !is_word_char(c) {
            before = before.max(break_of(c, char_at(text, behind)));
            at = behind;
            continue;
        }
        let mut end = behind;
        while let Some(next) = char_at(text, end) {
            let after = end + next.len_utf8();
            let goes_on = is_word_char(next)
                || is_inner_mark(next) && char_at(text, after).is_some_and(is_word_char);
            if !goes_on {
                break;
            }
            end = after;
        }
        push_plain(&text[at..end], at, end, before, &mut found);
        before = Break::None;
        at = end;
    }
    let mut flat = String::with_capacity(text.len() + found.len());
    let mut begins = Vec::with_capacity(found.len());
    let mut keys = [0; 4];
    for (nth, word) in found.iter().enumerate() {
        if nth > 0 {
            flat.push(' ');
        }
        begins.push(flat.len());
        flat.push_str(&word.text);
        let key = key(&word.text);
        keys[usize::from(key >> 6)] |= 1 << (key & 63);
    }
    Words { list: found, flat, begins, keys }
}

fn char_at(text: &str, at: usize) -> Option<char> {
    match *text.as_bytes().get(at)? {
        byte if byte.is_ascii() => Some(char::from(byte)),
        _ => text[at..].chars().next(),
    }
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
    let may_hold = !phrase.is_empty() && words.may_hold(key(phrase));
    let begins = if may_hold { &words.begins[..] } else { &[] };
    let flat = words.flat.as_bytes();
    let wanted = phrase.as_bytes();
    begins.iter().enumerate().filter_map(move |(start, &begin)| {
        let behind = flat[begin..].strip_prefix(wanted)?;
        let is_whole = behind.first().is_none_or(|byte| *byte == b' ');
        let is_one = || {
            let spaces = wanted.iter().filter(|byte| **byte == b' ').count();
            words.list[start + 1..=start + spaces].iter().all(|word| word.before < Break::Sentence)
        };
        (is_whole && is_one()).then_some(start)
    })
}

/// Whether the text is lower-case words with single spaces and nothing that has another plain form.
fn is_plain(text: &str) -> bool {
    let is_word = |word: &[u8]| {
        !word.is_empty()
            && word != b"cannot"
            && word.iter().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    text.as_bytes().split(|byte| *byte == b' ').all(is_word)
}

/// Where words in plain form stand first, the last of them in a usual English form.
fn find_plain(words: &[Token], wanted: &str) -> Option<usize> {
    let (others, last) = match wanted.rsplit_once(' ') {
        Some((others, last)) => (Some(others), last),
        None => (None, wanted),
    };
    (0..words.len()).find(|&start| {
        let mut at = start;
        let fit = others.into_iter().flat_map(|others| others.split(' ')).all(|other| {
            let fits = words.get(at).is_some_and(|word| {
                word.text == other && (at == start || word.before < Break::Sentence)
            });
            at += 1;
            fits
        });
        fit && words.get(at).is_some_and(|word| {
            (at == start || word.before < Break::Sentence) && is_form_of(&word.text, last)
        })
    })
}

/// Whether `word` is `base` in a usual English form: plural, tense, agent noun, `-ation`.
pub(super) fn is_form_of(word: &str, base: &str) -> bool {
    if word == base {
        return true;
    }
    // Every form begins like its base.
    if base.len() < 3 || word.as_bytes().first() != base.as_bytes().first() {
        return false;
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
    let doubled = word.strip_prefix(base).and_then(|rest| rest.strip_prefix(last));
    let doubled =
        doubled.is_some_and(|ending| ["ed", "ing", "er", "ers", "able"].contains(&ending));
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

fn break_of(mark: char, next: Option<char>) -> Break {
    match mark {
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
    if word.bytes().all(|byte| byte.is_ascii() && byte != b'\'') {
        let mut text = word.to_ascii_lowercase();
        if text == "cannot" {
            text.truncate(3);
            found.push(Token { text, start, end, before });
            found.push(Token { text: "not".to_string(), start, end, before: Break::None });
        } else {
            found.push(Token { text, start, end, before });
        }
        return;
    }
    let lower = word.to_lowercase().replace('\u{2019}', "'");
    let (first, second) = match lower.as_str() {
        "can't" => ("can", Some("not")),
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
