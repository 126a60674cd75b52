//! Whether a text is in the expected language, by its script and its most common words ([`speaks`]).

use crate::interpret::text::{Token, tokens};

/// Whether the text may be in the language; short texts and languages without a word list pass by script alone.
pub(super) fn speaks(text: &str, language: &str) -> bool {
    let base = language.split(['-', '_']).next().unwrap_or(language).to_lowercase();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let latin = text.chars().filter(|c| c.is_alphabetic() && (*c as u32) < 0x250).count();
    if letters == 0 {
        return true;
    }
    if FOREIGN_SCRIPT.contains(&base.as_str()) {
        return latin * 2 <= letters;
    }
    if (letters - latin) * 3 > letters {
        return false;
    }
    let Some((_, own)) = COMMON.iter().find(|(name, _)| *name == base) else { return true };
    let words = tokens(text);
    let own_hits = hits(&words, own);
    COMMON
        .iter()
        .filter(|(name, _)| *name != base)
        .map(|(_, other)| hits(&words, other))
        .all(|other_hits| other_hits < 3 || other_hits <= own_hits * 2)
}

/// Languages that are not written in Latin letters.
const FOREIGN_SCRIPT: &[&str] = &[
    "ar", "be", "bg", "bn", "el", "fa", "he", "hi", "hy", "ja", "ka", "ko", "mk", "ml", "mr", "ne",
    "ru", "sr", "ta", "te", "th", "uk", "ur", "zh",
];

/// Words that hardly any sentence of a language does without, and that the other lists lack.
const COMMON: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "the", "and", "is", "it", "to", "of", "that", "this", "you", "with", "please", "for",
            "not", "have", "i",
        ],
    ),
    (
        "de",
        &[
            "der", "das", "und", "ist", "nicht", "ich", "sie", "ein", "eine", "mit", "bitte",
            "auf", "zu", "es", "für", "den", "auch",
        ],
    ),
    (
        "fr",
        &[
            "le", "la", "les", "et", "est", "pas", "je", "vous", "une", "des", "avec", "pour",
            "que", "sur", "ne", "il",
        ],
    ),
    (
        "es",
        &[
            "el", "los", "las", "y", "es", "no", "una", "con", "por", "para", "que", "del", "lo",
            "se", "favor", "yo",
        ],
    ),
    (
        "it",
        &[
            "il", "gli", "e", "è", "non", "una", "con", "per", "che", "di", "della", "sono", "si",
            "mi", "favore",
        ],
    ),
    (
        "pt",
        &[
            "os", "as", "e", "é", "não", "uma", "com", "por", "para", "que", "do", "da", "você",
            "eu", "favor",
        ],
    ),
    (
        "nl",
        &[
            "het",
            "een",
            "en",
            "niet",
            "ik",
            "je",
            "met",
            "voor",
            "van",
            "dat",
            "op",
            "zijn",
            "ook",
            "alsjeblieft",
        ],
    ),
];

fn hits(words: &[Token], common: &[&str]) -> usize {
    words.iter().filter(|word| common.contains(&word.text.as_str())).count()
}
