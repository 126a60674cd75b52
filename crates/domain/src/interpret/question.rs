//! What a sentence asks ([`Question`]): permission, an offer, a courtesy, something in general, or a real question.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{
    negation::{Polarity, polarity_at},
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
    let is_open = |at: &usize| {
        matches!(classify(&prose, &ranges, *at), Question::Permission | Question::Open)
    };
    (0..ranges.len()).filter(is_open).map(|at| prose[ranges[at].clone()].to_string()).collect()
}

/// What the sentence at `at` asks.
pub(super) fn classify(prose: &str, ranges: &[core::ops::Range<usize>], at: usize) -> Question {
    let sentence = &prose[ranges[at].clone()];
    let words = tokens(sentence);
    let marked = is_marked(sentence);
    if marked && (is_heading(prose, ranges[at].start) || is_answered_at_once(prose, ranges, at)) {
        return Question::None;
    }
    let has = |phrases: &[&str]| find_phrase(&words, phrases).is_some();
    if marked && has(ASIDE) {
        return Question::Open;
    }
    if asks_permission(&words, marked) {
        return Question::Permission;
    }
    if is_offer(&words, marked) {
        return Question::Offer;
    }
    if marked && has(COURTESIES) && !has(CHOICES) || has(UNMARKED_COURTESIES) {
        return Question::Courtesy;
    }
    if has(GENERIC_DEMANDS) || marked && has(GENERIC) {
        return Question::Generic;
    }
    if marked || is_indirect(&words) { Question::Open } else { Question::None }
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

/// Whether one of the phrases stands there without "how", "which" or the like before it.
fn stands_unasked(words: &Words, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| phrase_places(words, phrase).any(|at| !is_asked(words, at)))
}

fn is_asked(words: &Words, at: usize) -> bool {
    words[..at].iter().rev().take(6).any(|word| ASKING.contains(&word.text.as_str()))
}

/// Questions that only look like a request for permission.
const ASIDE: &[&str] = &[
    "may i ask",
    "can i ask",
    "could i ask",
    "may i know",
    "can i assume",
    "may i assume",
    "could i assume",
    "am i right",
    "is it correct",
    "is that correct",
    "is it true",
];

/// Ask for permission with or without a question mark.
const PERMISSION: &[&str] = &[
    "may i",
    "may we",
    "am i allowed",
    "am i permitted",
    "are we allowed",
    "do i have permission",
    "do i have your",
    "do we have permission",
    "ok if i",
    "okay if i",
    "fine if i",
    "alright if i",
    "all right if i",
    "ok if we",
    "okay if we",
    "do you mind if i",
    "would you mind if i",
    "should i go ahead",
    "shall i go ahead",
    "can i go ahead",
    "ok to go ahead",
    "okay to go ahead",
    "should i proceed",
    "shall i proceed",
    "ok to proceed",
    "okay to proceed",
    "good to proceed",
    "your approval",
    "your permission",
    "your confirmation",
    "your go ahead",
    "your consent",
    "your okay",
    "your ok",
    "your green light",
    "your sign off",
    "the go ahead",
    "a go ahead",
    "please confirm",
    "please approve",
    "please authorize",
    "please allow",
    "allow me to",
    "permit me to",
    "do you approve",
    "do you allow",
    "do you permit",
    "do you authorize",
    "do you consent",
    "confirm that i",
    "confirm before i",
    "confirm if i",
    "confirm whether i",
    "let me know if i may",
    "let me know if i can",
    "let me know if i should",
    "let me know whether i may",
    "let me know whether i can",
    "let me know whether i should",
    "tell me if i may",
    "tell me if i can",
    "tell me if i should",
    "tell me whether i may",
    "permission to",
    "approval to",
    "i need permission",
    "need you to approve",
    "need you to confirm",
    "until you approve",
    "until you confirm",
    "once you approve",
    "once you confirm",
    "unless you approve",
];

/// Ask for permission only in a question.
const PERMISSION_IF_MARKED: &[&str] = &[
    "can i",
    "can we",
    "could i",
    "could we",
    "might i",
    "is it ok",
    "is it okay",
    "is it alright",
    "is it all right",
    "is it fine",
    "is that ok",
    "is that okay",
    "is that alright",
    "is that all right",
    "is that fine",
    "is this ok",
    "is this okay",
    "is this fine",
    "would it be ok",
    "would it be okay",
    "would that be ok",
    "would that be okay",
    "would it be fine",
    "would that be fine",
    "would it be possible for me",
    "are you ok with",
    "are you okay with",
    "are you fine with",
    "ok to",
    "okay to",
    "fine to",
    "do i get",
    "do you agree",
    "do you mind",
    "can you approve",
    "could you approve",
    "can you confirm",
    "could you confirm",
    "would you confirm",
    "would you approve",
    "do you confirm",
];

/// Before the words of a request these make it an ordinary question: "How can I …?".
const ASKING: &[&str] = &["how", "what", "which", "where", "when", "who", "whom", "whose", "why"];

/// "Can I help with anything else?" asks for no permission.
const HELPING: &[&str] = &[
    "i help",
    "i assist",
    "i do anything else",
    "i do for you",
    "i do something else",
    "i suggest",
    "i recommend",
    "i offer",
    "i be of",
    "we help",
];

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

const FURTHER: &[&str] = &[
    "also",
    "additionally",
    "as well",
    "next",
    "further",
    "furthermore",
    "anything",
    "more",
    "continue",
    "keep going",
    "keep working",
    "carry on",
    "go on",
    "move on",
    "another",
    "too",
];

const ME_TO: &[&str] = &["like me to", "want me to", "prefer me to", "need me to"];

const OWN_ACT: &[&str] = &[
    "should i",
    "shall i",
    "should we",
    "shall we",
    "like me to",
    "want me to",
    "prefer me to",
    "need me to",
    "i should",
    "i may",
    "i can",
    "may i",
    "can i",
    "could i",
    "i could",
    "i would",
    "i will",
    "i need to",
    "i have to",
    "i want to",
    "i plan to",
];

/// Offer further work in a question.
const OFFERS: &[&str] = &[
    "like me to",
    "want me to",
    "prefer me to",
    "need me to",
    "would you like to see",
    "would you like a",
    "would you like an",
    "would you like any",
    "would you like some",
    "do you want to see",
    "do you need",
    "can i help",
    "can we help",
    "could i help",
    "may i suggest",
    "can i assist",
    "how can i help",
    "how else can i help",
    "could i suggest",
    "may i recommend",
    "may i offer",
];

/// "Should I" offers only with a word of further work behind it.
const OFFERS_TO_GO_ON: &[&str] = &[
    "should i continue",
    "shall i continue",
    "should i also",
    "shall i also",
    "should i keep going",
    "shall i keep going",
    "should i carry on",
    "shall i carry on",
    "should i go on",
    "shall i go on",
    "should i move on",
    "shall i move on",
    "should i keep working",
    "shall we continue",
    "should we continue",
    "shall we move on",
    "should i start on the next",
    "can i continue",
    "may i continue",
];

/// Offers without a question mark.
const UNMARKED_OFFERS: &[&str] = &[
    "let me know if",
    "let me know whether",
    "let me know when",
    "let me know should",
    "let me know in case",
    "feel free",
    "happy to",
    "glad to",
    "if you would like",
    "if you like",
    "if you want",
    "if you prefer",
    "if you need",
    "just say",
    "just tell me if",
    "just ask",
];

fn is_offer(words: &Words, marked: bool) -> bool {
    find_phrase(words, UNMARKED_OFFERS).is_some() && !marked
        || marked && (stands_unasked(words, OFFERS_TO_GO_ON) || stands_unasked(words, OFFERS))
}

const COURTESIES: &[&str] = &[
    "how are you",
    "does that help",
    "does this help",
    "does that make sense",
    "does this make sense",
    "make sense",
    "sound good",
    "sounds good",
    "look good",
    "looks good",
    "look right",
    "look ok",
    "look okay",
    "does that work",
    "does this work for you",
    "work for you",
    "what do you think",
    "how does that look",
    "how does this look",
    "how does it look",
    "how does that sound",
    "any questions",
    "any feedback",
    "any concerns",
    "any thoughts",
    "any comments",
    "happy with",
    "satisfied with",
    "had in mind",
    "what you wanted",
    "what you expected",
    "what you were looking for",
    "are we good",
    "all good",
    "is everything clear",
    "is that clear",
    "does that answer",
    "ready for review",
    "ready to review",
    "want to take a look",
    "want to have a look",
];

/// "Does that look good, or would you rather have …?" asks after all.
const CHOICES: &[&str] = &["would you rather", "or would you", "or should", "or do you", "prefer"];

const UNMARKED_COURTESIES: &[&str] = &[
    "let me know what you think",
    "let me know how it goes",
    "let me know how that",
    "tell me what you think",
    "let me know how it",
    "let me know your thoughts",
];

/// Ask for further wishes without a question mark.
const GENERIC_DEMANDS: &[&str] = &[
    "let me know what else",
    "tell me what else",
    "tell me all your",
    "tell me everything",
    "list all your",
    "list your requirements",
    "tell me your requirements",
    "share all your",
    "share your requirements",
    "tell me all the",
    "reveal your",
    "reveal all",
];

const GENERIC: &[&str] = &[
    "anything else",
    "anything more",
    "anything further",
    "anything i should know",
    "anything you would like",
    "anything you want",
    "anything to add",
    "anything missing",
    "something else",
    "something missing",
    "what else",
    "do next",
    "what next",
    "what is next",
    "any other",
    "any others",
    "any further",
    "any additional",
    "any more",
    "any preferences",
    "any preference",
    "any constraints",
    "any requirements",
    "any special",
    "any specific",
    "any wishes",
    "any restrictions",
    "any changes",
    "other requirements",
    "other constraints",
    "other wishes",
    "other preferences",
    "further requirements",
    "further wishes",
    "additional requirements",
    "additional constraints",
    "more requirements",
    "hidden requirements",
    "what are your requirements",
    "what are the requirements",
    "what are your constraints",
    "what are your preferences",
    "is there more",
    "who else",
    "do you have requirements",
    "do you have preferences",
    "do you have constraints",
];

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
fn is_answered_at_once(prose: &str, ranges: &[core::ops::Range<usize>], at: usize) -> bool {
    let Some(next) = ranges.get(at + 1) else { return false };
    let question = tokens(&prose[ranges[at].clone()]);
    let answer = tokens(&prose[next.clone()]);
    let asked: Vec<&str> = question.iter().map(|word| word.text.as_str()).collect();
    let titles = TITLES.contains(&asked.join(" ").as_str());
    let because = matches!(answer.first().map(|word| word.text.as_str()), Some("because"))
        || find_phrase(&answer, &["it is because", "the answer is", "that is because"])
            .is_some_and(|(start, _)| start == 0);
    titles || because
}

/// Questions that title what follows.
const TITLES: &[&str] = &[
    "what changed",
    "what changed and why",
    "what is new",
    "what i did",
    "what i changed",
    "what did i do",
    "what did i change",
    "what happened",
    "what was wrong",
    "what went wrong",
    "why",
    "why it failed",
    "how",
    "how it works",
    "how to use it",
    "how to run it",
    "how come",
    "the result",
    "the cause",
    "the reason",
    "the fix",
];
