//! The template: words a turn plan from the author's own utterances, without a model ([`template`]).

use alloc::{format, string::String, vec::Vec};

use crate::controller::{SpeechAct, TurnPlan};

/// The message of a plan: one paragraph for each act, the statement verbatim in a fence.
pub fn template(plan: &TurnPlan) -> String {
    let mut leads: Vec<&str> = Vec::new();
    let mut paragraphs: Vec<String> = Vec::new();
    for act in &plan.acts {
        match act {
            SpeechAct::Open { say, statement } => {
                paragraphs.push(sentence(say, ':'));
                paragraphs.push(fenced(statement));
            }
            SpeechAct::Tell { lead, say, .. } | SpeechAct::Acknowledge { lead, say, .. } => {
                let repeated = leads.contains(&lead.as_str());
                leads.push(lead);
                paragraphs.push(if repeated || lead.trim().is_empty() {
                    sentence(say, '.')
                } else {
                    format!("{} {}", sentence(lead, ':'), sentence(say, '.'))
                });
            }
            SpeechAct::Grant { say, .. }
            | SpeechAct::Refuse { say, .. }
            | SpeechAct::Answer { say, .. }
            | SpeechAct::Defer { say }
            | SpeechAct::DontKnow { say }
            | SpeechAct::Correct { say, .. }
            | SpeechAct::Nudge { say }
            | SpeechAct::CheckAgain { say }
            | SpeechAct::Continue { say } => paragraphs.push(sentence(say, '.')),
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

/// The statement between fences that are longer than any run of backticks in it.
pub(super) fn fenced(statement: &str) -> String {
    let fence = "`".repeat(fence_length(statement));
    let body = statement.strip_suffix('\n').unwrap_or(statement);
    format!("{fence}\n{body}\n{fence}")
}

/// How many backticks a fence around the statement needs at the least.
pub(super) fn fence_length(statement: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in statement.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    (longest + 1).max(3)
}

/// Marks that end what was said, so that a negation before them does not reach what follows.
const CLOSING: [char; 6] = ['.', '!', '?', ':', ';', '…'];

/// Marks that let a sentence run on: what leads to more gives them up for a colon.
const RUNNING_ON: [char; 5] = [',', '-', '–', '—', ' '];

/// One paragraph on one line, closed by `end` if it has no closing mark of its own.
fn sentence(text: &str, end: char) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if end == ':' {
        line.truncate(line.trim_end_matches(RUNNING_ON).len());
    }
    // A mark within quotes or brackets closes too; code and quoted words alone do not.
    let inner = line.trim_end_matches(['"', '\'', '”', '’', '»', ')', ']']);
    if !inner.is_empty() && !inner.ends_with(CLOSING) && !inner.ends_with(RUNNING_ON) {
        line.push(end);
    }
    line
}
