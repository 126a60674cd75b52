//! What a message must not convey: built from everything hidden, minus everything public ([`guard`]).

use alloc::{collections::BTreeSet, string::String, vec::Vec};

use super::literal::{literals, short_words};
use crate::{
    controller::{SpeechAct, TurnPlan, WordingGuard},
    interpret::text::{Break, Token, Words, code_spans, find_term_in, quotations, tokens},
    release::Requirement,
};

/// What a guard is built from.
#[derive(Clone, Copy, Debug)]
pub struct GuardInput<'a> {
    /// Requirements that are hidden and stay hidden with this message.
    pub hidden: &'a [&'a Requirement],
    /// Texts that are public: the statement, texts delivered, the user's messages, the persona's words and facts.
    pub public: &'a [&'a str],
    /// What the agent wrote so far.
    pub agent: &'a [&'a str],
    /// The message to be worded.
    pub plan: &'a TurnPlan,
}

/// The guard of one message.
///
/// Hidden terms are the author's `hide` terms, and the literals and telling runs of four words of the hidden texts;
/// what is public or was said by the agent is no secret, and literals and runs of the plan's own wording neither.
pub fn guard(input: &GuardInput<'_>) -> WordingGuard {
    let own = wordings(input.plan);
    let known: Vec<&str> = input.public.iter().chain(input.agent).copied().collect();
    let known_words: Vec<Words> = known.iter().map(|text| tokens(text)).collect();
    let own_words: Vec<Words> = own.iter().map(|text| tokens(text)).collect();
    let is_known = |term: &str| known_words.iter().any(|text| find_term_in(text, term).is_some());
    let is_own = |term: &str| own_words.iter().any(|text| find_term_in(text, term).is_some());

    let mut hidden_terms: BTreeSet<String> = BTreeSet::new();
    for requirement in input.hidden {
        let authored = requirement.hide.iter().map(|term| term.trim().to_lowercase());
        hidden_terms.extend(authored.filter(|term| !term.is_empty() && !is_known(term)));
        for text in core::iter::once(&requirement.text).chain(&requirement.say) {
            let telling = literals(text).into_iter().filter(|literal| literal.len() > 1);
            let derived = telling.chain(runs_of_four(text));
            hidden_terms.extend(derived.filter(|term| !is_known(term) && !is_own(term)));
        }
    }
    let mut allowed: BTreeSet<String> = BTreeSet::new();
    for text in own.iter().copied().chain(known.iter().copied()) {
        allowed.extend(literals(text));
        allowed.extend(short_words(text));
        let quoted = quotations(text).into_iter().chain(code_spans(text));
        allowed.extend(quoted.map(|span| text[span].trim().to_lowercase()));
    }
    WordingGuard {
        hidden_terms: hidden_terms.into_iter().collect(),
        allowed_literals: allowed.into_iter().collect(),
        has_grant: input.plan.acts.iter().any(|act| matches!(act, SpeechAct::Grant { .. })),
    }
}

/// Everything that the author wrote for this plan, the statement among it.
pub(super) fn wordings(plan: &TurnPlan) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for act in &plan.acts {
        match act {
            SpeechAct::Open { say, statement } => found.extend([say.as_str(), statement]),
            SpeechAct::Grant { say, subject, .. } => {
                found.push(say);
                found.extend(subject.as_deref());
            }
            SpeechAct::Tell { lead, say, because, must_say, .. }
            | SpeechAct::Acknowledge { lead, say, because, must_say, .. } => {
                found.extend([lead.as_str(), say, because]);
                found.extend(must_say.iter().flatten().map(String::as_str));
            }
            SpeechAct::Refuse { say, .. }
            | SpeechAct::Answer { say, .. }
            | SpeechAct::Defer { say }
            | SpeechAct::DontKnow { say }
            | SpeechAct::Correct { say, .. }
            | SpeechAct::Nudge { say }
            | SpeechAct::CheckAgain { say }
            | SpeechAct::Continue { say } => found.push(say),
        }
    }
    found
}

/// Runs of four words within a sentence of which at least two say something.
fn runs_of_four(text: &str) -> Vec<String> {
    tokens(text)
        .windows(4)
        .filter(|run| run[1..].iter().all(|word| word.before < Break::Sentence))
        .filter(|run| run.iter().filter(|word| says_something(word)).count() >= 2)
        .map(|run| run.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
        .collect()
}

/// Whether a word carries meaning by itself.
pub(super) fn says_something(word: &Token) -> bool {
    const COMMON: &[&str] = &[
        "about",
        "after",
        "again",
        "already",
        "also",
        "always",
        "another",
        "anything",
        "because",
        "been",
        "before",
        "being",
        "both",
        "came",
        "come",
        "could",
        "does",
        "doing",
        "done",
        "each",
        "even",
        "every",
        "everything",
        "from",
        "give",
        "goes",
        "have",
        "here",
        "into",
        "just",
        "keep",
        "kept",
        "know",
        "like",
        "look",
        "made",
        "make",
        "many",
        "matter",
        "more",
        "much",
        "must",
        "need",
        "needs",
        "nothing",
        "only",
        "other",
        "over",
        "please",
        "rather",
        "said",
        "same",
        "should",
        "some",
        "something",
        "still",
        "such",
        "sure",
        "take",
        "than",
        "that",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "thing",
        "things",
        "this",
        "those",
        "very",
        "want",
        "wants",
        "well",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "will",
        "with",
        "without",
        "work",
        "works",
        "would",
        "your",
        "asked",
        "tell",
    ];
    (word.text.chars().count() >= 4 || word.text.chars().any(|c| c.is_ascii_digit()))
        && !COMMON.contains(&word.text.as_str())
}
