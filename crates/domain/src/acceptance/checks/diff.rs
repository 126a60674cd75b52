//! The difference to an earlier state (E2), judged by size, place and content of changed lines.

use alloc::{format, string::String, vec::Vec};

use super::{NoPattern, Reach, pattern, short, state};
use crate::{
    acceptance::{Reading, glob::Globs},
    evidence::{FileDiff, Missing, Recorded},
    ids::Turn,
    release::CheckKind,
};

/// How much differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// A renamed file is one.
    pub files: u32,
    /// Added plus removed; what is not text has none.
    pub lines: u32,
}

pub(super) fn size(diffs: &[FileDiff], reach: &Reach) -> Size {
    diffs.iter().filter(|diff| counts(diff, reach)).fold(Size::default(), |size, diff| {
        let lines = u32::try_from(diff.added.len() + diff.removed.len()).unwrap_or(u32::MAX);
        Size { files: size.files + 1, lines: size.lines.saturating_add(lines) }
    })
}

pub(super) fn state_of(
    kind: &CheckKind,
    evidence: &Recorded,
    since: Turn,
) -> Result<Reading, NoPattern> {
    let CheckKind::Diff {
        under,
        except,
        files_max,
        lines_max,
        only_under,
        adds,
        adds_none,
        removes_none,
        since: _,
    } = kind
    else {
        return Ok(Reading::Missing(Missing::ChannelMissing));
    };
    let Some(diffs) = evidence.diffs.get(&since) else {
        return Ok(Reading::Missing(Missing::ChannelMissing));
    };
    let reach = Reach::new(&evidence.workdir, under, except);
    let counted: Vec<&FileDiff> = diffs.iter().filter(|diff| counts(diff, &reach)).collect();
    let size = size(diffs, &reach);
    let allowed = Globs::below(&evidence.workdir, only_under);
    let added = |diff: &FileDiff| diff.added.clone();
    let removed = |diff: &FileDiff| diff.removed.clone();

    let mut faults: Vec<String> = Vec::new();
    if files_max.is_some_and(|most| size.files > most) {
        faults.push(format!("{} files changed", size.files));
    }
    if lines_max.is_some_and(|most| size.lines > most) {
        faults.push(format!("{} lines changed", size.lines));
    }
    if !allowed.is_empty() {
        let strayed = counted.iter().flat_map(|diff| paths(diff)).find(|p| !allowed.matches(p));
        faults.extend(strayed.map(|path| format!("{path} changed")));
    }
    let wanted = pattern(adds.as_deref())?;
    if wanted.is_some_and(|wanted| line(&counted, added, &wanted).is_none()) {
        faults.push(String::from("no added line fits"));
    }
    if let Some(refused) = pattern(adds_none.as_deref())? {
        faults.extend(line(&counted, added, &refused).map(|found| format!("added: {found}")));
    }
    if let Some(refused) = pattern(removes_none.as_deref())? {
        faults.extend(line(&counted, removed, &refused).map(|found| format!("removed: {found}")));
    }
    Ok(state(faults.is_empty(), short(&faults.join("; "))))
}

fn paths(diff: &FileDiff) -> impl Iterator<Item = &str> {
    [Some(diff.path.as_str()), diff.renamed_from.as_deref()].into_iter().flatten()
}

fn counts(diff: &FileDiff, reach: &Reach) -> bool {
    paths(diff).any(|path| reach.counts(path))
}

fn line(
    diffs: &[&FileDiff],
    lines: impl Fn(&FileDiff) -> Vec<String>,
    wanted: &regex::Regex,
) -> Option<String> {
    diffs.iter().flat_map(|diff| lines(diff)).find(|line| wanted.is_match(line))
}
