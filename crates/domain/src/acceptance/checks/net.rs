//! Network attempts as events (E4): one for each host and port in a turn, however often it was tried.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use crate::{
    acceptance::{Occurrence, glob::Glob},
    evidence::{EventTime, NetOutcome, Recorded},
    release::NetFilter,
};

pub(super) fn occurrences(
    hosts: &[String],
    outcome: NetFilter,
    evidence: &Recorded,
) -> Vec<Occurrence> {
    let globs: Vec<Glob> = hosts.iter().map(|host| Glob::new(&plain(host))).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for attempt in &evidence.network {
        let host = plain(&attempt.host);
        let counts = outcome == NetFilter::Attempt || attempt.outcome == NetOutcome::Succeeded;
        let is_meant = globs.is_empty() || globs.iter().any(|glob| glob.matches(&host));
        if !counts || !is_meant || !seen.insert((attempt.turn, host.clone(), attempt.port)) {
            continue;
        }
        let subject = if attempt.port == 0 { host } else { format!("{host}:{}", attempt.port) };
        found.push(Occurrence {
            turn: attempt.turn,
            time: EventTime::exact(attempt.at_ms),
            subject,
        });
    }
    found
}

fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_lowercase()
}
