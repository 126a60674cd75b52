//! What a message claims of the work: done, tested, explained ([`claims`]), or that the agent gives up ([`quits`]).

use alloc::{vec, vec::Vec};

use super::{
    Sentences,
    negation::{Polarity, polarity_at},
    text::{Words, phrase_places},
};
use crate::release::Claim;

/// The claims of a prose, each once. Questions, wishes, plans and conditions claim nothing.
pub(super) fn claims(sentences: &Sentences<'_>) -> Vec<Claim> {
    let mut found = vec![];
    for (sentence, words) in sentences.iter() {
        if sentence.ends_with('?') {
            continue;
        }
        let kinds = [
            (Claim::Done, DONE, DONE_HEDGES),
            (Claim::Tested, TESTED, TESTED_HEDGES),
            (Claim::Explained, EXPLAINED, EXPLAINED_HEDGES),
        ];
        for (claim, phrases, hedges) in kinds {
            if !found.contains(&claim) && asserts(words, phrases, hedges) {
                found.push(claim);
            }
        }
        if !found.contains(&Claim::Done) && is_only_done(words) {
            found.push(Claim::Done);
        }
    }
    found.sort_unstable();
    found
}

/// Whether the agent gives up for good: not while it only waits for something.
pub(super) fn quits(sentences: &Sentences<'_>) -> bool {
    sentences.iter().any(|(sentence, words)| {
        !sentence.ends_with('?')
            && !words.iter().any(|word| WAITING.contains(&word.text.as_str()))
            && QUITS.iter().any(|phrase| {
                phrase_places(words, phrase).any(|at| {
                    let is_kept = words[..at].iter().rev().take(4).any(|word| {
                        matches!(word.text.as_str(), "not" | "never" | "almost" | "nearly")
                    });
                    !is_kept
                })
            })
    })
}

/// Words by which the agent waits for something instead of giving up.
const WAITING: &[&str] = &["if", "once", "when", "until", "unless", "before", "without"];

const DONE: &[&str] = &[
    "is done",
    "are done",
    "am done",
    "is now done",
    "all done",
    "is finished",
    "is now finished",
    "are finished",
    "am finished",
    "have finished",
    "has been finished",
    "is complete",
    "is now complete",
    "are complete",
    "is completed",
    "has been completed",
    "have completed",
    "have been completed",
    "i completed",
    "i finished",
    "we finished",
    "i have implemented",
    "is implemented",
    "are implemented",
    "has been implemented",
    "have been implemented",
    "is now implemented",
    "is fixed",
    "is now fixed",
    "has been fixed",
    "have been fixed",
    "are fixed",
    "is ready",
    "is now ready",
    "are ready",
    "are now ready",
    "is in place",
    "is now in place",
    "are in place",
    "all set",
    "ready for review",
    "ready for you",
    "ready to use",
    "ready for use",
    "task complete",
    "implementation complete",
    "work complete",
    "task completed",
    "is solved",
    "has been solved",
    "is resolved",
    "has been resolved",
    "everything works",
    "everything now works",
    "everything you asked for",
    "completed the task",
    "completed all",
    "finished the task",
    "finished all",
];

const TESTED: &[&str] = &[
    "i tested",
    "we tested",
    "have tested",
    "has been tested",
    "have been tested",
    "was tested",
    "were tested",
    "is tested",
    "are tested",
    "tested it",
    "tested the",
    "tested with",
    "tests pass",
    "tests passed",
    "tests now pass",
    "tests all pass",
    "tests are passing",
    "tests are green",
    "tests passing",
    "tests succeed",
    "tests succeeded",
    "test passes",
    "test passed",
    "suite passes",
    "suite passed",
    "suite is green",
    "checks pass",
    "checks passed",
    "i ran the tests",
    "ran all tests",
    "ran the test",
    "ran the full",
    "ran the whole",
    "i verified",
    "have verified",
    "i ran pytest",
    "ran pytest",
    "verified that",
    "tests run green",
    "passes all tests",
    "passed all tests",
    "all tests are green",
];

const EXPLAINED: &[&str] = &[
    "i explained",
    "have explained",
    "as explained",
    "is explained",
    "are explained",
    "explained above",
    "explained below",
    "explained why",
    "explained how",
    "explanation",
    "here is why",
    "here is how",
    "here is what",
    "this is why",
    "the reason is",
    "the reason was",
    "the reason for",
    "the cause is",
    "the cause was",
    "to explain",
    "let me explain",
    "in other words",
    "this means that",
    "what this means",
];

/// Words that make any claim a plan, a wish or a condition.
const CONDITIONS: &[&str] = &[
    "if",
    "once",
    "when",
    "until",
    "unless",
    "before",
    "after",
    "without",
    "as soon as",
    "should",
    "would",
    "could",
    "might",
    "may",
    "can",
];

const DONE_HEDGES: &[&str] = &[
    "will",
    "almost",
    "nearly",
    "partly",
    "partially",
    "half",
    "first",
    "second",
    "step",
    "part",
    "phase",
    "so far",
    "mostly",
    "to be",
    "what is done",
    "percent",
    "draft",
    "sketch",
    "yet",
    "plan",
    "preparation",
    "analysis",
    "still",
    "remains",
];

const TESTED_HEDGES: &[&str] =
    &["will", "to be", "please", "you can", "needs", "need", "untested", "let us", "going to"];

const EXPLAINED_HEDGES: &[&str] =
    &["will", "to be", "please", "needs", "need", "going to", "later", "no explanation"];

const QUITS: &[&str] = &[
    "i give up",
    "am giving up",
    "i quit",
    "i can not continue",
    "i can not go on",
    "am unable to continue",
    "am not able to continue",
    "i will not continue",
    "i refuse to",
    "i have to stop here",
    "i must stop here",
    "i have to give up",
    "i must give up",
    "can not complete this task",
    "can not complete the task",
    "can not complete your task",
    "can not do this task",
    "can not finish this task",
    "can not finish the task",
    "can not complete this request",
    "can not complete this work",
    "can not fulfil this",
    "can not fulfill this",
    "unable to complete this task",
    "unable to complete the task",
    "unable to complete this",
    "unable to finish this",
    "unable to finish the task",
    "not able to complete this",
    "not able to finish this",
    "i abandon",
    "am abandoning",
    "can not help with this",
    "can not assist with this",
];

/// Whether one of the phrases stands there affirmed and neither hedged nor conditional before it.
fn asserts(words: &Words, phrases: &[&str], hedges: &[&str]) -> bool {
    phrases.iter().any(|phrase| {
        let length = phrase.split(' ').count();
        phrase_places(words, phrase).any(|at| {
            let clause = clause_start(words, at);
            let hedged = hedges.iter().any(|hedge| {
                phrase_places(words, hedge).any(|place| place >= clause && place < at + length + 3)
            });
            let conditional =
                words[clause..at].iter().any(|word| CONDITIONS.contains(&word.text.as_str()));
            !hedged && !conditional && polarity_at(words, at, at + length) == Polarity::Affirmed
        })
    })
}

/// "Done!", "Finished." and the like are sentences of their own.
fn is_only_done(words: &Words) -> bool {
    if words.len() > 3 {
        return false;
    }
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    matches!(
        texts.as_slice(),
        ["done"]
            | ["finished"]
            | ["completed"]
            | ["complete"]
            | ["ready"]
            | ["all", "done"]
            | ["fixed"]
            | ["implemented"]
            | ["that", "is", "it"]
            | ["that", "is", "all"]
    )
}

fn clause_start(words: &Words, at: usize) -> usize {
    use super::text::Break;
    (0..=at).rev().find(|place| words[*place].before >= Break::Comma).unwrap_or(0)
}
