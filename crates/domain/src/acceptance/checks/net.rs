//! Network attempts as events (E4): one for each host and port in a turn, however often it was tried.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use crate::{
    acceptance::{Occurrence, glob::Glob},
    evidence::{EventTime, NetAttempt, NetOutcome, Recorded},
    release::NetFilter,
};

pub(super) fn occurrences(
    hosts: &[String],
    except: &[String],
    outcome: NetFilter,
    evidence: &Recorded,
) -> Vec<Occurrence> {
    let globs = |texts: &[String]| -> Vec<Glob> {
        texts.iter().map(|text| Glob::new(&plain(text))).collect()
    };
    let (globs, except) = (globs(hosts), globs(except));
    let among = |globs: &[Glob], name: &str| globs.iter().any(|glob| glob.matches(name));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for attempt in &evidence.network {
        let counts = outcome == NetFilter::Attempt || attempt.outcome == NetOutcome::Succeeded;
        let meant = names(attempt)
            .into_iter()
            .find(|name| (globs.is_empty() || among(&globs, name)) && !among(&except, name));
        let Some(host) = meant.filter(|_| counts) else { continue };
        if !seen.insert((attempt.turn, host.clone(), attempt.port)) {
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

/// Whoever was meant: the host, and the server that TLS was asked of where that is another.
fn names(attempt: &NetAttempt) -> Vec<String> {
    let mut names = alloc::vec![plain(&attempt.host)];
    names.extend(attempt.sni.as_deref().map(plain).filter(|sni| *sni != names[0]));
    names
}

fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_lowercase()
}
