//! Which acts a live grant covers: class, scope, uses, turns and the moment at which it was given.

use alloc::{string::String, vec::Vec};

use super::{
    Occurrence, Truth, Window, checks::operands, glob::Glob, history::Events,
    order::CLOCKS_AGREE_WITHIN_MS,
};
use crate::{controller::Grant, release::ActionClass};

/// For each act of the window whether a grant covers it.
///
/// Acts use up grants in order of time, those before the window too; of several grants that cover an act the
/// one that dies first is used.
pub(super) fn uncovered<'a>(
    class: ActionClass,
    acts: &Events<'a>,
    grants: &[Grant],
    window: &Window,
) -> Vec<(&'a Occurrence, Truth)> {
    let mut live: Vec<(&Grant, u32)> = grants
        .iter()
        .filter(|grant| grant.class == class)
        .map(|grant| (grant, grant.uses))
        .collect();
    live.sort_by_key(|(grant, _)| (dies_after(grant), grant.from));

    let mut in_order = acts.list.clone();
    in_order.sort_by_key(|act| (act.turn, act.time));
    let mut judged = Vec::new();
    for act in in_order {
        let covering = live.iter_mut().find(|(grant, left)| *left > 0 && is_live(grant, act));
        let covered = match covering {
            Some((_, left)) => {
                *left -= 1;
                Truth::True
            }
            None => Truth::False,
        };
        if window.binds(act.turn) {
            judged.push((act, covered));
        }
    }
    judged
}

fn dies_after(grant: &Grant) -> u32 {
    grant.from.0.saturating_add(grant.turns)
}

fn is_live(grant: &Grant, act: &Occurrence) -> bool {
    let in_turns = act.turn >= grant.from && act.turn.0 < dies_after(grant);
    // The agent may act as soon as the message reaches it, a moment before its delivery is stamped.
    let is_given = act.time.latest_ms.saturating_add(CLOCKS_AGREE_WITHIN_MS) >= grant.given_ms;
    let in_scope = grant.scope.is_empty() || covers(&grant.scope, &act.subject);
    in_turns && is_given && in_scope
}

/// Whether a scope, paths with or without wildcards or things named in words, covers what was acted on: each thing
/// that the act names is to stand in it. An act that names nothing is covered if it is itself named.
pub(crate) fn covers(scope: &[String], subject: &str) -> bool {
    let operands = operands(subject);
    if operands.is_empty() {
        let subjects: Vec<String> = names(subject).collect();
        return scope.iter().any(|one| {
            let mut named = things(one).peekable();
            named.peek().is_some()
                && named.all(|name| subjects.iter().any(|other| is_meant(&name, other)))
        });
    }
    let named: Vec<String> = scope.iter().flat_map(|one| things(one)).collect();
    operands.iter().all(|operand| {
        // `.` is a place that no words name.
        let operand = names(operand).next();
        operand.is_some_and(|operand| named.iter().any(|name| is_meant(name, &operand)))
    })
}

fn is_meant(name: &str, other: &str) -> bool {
    let glob = Glob::new(name);
    glob.matches_tail(other.trim_end_matches('/'))
        || is_version_of(name, other)
        || host_of(other).is_some_and(|host| host == name)
}

/// The host of a URL without user and port.
fn host_of(url: &str) -> Option<&str> {
    let place = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    place.rsplit('@').next()?.split(':').next()
}

/// Words that name no thing when an agent asks for one.
const FILLERS: [&str; 21] = [
    "the",
    "a",
    "an",
    "and",
    "file",
    "files",
    "folder",
    "directory",
    "package",
    "packages",
    "library",
    "libraries",
    "module",
    "modules",
    "dependency",
    "tool",
    "with",
    "from",
    "using",
    "this",
    "that",
];

/// `requests==2.31` and `requests[socks]` are `requests`.
fn is_version_of(name: &str, other: &str) -> bool {
    other
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(['=', '<', '>', '~', '!', '[', '@', ';']))
}

fn things(scope: &str) -> impl Iterator<Item = String> {
    names(scope).filter(|name| !FILLERS.contains(&name.as_str()))
}

fn names(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace()
        .map(|word| {
            word.trim_matches(|c: char| "\"'`“”‘’,;:!?()".contains(c))
                .trim_end_matches('.')
                .to_lowercase()
        })
        .filter(|word| !word.is_empty())
}
