//! Changes of files as events (E1): what was created, modified or deleted, and when.

use alloc::{string::String, vec::Vec};

use super::Reach;
use crate::{
    acceptance::Occurrence,
    evidence::{ChangeKind, Recorded},
    release::EditKind,
};

pub(super) fn occurrences(
    under: &[String],
    except: &[String],
    what: &[EditKind],
    evidence: &Recorded,
) -> Vec<Occurrence> {
    let reach = Reach::new(&evidence.workdir, under, except);
    let mut found: Vec<Occurrence> = evidence
        .changes
        .iter()
        .filter(|change| what.is_empty() || what.contains(&edit_kind(change.kind)))
        .filter(|change| reach.counts(&change.path))
        .map(|change| Occurrence {
            turn: change.turn,
            time: change.time,
            subject: change.path.clone(),
        })
        .collect();
    found.sort_by_key(|occurrence| (occurrence.turn, occurrence.time));
    found
}

fn edit_kind(kind: ChangeKind) -> EditKind {
    match kind {
        ChangeKind::Created => EditKind::Create,
        ChangeKind::Modified | ChangeKind::ModeChanged | ChangeKind::KindChanged => {
            EditKind::Modify
        }
        ChangeKind::Deleted => EditKind::Delete,
    }
}
