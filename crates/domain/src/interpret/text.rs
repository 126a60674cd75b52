//! Plain reading of text: prose without code and quotes, its sentences, lists and quotations ([`prose`]).

use alloc::{string::String, vec::Vec};
use core::ops::Range;

pub(super) use super::words::find_form;
pub use super::{
    negation::{Polarity, mentions, polarity},
    question::open_questions,
    words::{
        Break, Fit, Token, Words, find, find_phrase, find_term, find_term_in, holds, phrase_places,
        tokens,
    },
};

/// The message with fenced code, inline code, block quotes, quotations, link targets and markup blanked out.
///
/// The result has the message's length in bytes, so ranges of it are ranges of the message.
pub fn prose(message: &str) -> String {
    let mut bytes = message.as_bytes().to_vec();
    blank_blocks(message, &mut bytes);
    let no_blocks = into_text(bytes);
    let mut bytes = no_blocks.as_bytes().to_vec();
    blank_inline_code(&no_blocks, &mut bytes);
    let no_code = into_text(bytes);
    let mut bytes = no_code.as_bytes().to_vec();
    blank_quotations(&no_code, &mut bytes);
    blank_markup(&no_code, &mut bytes);
    into_text(bytes)
}

/// The sentences of a text, trimmed, in order. Blank lines, headings and list entries end a sentence too.
pub fn sentences(text: &str) -> Vec<&str> {
    sentence_ranges(text).into_iter().map(|range| &text[range]).collect()
}

/// The words of a text: whatever stands between white space and holds a letter or a digit.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// Lines outside code that are list entries with content.
pub fn list_lines(message: &str) -> u32 {
    let mut bytes = message.as_bytes().to_vec();
    blank_blocks(message, &mut bytes);
    let text = into_text(bytes);
    let entries = text.lines().filter(|line| {
        list_marker(line).is_some_and(|after| line[after..].chars().any(char::is_alphanumeric))
    });
    u32::try_from(entries.count()).unwrap_or(u32::MAX)
}

/// The message with fenced and inline code blanked out; quotations stay.
pub fn without_code(message: &str) -> String {
    let mut bytes = message.as_bytes().to_vec();
    blank_fences(message, &mut bytes);
    let no_fences = into_text(bytes);
    let mut bytes = no_fences.as_bytes().to_vec();
    blank_inline_code(&no_fences, &mut bytes);
    into_text(bytes)
}

/// Whether a fenced or inline piece of code stands in the message.
pub fn holds_code(message: &str) -> bool {
    let mut bytes = message.as_bytes().to_vec();
    blank_fences(message, &mut bytes);
    let no_fences = into_text(bytes);
    no_fences != message || !code_spans(&no_fences).is_empty()
}

/// The inside of each inline code span, as ranges of the text.
pub fn code_spans(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let run_at = |at: usize| bytes[at..].iter().take_while(|b| **b == b'`').count();
    let mut spans = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let run = run_at(at);
        if run == 0 {
            at += 1;
            continue;
        }
        let inside = at + run;
        let mut close = inside;
        let mut end = None;
        while close < bytes.len() && !is_paragraph_end(bytes, close) {
            let closing = run_at(close);
            if closing == run {
                end = Some(close);
                break;
            }
            close += closing.max(1);
        }
        match end {
            Some(end) => {
                spans.push(inside..end);
                at = end + run;
            }
            None => at = inside,
        }
    }
    spans
}

/// The inside of each quotation in double or typographic quotes, as ranges of the text.
pub fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let bytes = text.as_bytes();
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        if is_paragraph_end(bytes, at) {
            open = None;
        }
        let following = text[at + c.len_utf8()..].chars().next().unwrap_or(' ');
        match open {
            Some((start, closer)) if c == closer && (c != '\'' || !following.is_alphanumeric()) => {
                found.push(start..at);
                open = None;
            }
            Some(_) => {}
            None => {
                let closer = match c {
                    '"' => Some('"'),
                    '\u{201c}' => Some('\u{201d}'),
                    '\u{201e}' => Some('\u{201c}'),
                    '\u{ab}' => Some('\u{bb}'),
                    '\'' if !previous.is_alphanumeric() && following.is_alphanumeric() => {
                        closes_soon(&text[at + 1..]).then_some('\'')
                    }
                    _ => None,
                };
                open = closer.map(|closer| (at + c.len_utf8(), closer));
            }
        }
        previous = c;
    }
    found
}

/// The ranges of a text's sentences.
pub(super) fn sentence_ranges(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() || list_marker(line).is_some() || line.starts_with('#') {
            push_range(text, start..line_start, &mut found);
            start = line_start + list_marker(line).unwrap_or(0);
        }
        let from = start.max(line_start);
        for (offset, c) in text[from..line_start + line.len()].char_indices() {
            if from + offset >= start && ends_sentence(text, from + offset, c) {
                let mark = from + offset + c.len_utf8();
                let after = text[mark..].trim_start_matches(CLOSERS);
                let end = text.len() - after.len();
                push_range(text, start..end, &mut found);
                start = end;
            }
        }
        line_start += line.len();
        if line.starts_with('#') {
            push_range(text, start..line_start, &mut found);
            start = line_start;
        }
    }
    push_range(text, start..text.len(), &mut found);
    found
}

fn push_range(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let piece = &text[range.clone()];
    let lead = piece.len() - piece.trim_start().len();
    let piece = piece.trim();
    if piece.chars().any(char::is_alphanumeric) || piece.contains('?') {
        found.push(range.start + lead..range.start + lead + piece.len());
    }
}

/// Marks that may close behind the end of a sentence and belong to it.
const CLOSERS: [char; 5] = [')', ']', '"', '\'', '\u{201d}'];

fn ends_sentence(text: &str, at: usize, c: char) -> bool {
    if !matches!(c, '.' | '?' | '!' | '\u{2026}' | '\u{3002}' | '\u{ff1f}' | '\u{ff01}') {
        return false;
    }
    let after = text[at + c.len_utf8()..].trim_start_matches(CLOSERS);
    if !after.chars().next().is_none_or(char::is_whitespace) {
        return false;
    }
    let before = text[..at].split_whitespace().next_back().unwrap_or("").to_lowercase();
    let before = before.trim_start_matches(['(', '[']);
    c != '.'
        || !matches!(before, "e.g" | "i.e" | "etc" | "vs" | "approx" | "cf" | "no" | "fig")
        || before == "etc" && after.trim_start().starts_with(char::is_uppercase)
        || before == "no"
}

/// The length of a list marker with the white space around it, if the line begins with one.
fn list_marker(line: &str) -> Option<usize> {
    let body = line.trim_start();
    let indent = line.len() - body.len();
    let mark = match body.chars().next()? {
        '-' | '*' | '+' => 1,
        '\u{2022}' | '\u{2013}' => body.chars().next()?.len_utf8(),
        c if c.is_ascii_digit() => {
            let digits = body.bytes().take_while(u8::is_ascii_digit).count();
            (digits <= 3 && matches!(body.as_bytes().get(digits), Some(b'.' | b')')))
                .then_some(digits + 1)?
        }
        _ => return None,
    };
    body[mark..].starts_with([' ', '\t']).then_some(indent + mark)
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in &mut bytes[range] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// Blanking replaces whole characters, so what is left is still text.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

fn blank_blocks(message: &str, bytes: &mut [u8]) {
    blank_fences(message, bytes);
    let mut at = 0;
    for line in message.split_inclusive('\n') {
        if line.trim_start().starts_with('>') {
            blank(bytes, at..at + line.len());
        }
        at += line.len();
    }
}

fn blank_fences(message: &str, bytes: &mut [u8]) {
    let mut at = 0;
    let mut open: Option<(char, usize)> = None;
    for line in message.split_inclusive('\n') {
        let body = line.trim();
        let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = mark.map_or(0, |mark| body.chars().take_while(|c| *c == mark).count());
        let closes = open.is_some_and(|(with, length)| {
            mark == Some(with) && run >= length && body.chars().all(|c| c == with)
        });
        let opens = open.is_none() && run >= 3 && !body[run..].contains('`');
        if open.is_some() || opens {
            blank(bytes, at..at + line.len());
        }
        if closes {
            open = None;
        } else if opens {
            open = mark.map(|mark| (mark, run));
        }
        at += line.len();
    }
}

fn blank_inline_code(text: &str, bytes: &mut [u8]) {
    for span in code_spans(text) {
        blank(bytes, span.clone());
        for at in (0..span.start).rev().take_while(|at| text.as_bytes()[*at] == b'`') {
            bytes[at] = b' ';
        }
        for at in (span.end..text.len()).take_while(|at| text.as_bytes()[*at] == b'`') {
            bytes[at] = b' ';
        }
    }
}

fn blank_quotations(text: &str, bytes: &mut [u8]) {
    for span in quotations(text) {
        blank(bytes, span);
    }
}

fn blank_markup(text: &str, bytes: &mut [u8]) {
    let source = text.as_bytes();
    let mut line_is_fresh = true;
    for at in 0..source.len() {
        let next = source.get(at + 1).copied().unwrap_or(b' ');
        let previous = if at == 0 { b' ' } else { source[at - 1] };
        match source[at] {
            b'*' if !(line_is_fresh && next == b' ') => bytes[at] = b' ',
            b'_' if !previous.is_ascii_alphanumeric() || !next.is_ascii_alphanumeric() => {
                bytes[at] = b' ';
            }
            b'(' if previous == b']' => {
                if let Some(length) = text[at..].find([')', '\n']) {
                    blank(bytes, at..at + length);
                }
            }
            _ => {}
        }
        line_is_fresh = source[at] == b'\n' || line_is_fresh && source[at] == b' ';
    }
}

fn is_paragraph_end(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'\n' && bytes.get(at + 1).is_none_or(|b| *b == b'\n')
}

/// Whether a single quote closes again on its line, so that an apostrophe is not taken for a quotation.
fn closes_soon(after: &str) -> bool {
    let line = after.split('\n').next().unwrap_or("");
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        let following = line[at + c.len_utf8()..].chars().next().unwrap_or(' ');
        if c == '\'' && !previous.is_whitespace() && !following.is_alphanumeric() {
            return at <= 120;
        }
        previous = c;
    }
    false
}
