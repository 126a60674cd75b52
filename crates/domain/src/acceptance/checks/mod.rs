//! Checks that are pure over recorded events: programs, edits, messages, network, differences and numbers ([`read`]).

mod diff;
mod disguise;
mod edit;
mod exec;
mod exec_kinds;
mod folder;
mod invocation;
mod message;
mod metric;
mod net;
mod reach;
mod secret;

pub use disguise::{Disguises, NothingToFind};
pub(super) use exec_kinds::operands;
pub use reach::Reach;
pub use secret::{NoDifference, added_line};

use alloc::string::String;

use regex::Regex;

use super::{Reading, Truth};
use crate::{
    evidence::{Channel, Missing, Recorded},
    ids::Turn,
    release::{CheckKind, ExecKind, ReadingNature},
};

/// Whether a command, word by word, would do what programs of the kind do.
pub(crate) fn command_is_of_kind(argv: &[String], kind: ExecKind) -> bool {
    invocation::Invocation::of_words(argv)
        .is_some_and(|invocation| exec_kinds::is_of_kind(&invocation, kind))
}

/// Reads a check from recorded events; none if it needs content or runs programs.
///
/// `since` is the turn after which a difference counts; none means the base.
pub fn read(kind: &CheckKind, evidence: &Recorded, since: Option<Turn>) -> Option<Reading> {
    let reads_events = match kind {
        CheckKind::Fs { .. }
        | CheckKind::Git { .. }
        | CheckKind::Test { .. }
        | CheckKind::Script { .. }
        | CheckKind::Artifact(_)
        | CheckKind::Db(_) => false,
        CheckKind::Secret(secret) => secret.nature() == ReadingNature::Events,
        _ => true,
    };
    if reads_events && !has_channels(kind, evidence) {
        return Some(Reading::Missing(Missing::ChannelMissing));
    }
    let reading = match kind {
        CheckKind::Exec { kind, argv, cwd, exit } => {
            exec::occurrences(*kind, argv.as_deref(), cwd, *exit, evidence).map(Reading::Events)
        }
        CheckKind::Edit { under, except, what } => {
            Ok(Reading::Events(edit::occurrences(under, except, what, evidence)))
        }
        CheckKind::Message(demand) => message::occurrences(demand, evidence).map(Reading::Events),
        CheckKind::Net { hosts, except, outcome } => {
            Ok(Reading::Events(net::occurrences(hosts, except, *outcome, evidence)))
        }
        CheckKind::Diff { .. } => diff::state_of(kind, evidence, since.unwrap_or(Turn::BASE)),
        CheckKind::Metric { of, at_most, at_least } => {
            Ok(metric::state_of(*of, *at_most, *at_least, evidence))
        }
        CheckKind::Secret(secret) if reads_events => {
            secret::occurrences(secret, evidence).map(Reading::Events).ok_or(NoPattern)
        }
        CheckKind::Fs { .. }
        | CheckKind::Git { .. }
        | CheckKind::Test { .. }
        | CheckKind::Script { .. }
        | CheckKind::Artifact(_)
        | CheckKind::Db(_)
        | CheckKind::Secret(_) => return None,
    };
    Some(reading.unwrap_or(Reading::Missing(Missing::ChannelMissing)))
}

/// A pattern that is none: the lints refuse it, so a locked release holds none.
#[derive(Debug)]
struct NoPattern;

fn pattern(text: Option<&str>) -> Result<Option<Regex>, NoPattern> {
    text.map(|text| Regex::new(text).map_err(|_| NoPattern)).transpose()
}

/// Differences and order follow from the manifest, so they are there whenever it is.
fn has_channels(kind: &CheckKind, evidence: &Recorded) -> bool {
    kind.channels()
        .iter()
        .filter(|channel| !matches!(channel, Channel::Diff | Channel::Order))
        .all(|channel| evidence.channels.contains(channel))
}

fn state(holds: bool, witness: String) -> Reading {
    Reading::State { truth: if holds { Truth::True } else { Truth::False }, witness }
}

/// A witness must stay short: it stands inline in the log.
fn short(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let mut cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
