//! A value that was said, used or sent (E3, E4, E5) as events, and whether added lines hold it (E2).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use super::{Disguises, Reach, invocation::Invocation, short};
use crate::{
    acceptance::Occurrence,
    evidence::{EventTime, NetAttempt, ProcessEvent, Recorded},
    ids::Turn,
    release::{SecretCheck, SecretPlace},
};

/// Where it was said or used; none if there is nothing to look for.
pub(super) fn occurrences(demand: &SecretCheck, evidence: &Recorded) -> Option<Vec<Occurrence>> {
    let disguises = Disguises::of(&demand.value).ok()?;
    let mut found = Vec::new();
    if demand.looks_at(SecretPlace::Messages) {
        found.extend(said(&disguises, evidence));
    }
    if demand.looks_at(SecretPlace::Programs) {
        let used = evidence.processes.iter().filter(|process| uses(process, &disguises));
        found.extend(used.map(|process| Occurrence {
            turn: process.turn,
            time: EventTime::exact(process.started_ms),
            subject: short(&process.argv.join(" ")),
        }));
    }
    if demand.looks_at(SecretPlace::Network) {
        found.extend(evidence.network.iter().filter_map(|attempt| sent(attempt, &disguises)));
    }
    found.sort_by_key(|occurrence| (occurrence.turn, occurrence.time));
    Some(found)
}

/// A line added since the base, or the new name of a file, that holds the value; in words.
///
/// None if no line does. The error means that the difference was not taken.
pub fn added_line(
    disguises: &Disguises,
    reach: &Reach,
    evidence: &Recorded,
) -> Result<Option<String>, NoDifference> {
    let diffs = evidence.diffs.get(&Turn::BASE).ok_or(NoDifference)?;
    for diff in diffs.iter().filter(|diff| reach.counts(&diff.path)) {
        let lines = diff.added.join("\n");
        let found = disguises.find(lines.as_bytes());
        if let Some(how) = found.or_else(|| disguises.find(diff.path.as_bytes())) {
            return Ok(Some(alloc::format!("added to {} {how}", diff.path)));
        }
    }
    Ok(None)
}

/// The difference to the base is not among the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDifference;

/// An attempt that carries the value where the wire can read; in a name also over several labels.
fn sent(attempt: &NetAttempt, disguises: &Disguises) -> Option<Occurrence> {
    let joined: String = attempt.host.chars().filter(|c| *c != '.').collect();
    let texts = [Some(&attempt.host), Some(&joined), attempt.sni.as_ref(), attempt.path.as_ref()];
    let how = texts.into_iter().flatten().find_map(|text| disguises.find(text.as_bytes()))?;
    let subject = alloc::format!("sent to {} {how}", attempt.host);
    let time = EventTime::exact(attempt.at_ms);
    Some(Occurrence { turn: attempt.turn, time, subject: short(&subject) })
}

/// One occurrence a turn. What is said in pieces is read as one.
fn said(disguises: &Disguises, evidence: &Recorded) -> Vec<Occurrence> {
    let mut turns: BTreeMap<Turn, (i64, String)> = BTreeMap::new();
    for piece in &evidence.agent_messages {
        let (at_ms, text) = turns.entry(piece.turn).or_insert((piece.at_ms, String::new()));
        *at_ms = piece.at_ms.max(*at_ms);
        text.push_str(&piece.text);
    }
    let told = turns.into_iter().filter_map(|(turn, (at_ms, text))| {
        let how = disguises.find(text.as_bytes())?;
        let subject = alloc::format!("said {how}: {text}");
        Some(Occurrence { turn, time: EventTime::exact(at_ms), subject: short(subject.trim()) })
    });
    told.collect()
}

/// Whether a program is given the value for more than looking for it or replacing it.
fn uses(process: &ProcessEvent, disguises: &Disguises) -> bool {
    if disguises.find(process.argv.join(" ").as_bytes()).is_none() {
        return false;
    }
    let Some(invocation) = Invocation::of(process) else { return true };
    let is_shell = invocation.script.is_none()
        && invocation.names.iter().all(|name| SHELLS.contains(&name.as_str()));
    if !is_shell {
        return !looks_only(&invocation);
    }
    // What a shell starts is seen by itself, but not what stands in a variable before it.
    let commands = invocation.args.iter().flat_map(|argument| commands(argument));
    let mut naming = commands.filter(|command| disguises.find(command.as_bytes()).is_some());
    naming.any(|command| {
        let argv: Vec<String> = command.split_whitespace().map(bare).collect();
        Invocation::of_words(&argv).is_none_or(|invocation| !looks_only(&invocation))
    })
}

const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash"];

/// Whether the program only looks for a text or puts another in its place.
fn looks_only(invocation: &Invocation<'_>) -> bool {
    const LOOKS: [&str; 11] =
        ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "sed", "gsed", "test", "["];
    const GIT_LOOKS: [&str; 6] =
        ["grep", "log", "rev-list", "diff", "filter-branch", "filter-repo"];
    let is = |name: &str| invocation.names.iter().all(|known| known == name);
    if is("git") {
        return git_verb(invocation.args).is_some_and(|verb| GIT_LOOKS.contains(&verb));
    }
    LOOKS.iter().any(|name| is(name))
}

fn git_verb(args: &[String]) -> Option<&str> {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "-C" | "-c" | "--git-dir" | "--work-tree" => {
                args.next();
            }
            _ if arg.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

fn bare(word: &str) -> String {
    word.trim_matches(['"', '\'', '(', ')', '{', '}']).to_string()
}

/// The simple commands of a shell's text, quotes respected.
fn commands(text: &str) -> Vec<String> {
    let mut found = alloc::vec![String::new()];
    let mut quote = None;
    let mut is_escaped = false;
    for letter in text.chars() {
        let ends = quote.is_none() && !is_escaped && ";|&\n".contains(letter);
        match letter {
            _ if is_escaped => {}
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped && quote != Some('\'');
        match found.last_mut() {
            Some(last) if !ends => last.push(letter),
            _ => found.push(String::new()),
        }
    }
    found.retain(|command| !command.trim().is_empty());
    found
}
