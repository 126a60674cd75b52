//! Words of assent: the only way in which a wording could give a permission that code did not ([`assents`]).

use crate::interpret::{
    polarity_in_clause,
    text::{Break, Polarity, Token, Words, phrase_places, tokens},
};

/// The first words of assent of a text, as they stand there; none if it neither allows nor leaves a choice.
pub fn assents(text: &str) -> Option<&str> {
    assents_beyond(text, &Words::default(), Tone::Plain)
}

/// Whether going on is what the message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// "Please continue" would allow what was asked.
    Plain,
    /// The plan itself asks the agent to go on.
    GoesOn,
}

/// The first words of assent that the author's own words do not hold.
pub(super) fn assents_beyond<'a>(text: &'a str, own: &Words, tone: Tone) -> Option<&'a str> {
    let words = tokens(text);
    let first = |phrases: &[&str], counts: &dyn Fn(usize, usize) -> bool| {
        phrases.iter().find_map(|phrase| {
            let length = phrase.split(' ').count();
            phrase_places(&words, phrase)
                .find(|at| counts(*at, *at + length) && is_affirmed(&words, *at, *at + length))
                .filter(|_| phrase_places(own, phrase).next().is_none())
                .map(|at| &text[words[at].start..words[at + length - 1].end])
        })
    };
    let (going_on, going_on_at_end): (&[&str], &[&str]) =
        if tone == Tone::Plain { (GO_ON, GO_ON_CLOSERS) } else { (&[], &[]) };
    first(ANYWHERE, &|_, _| true)
        .or_else(|| first(going_on, &|_, _| true))
        .or_else(|| first(OPENERS, &|at, end| is_interjection(&words, at, end)))
        .or_else(|| first(CLOSERS, &|_, end| ends_clause(&words, end)))
        .or_else(|| first(going_on_at_end, &|_, end| ends_clause(&words, end)))
        .or_else(|| first(ALLOWING, &|_, end| allows(words.get(end))))
        .or_else(|| text.split_whitespace().find(|word| word.contains(SIGNS)))
}

/// Assent wherever they stand, unless negated.
const ANYWHERE: &[&str] = &[
    "go ahead",
    "go for it",
    "feel free",
    "be my guest",
    "by all means",
    "of course",
    "up to you",
    "your call",
    "your choice",
    "your decision",
    "you decide",
    "you choose",
    "you can decide",
    "you may decide",
    "decide as you",
    "decide for yourself",
    "decide yourself",
    "as you think",
    "as you see fit",
    "as you like",
    "as you wish",
    "as you prefer",
    "as you please",
    "what you think is best",
    "what you think best",
    "what you prefer",
    "whatever you",
    "whichever you",
    "however you",
    "whatever works",
    "whatever is best",
    "whatever it takes",
    "i trust you",
    "trust your",
    "your judgment",
    "your judgement",
    "your discretion",
    "do what you",
    "do whatever",
    "leave it to you",
    "leave that to you",
    "leave this to you",
    "leave the choice to you",
    "leave the decision to you",
    "sounds good",
    "sounds great",
    "sounds fine",
    "sounds reasonable",
    "sounds right",
    "sounds ok",
    "sounds okay",
    "sounds like a plan",
    "sounds perfect",
    "sound good",
    "that works",
    "this works for me",
    "works for me",
    "fine with me",
    "fine by me",
    "ok with me",
    "okay with me",
    "ok by me",
    "okay by me",
    "good with me",
    "all right with me",
    "alright with me",
    "that is fine",
    "that is ok",
    "that is okay",
    "that is good",
    "that is great",
    "that is alright",
    "that is all right",
    "that is acceptable",
    "that is allowed",
    "that is perfect",
    "it is fine",
    "it is ok",
    "it is okay",
    "it is all right",
    "it is alright",
    "it is allowed",
    "this is fine",
    "this is ok",
    "this is okay",
    "would be fine",
    "would be ok",
    "would be okay",
    "would be great",
    "would be good",
    "would be lovely",
    "would be nice",
    "would be perfect",
    "do not mind",
    "no objection",
    "no objections",
    "have nothing against",
    "no problem",
    "not a problem",
    "i agree",
    "agreed",
    "i approve",
    "approved",
    "i allow",
    "i permit",
    "i authorize",
    "permission granted",
    "granted",
    "is permitted",
    "are permitted",
    "you are allowed",
    "you are free",
    "is allowed",
    "are allowed",
    "green light",
    "thumbs up",
    "am ok with",
    "am okay with",
    "am fine with",
    "am happy with",
    "am good with",
    "happy for you",
    "my permission",
    "my approval",
    "my blessing",
    "my consent",
    "my okay",
    "my ok",
    "good idea",
    "great idea",
    "fine idea",
    "nice idea",
    "make it so",
    "confirmed",
    "i confirm",
    "consider it approved",
    "ship it",
    "lgtm",
    "looks good",
    "looks fine",
    "looks great",
    "either way is fine",
    "either is fine",
    "either one is fine",
    "both are fine",
    "i would like that",
    "i would love that",
    "suits me",
    "if you must",
    "if you need to",
    "if you have to",
    "if you think",
    "if it helps",
    "if you want",
    "if you like",
    "if you prefer",
    "if you wish",
    "if need be",
    "if necessary",
    "why not",
    "let us do it",
    "let us do that",
    "let us go",
    "let us try",
    "yes please",
    "please do so",
    "please do that",
    "please do it",
    "do as you",
    "have at it",
    "knock yourself out",
    "the go ahead",
    "proceed",
    "carry out your plan",
    "as planned",
    "as you proposed",
    "as you suggested",
    "as proposed",
    "as suggested",
    "your suggestion is",
    "your proposal is",
    "your plan is",
];

/// Assent to what was asked, unless the plan itself asks to go on.
const GO_ON: &[&str] = &[
    "please continue",
    "please carry on",
    "please go on",
    "carry on",
    "keep going",
    "you can continue",
    "continue with",
    "continue as",
];

/// Assent as the first words of a sentence, or between commas.
const OPENERS: &[&str] = &[
    "yes",
    "yep",
    "yeah",
    "yup",
    "yea",
    "sure",
    "sure thing",
    "ok",
    "okay",
    "okey",
    "fine",
    "alright",
    "all right",
    "right",
    "absolutely",
    "definitely",
    "certainly",
    "naturally",
    "exactly",
    "correct",
    "perfect",
    "great",
    "good",
    "very good",
    "very well",
    "well then",
    "excellent",
    "gladly",
    "indeed",
    "true",
    "affirmative",
    "deal",
    "done",
    "surely",
    "obviously",
    "k",
    "aye",
];

/// Assent as the last words of a clause.
const CLOSERS: &[&str] = &["do it", "do that", "do this", "do so", "please do", "try it", "use it"];

/// The same, unless the plan itself asks to go on.
const GO_ON_CLOSERS: &[&str] = &["go on", "continue"];

/// Assent by what comes behind them.
const ALLOWING: &[&str] = &["you may", "you can", "you could"];

const SIGNS: &[char] = &['\u{1f44d}', '\u{2705}', '\u{1f44c}', '\u{2714}', '\u{1f197}'];

fn is_affirmed(words: &[Token], at: usize, end: usize) -> bool {
    let denied_behind = words.get(end).is_some_and(|word| word.text == "not");
    polarity_in_clause(words, at, end) == Polarity::Affirmed && !denied_behind
}

/// At the start of a clause, and parted from what follows or followed by words that go on to allow.
fn is_interjection(words: &[Token], at: usize, end: usize) -> bool {
    let leads_on = words.get(end).is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "you" | "please" | "go" | "do" | "that" | "then" | "but" | "if" | "and" | "i"
        )
    });
    words[at].before >= Break::Comma && (ends_clause(words, end) || leads_on)
}

fn ends_clause(words: &[Token], end: usize) -> bool {
    words.get(end).is_none_or(|word| word.before >= Break::Comma)
}

/// "You can see that …" allows nothing.
fn allows(next: Option<&Token>) -> bool {
    !next.is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "not"
                | "see"
                | "imagine"
                | "tell"
                | "find"
                | "read"
                | "understand"
                | "have"
                | "guess"
                | "know"
                | "notice"
                | "remember"
                | "never"
                | "hardly"
        )
    })
}
