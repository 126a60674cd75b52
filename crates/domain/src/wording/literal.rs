//! Literals of a text that somebody must have said before: numbers, paths, flags, identifiers, acronyms ([`literals`]).

use alloc::{
    collections::BTreeSet,
    string::{String, ToString},
};

/// Every literal of the text in lower case, numbers in digits, each once.
pub fn literals(text: &str) -> BTreeSet<String> {
    text.split_whitespace()
        .flat_map(|word| word.split(['\u{2014}', '\u{2013}', '`', '"', '\u{201c}', '\u{201d}']))
        .filter_map(literal)
        .collect()
}

/// Short words of the text in lower case: in capitals they would be acronyms.
pub(super) fn short_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| (2..=6).contains(&word.len()))
        .map(str::to_lowercase)
}

fn literal(word: &str) -> Option<String> {
    let word = word.trim_start_matches(|c: char| {
        !c.is_alphanumeric() && !matches!(c, '-' | '/' | '.' | '~' | '@' | '_')
    });
    let word = word.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_'));
    let word = word.strip_suffix("'s").or(word.strip_suffix("\u{2019}s")).unwrap_or(word);
    if !word.chars().any(char::is_alphanumeric) {
        return None;
    }
    let lower = word.to_lowercase();
    if let Some(digits) = number_word(&lower) {
        return Some(digits.to_string());
    }
    if word.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.')) {
        return Some(lower.replace(',', ""));
    }
    let is_literal = word.chars().any(|c| c.is_ascii_digit())
        || is_path(&lower)
        || is_flag(word)
        || word.contains(['_', '@', '\\', '=', '<', '>', '{', '}'])
        || is_camel(word)
        || is_dotted(&lower)
        || is_acronym(word);
    is_literal.then_some(lower)
}

fn number_word(word: &str) -> Option<&'static str> {
    const NUMBERS: &[(&str, &str)] = &[
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
        ("ten", "10"),
        ("eleven", "11"),
        ("twelve", "12"),
        ("fifteen", "15"),
        ("twenty", "20"),
        ("thirty", "30"),
        ("forty", "40"),
        ("fifty", "50"),
        ("sixty", "60"),
        ("ninety", "90"),
        ("hundred", "100"),
        ("thousand", "1000"),
        ("million", "1000000"),
        ("dozen", "12"),
    ];
    NUMBERS.iter().find(|(name, _)| *name == word).map(|(_, digits)| *digits)
}

fn is_path(lower: &str) -> bool {
    let ordinary = ["and/or", "yes/no", "he/she", "his/her", "either/or", "w/o", "n/a"];
    lower.contains('/') && !ordinary.contains(&lower)
}

fn is_flag(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    match word.len() - name.len() {
        0 => false,
        1 => name.len() == 1,
        _ => true,
    }
}

fn is_camel(word: &str) -> bool {
    let mut previous_is_lower = false;
    word.chars().any(|c| {
        let found = previous_is_lower && c.is_uppercase();
        previous_is_lower = c.is_lowercase();
        found
    })
}

fn is_dotted(lower: &str) -> bool {
    let inner = lower.trim_matches('.');
    lower.starts_with('.') && lower.len() > 1 && !lower.starts_with("..")
        || inner.contains('.') && !matches!(inner, "e.g" | "i.e" | "a.m" | "p.m" | "u.s" | "p.s")
}

fn is_acronym(word: &str) -> bool {
    const SHOUTED: &[&str] = &[
        "OK", "FYI", "ASAP", "PS", "TV", "NOT", "NO", "ALL", "ANY", "DO", "YES", "MUST", "NEVER",
        "AND", "OR", "STILL", "VERY", "PLEASE", "ONLY", "AGAIN", "NOW", "THE", "IT", "IS", "MY",
        "ME", "WE",
    ];
    word.chars().filter(|c| c.is_alphabetic()).count() >= 2
        && word.chars().all(|c| c.is_uppercase() || !c.is_alphabetic())
        && !SHOUTED.contains(&word)
}
