//! Numbers of a session within bounds (E5, E9).

use alloc::format;

use super::{Reach, diff, message, state};
use crate::{
    acceptance::{Reading, Truth},
    evidence::{Missing, Recorded},
    ids::Turn,
    interpret::text,
    release::Metric,
};

pub(super) fn state_of(
    of: Metric,
    at_most: Option<u64>,
    at_least: Option<u64>,
    evidence: &Recorded,
) -> Reading {
    match value(of, evidence) {
        Some(value) => {
            let holds = at_most.is_none_or(|most| value <= most)
                && at_least.is_none_or(|least| value >= least);
            state(holds, format!("{value}"))
        }
        None => Reading::State {
            truth: Truth::Unknown(Missing::ChannelMissing),
            witness: "nobody counted".into(),
        },
    }
}

fn value(of: Metric, evidence: &Recorded) -> Option<u64> {
    let messages = || message::of_turns(evidence);
    Some(match of {
        Metric::Turns => evidence.turn_times_ms.len() as u64,
        Metric::AgentTimeMs => evidence.turn_times_ms.iter().map(|(_, took_ms)| took_ms).sum(),
        Metric::Tokens => evidence.tokens?,
        Metric::Questions => {
            messages().iter().map(|said| text::open_questions(&said.text).len() as u64).sum()
        }
        Metric::Words => messages().iter().map(|said| text::words(&said.text).count() as u64).sum(),
        Metric::FilesChanged => u64::from(changed(evidence)?.files),
        Metric::LinesChanged => u64::from(changed(evidence)?.lines),
        Metric::Processes => evidence.processes.len() as u64,
    })
}

fn changed(evidence: &Recorded) -> Option<diff::Size> {
    let reach = Reach::new(&evidence.workdir, &[], &[]);
    evidence.diffs.get(&Turn::BASE).map(|diffs| diff::size(diffs, &reach))
}
