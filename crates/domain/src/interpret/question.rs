//! What a sentence asks ([`Question`]): permission, an offer, a courtesy, something in general, or a real question.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Sentences,
    negation::{Polarity, polarity_at},
    phrases::{
        ASIDE, ASKING, CHOICES, CONSENT, COURTESIES, FURTHER, GENERIC, GENERIC_DEMANDS, HELPING,
        ME_TO, OFFERS, OFFERS_TO_GO_ON, OWN_ACT, PERMISSION, PERMISSION_IF_MARKED, TITLES,
        UNMARKED_COURTESIES, UNMARKED_OFFERS,
    },
    text::{Token, Words, find_phrase, phrase_places, prose, sentence_ranges, tokens},
};

/// The kind of a sentence that asks, before its topic and class are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// It states.
    None,
    /// May I?
    Permission,
    /// It offers further work.
    Offer,
    /// It asks out of politeness.
    Courtesy,
    /// It asks for further wishes in general.
    Generic,
    /// It asks something.
    Open,
}

/// The open questions of a message outside code and quotes: neither offers nor courtesy nor "anything else?".
pub fn open_questions(message: &str) -> Vec<String> {
    let prose = prose(message);
    let ranges = sentence_ranges(&prose);
    let words: Vec<Words> = ranges.iter().map(|range| tokens(&prose[range.clone()])).collect();
    let sentences = Sentences { prose: &prose, ranges: &ranges, words: &words };
    let is_open =
        |at: &usize| matches!(classify(&sentences, *at), Question::Permission | Question::Open);
    (0..ranges.len()).filter(is_open).map(|at| prose[ranges[at].clone()].to_string()).collect()
}

/// What the sentence at `at` asks.
pub(super) fn classify(sentences: &Sentences<'_>, at: usize) -> Question {
    let words = &sentences.words[at];
    let marked = is_marked(sentences.text(at));
    let start = sentences.ranges[at].start;
    if marked && (is_heading(sentences.prose, start) || is_answered_at_once(sentences.words, at)) {
        return Question::None;
    }
    let has = |phrases: &[&str]| find_phrase(words, phrases).is_some();
    if marked && has(ASIDE) {
        return Question::Open;
    }
    if asks_permission(words, marked) {
        return Question::Permission;
    }
    if is_offer(words, marked) {
        return Question::Offer;
    }
    if marked && has(COURTESIES) && !has(CHOICES) || has(UNMARKED_COURTESIES) {
        return Question::Courtesy;
    }
    if has(GENERIC_DEMANDS) || marked && has(GENERIC) {
        return Question::Generic;
    }
    if marked || is_indirect(words) { Question::Open } else { Question::None }
}

/// Whether an offer's sentence asks about the work itself rather than about more of it.
pub(super) fn is_about_this_work(words: &Words) -> bool {
    find_phrase(words, FURTHER).is_none() && find_phrase(words, ME_TO).is_some()
}

/// Whether the words ask to go ahead with something said before.
pub(super) fn goes_ahead(words: &Words) -> bool {
    let phrases = ["me to go ahead", "me to proceed", "me to continue", "i continue", "i proceed"];
    find_phrase(words, &phrases).is_some()
}

/// Whether the words speak of the agent's own act: "should I", "want me to", "if I may".
pub(super) fn is_own_act(words: &Words) -> bool {
    stands_unasked(words, OWN_ACT)
}

/// Whether the words say that the user has agreed before: nobody asks with them.
pub(super) fn claims_consent(words: &Words) -> bool {
    find_phrase(words, CONSENT).is_some()
}

/// Whether the word that ends before `end` tells of something done: "I pushed it", not "nothing was pushed".
pub(super) fn is_done(words: &Words, end: usize) -> bool {
    let Some(at) = end.checked_sub(1) else { return false };
    words[at].text.ends_with("ed") && polarity_at(words, at, end) == Polarity::Affirmed
}

/// Whether one of the phrases stands there without "how", "which" or the like before it.
fn stands_unasked(words: &Words, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| phrase_places(words, phrase).any(|at| !is_asked(words, at)))
}

fn is_asked(words: &Words, at: usize) -> bool {
    words[..at].iter().rev().take(6).any(|word| ASKING.contains(&word.text.as_str()))
}

fn asks_permission(words: &Words, marked: bool) -> bool {
    if find_phrase(words, HELPING).is_some() {
        return false;
    }
    let any_mark = PERMISSION.iter().map(|phrase| (phrase, true));
    let if_marked = PERMISSION_IF_MARKED.iter().map(|phrase| (phrase, marked));
    any_mark.chain(if_marked).filter(|(_, counts)| *counts).any(|(phrase, _)| {
        let length = phrase.split(' ').count();
        phrase_places(words, phrase).any(|at| {
            let asks_which = words[at + length..]
                .iter()
                .take(2)
                .any(|word| ASKING.contains(&word.text.as_str()));
            !is_asked(words, at)
                && !asks_which
                && (!phrase.ends_with("confirm") || confirms_an_act(&words[at + length..]))
                && polarity_at(words, at, at + length) == Polarity::Affirmed
                && !got_it_already(words, at)
        })
    })
}

/// "Please confirm." and "… confirm that I may push" ask for permission, "… confirm the dates" asks for a fact.
fn confirms_an_act(rest: &[Token]) -> bool {
    let named = ["i", "we", "me", "ok", "okay", "fine", "alright", "before", "and", "so"];
    rest.is_empty() || rest.iter().take(6).any(|word| named.contains(&word.text.as_str()))
}

/// "With your approval I installed it", "thanks for your confirmation": nothing is asked any more.
fn got_it_already(words: &Words, at: usize) -> bool {
    words[..at].iter().rev().take(3).any(|word| {
        matches!(word.text.as_str(), "with" | "thanks" | "thank" | "per" | "given" | "got" | "had")
    })
}

fn is_offer(words: &Words, marked: bool) -> bool {
    find_phrase(words, UNMARKED_OFFERS).is_some() && !marked
        || marked && (stands_unasked(words, OFFERS_TO_GO_ON) || stands_unasked(words, OFFERS))
}

/// "Please tell me which …": a question without its mark.
fn is_indirect(words: &Words) -> bool {
    const DEMANDS: &[&str] = &[
        "let me know",
        "tell me",
        "please clarify",
        "please specify",
        "please advise",
        "please say",
        "please state",
        "please indicate",
        "please choose",
        "please decide",
        "need to know",
        "have to know",
        "would like to know",
        "want to know",
        "like to understand",
        "please confirm",
        "could use your input on",
        "you to decide",
        "you to tell me",
        "you to choose",
        "you to clarify",
    ];
    DEMANDS.iter().any(|demand| {
        phrase_places(words, demand).any(|at| {
            let rest = &words[at + demand.split(' ').count()..];
            let about = rest.iter().take(3).any(|word| {
                ASKING.contains(&word.text.as_str()) || matches!(word.text.as_str(), "whether")
            });
            let chooses = matches!(
                *demand,
                "please confirm"
                    | "please clarify"
                    | "please specify"
                    | "please choose"
                    | "please advise"
                    | "you to clarify"
                    | "you to choose"
            );
            (about || chooses) && polarity_at(words, at, at + 1) == Polarity::Affirmed
        })
    })
}

/// Whether the sentence ends in a question mark, closing marks and signs aside.
fn is_marked(sentence: &str) -> bool {
    sentence
        .trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '?' | '\u{ff1f}' | '.'))
        .ends_with(['?', '\u{ff1f}'])
}

fn is_heading(prose: &str, start: usize) -> bool {
    let line = prose[..start].rfind('\n').map_or(0, |at| at + 1);
    prose[line..].starts_with('#')
}

/// A question that the agent answers itself in the next sentence, or that titles what follows.
fn is_answered_at_once(sentences: &[Words], at: usize) -> bool {
    let Some(answer) = sentences.get(at + 1) else { return false };
    let question = &sentences[at];
    let asked: Vec<&str> = question.iter().map(|word| word.text.as_str()).collect();
    let titles = TITLES.contains(&asked.join(" ").as_str());
    let because = matches!(answer.first().map(|word| word.text.as_str()), Some("because"))
        || find_phrase(answer, &["it is because", "the answer is", "that is because"])
            .is_some_and(|(start, _)| start == 0);
    titles || because
}
